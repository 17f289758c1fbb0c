"use strict";
const every = (selector, inside = document) => [...inside.querySelectorAll(selector)];

// Light and dark: what the system says, until somebody says otherwise.
const theme = document.querySelector("#theme");
const isDark = () => (document.documentElement.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
const nameTheme = () => { theme.textContent = isDark() ? "Light" : "Dark"; };
theme.hidden = false;
theme.onclick = () => { document.documentElement.dataset.theme = isDark() ? "light" : "dark"; nameTheme(); };
nameTheme();

// Tables: a button in the head of every column sorts by it.
const valueOf = (row, column) => { const cell = row.cells[column]; return cell.dataset.v ?? cell.textContent.trim(); };
const compare = (a, b) => (a === "" || b === "") ? (a === "") - (b === "") : isNaN(a) || isNaN(b) ? a.localeCompare(b, undefined, { numeric: true }) : a - b;
for (const table of every("table.sortable")) {
  every("thead th", table).forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.onclick = () => {
      const up = head.getAttribute("aria-sort") === "descending" || (!head.hasAttribute("aria-sort") && head.classList.contains("words"));
      every("th", table).forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      const rows = [...table.tBodies[0].rows];
      const empty = (row) => valueOf(row, column) === "";
      rows.sort((a, b) => (empty(a) || empty(b) || up ? 1 : -1) * compare(valueOf(a, column), valueOf(b, column)));
      table.tBodies[0].append(...rows);
      const place = document.querySelector("#sections");
      if (place && table.id === "overview") place.append(...rows.map((row) => document.getElementById(row.dataset.section)));
    };
  });
}

// A field above the table leaves the rows, and what belongs to them, that have all its words.
const filter = document.querySelector("#filter");
if (filter) {
  const rows = every("#overview tbody tr"), count = document.querySelector("#count");
  filter.closest(".tools").hidden = false;
  const apply = () => {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of rows) {
      const section = document.getElementById(row.dataset.section);
      const text = (row.textContent + " " + (section ? section.textContent : "")).toLowerCase();
      const keep = words.every((word) => text.includes(word));
      row.hidden = !keep;
      if (section) section.hidden = !keep;
      shown += keep;
    }
    count.textContent = `${shown} of ${rows.length}`;
  };
  filter.oninput = apply;
  apply();
}

// Examples: one at a time, by a slider.
for (const slides of every(".slides")) {
  const figures = every(":scope > figure", slides);
  if (figures.length < 2) continue;
  const tools = document.createElement("div"), range = document.createElement("input"), output = document.createElement("output");
  const show = (k) => {
    range.value = k;
    figures.forEach((figure, i) => figure.classList.toggle("on", i === k));
    output.textContent = `${slides.dataset.name} ${k + 1} of ${figures.length}`;
  };
  const step = (text, by) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = text;
    button.ariaLabel = by < 0 ? "previous" : "next";
    button.onclick = () => show((range.valueAsNumber + by + figures.length) % figures.length);
    return button;
  };
  tools.className = "tools";
  Object.assign(range, { type: "range", min: 0, max: figures.length - 1, ariaLabel: slides.dataset.name });
  range.oninput = () => show(range.valueAsNumber);
  tools.append(step("‹", -1), range, step("›", 1), output);
  slides.prepend(tools);
  slides.classList.add("one");
  show(0);
}

// Nodes and their ids, in all drawings of a section: pointing at one marks the others.
const mark = (event, on) => {
  const own = event.target.closest?.("[data-k]"), scope = own?.closest("section") ?? own?.closest("figure");
  if (scope) every("[data-k]", scope).filter((part) => part.dataset.k === own.dataset.k).forEach((part) => part.classList.toggle("on", on));
};
for (const [name, on] of [["pointerover", true], ["pointerout", false], ["focusin", true], ["focusout", false]]) document.addEventListener(name, (event) => mark(event, on));
every("li[data-k]").forEach((chip) => { chip.tabIndex = 0; });
document.documentElement.dataset.ready = "yes";
