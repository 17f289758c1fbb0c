// Texts of a page that stand out from their ground by less than 4.5, as [tag, text, contrast].
(() => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const parts = (color) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = color;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const linear = (part) => part / 255 <= 0.04045 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4;
  const light = ([red, green, blue]) => 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue);
  const over = (top, ground, alpha) => ground.map((part, i) => part * (1 - alpha) + top[i] * alpha);
  const contrast = (a, b) => {
    const [low, high] = [light(a), light(b)].sort((x, y) => x - y);
    return (high + 0.05) / (low + 0.05);
  };
  const groundOf = (element) => {
    const above = [];
    for (let part = element; part; part = part.parentElement) above.unshift(part);
    return above.reduce((ground, part) => {
      const color = parts(getComputedStyle(part).backgroundColor);
      return over(color, ground, color[3] / 255);
    }, [255, 255, 255]);
  };
  const probe = document.body.appendChild(document.createElement("i"));
  probe.style.color = "var(--bar)";
  const bar = parts(getComputedStyle(probe).color);
  probe.remove();
  const found = [];
  for (const element of document.querySelectorAll("body *")) {
    const style = getComputedStyle(element), inSvg = element instanceof SVGElement;
    const hidden = !element.getClientRects().length || style.visibility === "hidden";
    if (hidden || ![...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim())) continue;
    let ground = groundOf(inSvg ? element.closest("svg").parentElement : element), alpha = 1;
    if (element.closest(".share")) ground = bar;
    if (inSvg) {
      for (let part = element; part instanceof SVGElement; part = part.parentElement) alpha *= getComputedStyle(part).opacity;
      const { x, y, width, height } = element.getBoundingClientRect();
      const below = (part) => {
        const { left, right, top, bottom } = part.getBoundingClientRect();
        return left < x + width / 2 && x + width / 2 < right && top < y + height / 2 && y + height / 2 < bottom;
      };
      const shape = element.closest("g[pointer-events]") && [...element.closest("svg").querySelectorAll(".n > *")].find(below);
      if (shape) ground = over(parts(getComputedStyle(shape).fill), ground, +getComputedStyle(shape).fillOpacity);
    }
    const color = parts(inSvg ? style.fill : style.color);
    const ratio = contrast(over(color, ground, alpha * color[3] / 255), ground);
    if (ratio < 4.5) found.push([element.tagName, element.textContent.slice(0, 20), ratio]);
  }
  return { checked: document.querySelectorAll("body *").length, found: found.slice(0, 5) };
})()
