"""Draw the pictures of the front page, of the README and of reports: ``python docs/pictures.py``.

With ``--site docs/_build`` it photographs pages of the finished site as well, with a Chromium or Chrome that it finds.
"""

import argparse
import re
import shutil
import subprocess
import tempfile
from collections import Counter
from html import escape
from pathlib import Path

from markdown_it import MarkdownIt
from PIL import Image

from rwkplus import GraphClassifier, GraphTable, PatternMiner, SurpriseDetector, load_graphs
from rwkplus.drawing import draw, label_colors
from rwkplus.files import write_atomic
from rwkplus.reports import detection_report, mining_report, network_report
from rwkplus.reports.gallery import Gallery

ROOT = Path(__file__).parents[1]
PICTURES = ROOT / "docs" / "_static" / "pictures"
WIDTH, HEIGHT, CAPTION, GAP = 220, 220, 44, 16
SCREENS = {
    "front-wide": ("index.html", 1440, 900, "light"),
    "front-dark": ("index.html", 1440, 900, "dark"),
    "front-narrow": ("index.html", 360, 780, "light"),
    "gallery-wide": ("gallery/index.html", 1440, 1000, "light"),
    "example-wide": ("gallery/kernels/1_svm.html", 1440, 1400, "light"),
    "api-dark": ("api/mining.html", 1440, 900, "dark"),
}
README = {"readme-wide": (1012, 3600, "light"), "readme-narrow": (400, 1400, "light")}
REPORTS = {
    "report-mining-wide": ("mining", 1440, 1200, "light"),
    "report-mining-narrow": ("mining", 360, 1100, "dark"),
    "report-contrast-wide": ("contrast", 1440, 800, "light"),
    "report-detection-dark": ("detection", 1440, 1200, "dark"),
    "report-network-wide": ("network", 1440, 900, "light"),
    "view-wide": ("view", 1440, 900, "light"),
}
"""Name of a picture, its page, the width and height of the window, and the mode."""
README_STYLE = """
body { max-width: 56rem; margin: 2rem auto; padding: 0 1rem; font: 16px/1.5 Helvetica, Arial, sans-serif }
code { background: #f3f4f6; font: 85%/1.5 monospace }
pre { background: #f3f4f6; padding: 1rem; overflow: auto }
img { max-width: 100% }
table { border-collapse: collapse }
td, th { border: 1px solid #d1d9e0; padding: .3rem .8rem }
h1, h2 { border-bottom: 1px solid #d1d9e0; padding-bottom: .3em }
"""
"""About as code hosts show it."""


def main() -> None:
    """Draw all pictures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--site", type=Path, help="built site to photograph")
    site = parser.parse_args().site
    medicines = load_graphs("medicines")
    for name, drawn in (("patterns", patterns(medicines)), ("flagged", flagged(medicines))):
        write_atomic(PICTURES / f"{name}.svg", grid(drawn, columns=5))
        write_atomic(PICTURES / f"{name}-narrow.svg", grid(drawn, columns=2))  # for phones
    reports(medicines)
    readme()
    if site:
        for name, (page, *window) in SCREENS.items():
            photograph(site / page, PICTURES / f"{name}.png", *window)


def grid(pictures: list[tuple[str, str]], columns: int) -> str:
    """Drawings in rows, each above its caption of one or two lines."""
    parts = []
    for k, (picture, caption) in enumerate(pictures):
        x, y = k % columns * (WIDTH + GAP), k // columns * (HEIGHT + CAPTION + GAP)
        head, body = picture.split(">", 1)
        head = re.sub(r' (width|height)="[^"]*"', "", head).replace(
            "<svg", f'<svg x="{x}" y="{y + 8}" width="{WIDTH}" height="{HEIGHT}"', 1
        )
        parts.append(f"{head}>{body}")
        for line, text in enumerate(caption.split("\n")):
            look = 'text-anchor="middle" font-size="15" fill="#3c464d"'
            parts.append(f'<text x="{x + WIDTH / 2}" y="{y + HEIGHT + 26 + 19 * line}" {look}>{escape(text)}</text>')
    rows = -(-len(pictures) // columns)
    size = columns * (WIDTH + GAP) - GAP, rows * (HEIGHT + CAPTION + GAP)
    frame = f'viewBox="0 0 {size[0]} {size[1]}" width="{size[0]}" height="{size[1]}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {frame} font-family="Helvetica, Arial, sans-serif">'
    return "".join([head, *parts, "</svg>\n"])


def patterns(medicines: GraphTable) -> list[tuple[str, str]]:
    """What a miner finds in medicines, whose families it is not told, and the ring of frauds among payments."""
    drawn = []
    for pattern in PatternMiner(4, random_state=0).fit(medicines).patterns_:
        families = Counter(medicines.y[i] for i in pattern.graphs)
        family, count = families.most_common(1)[0]
        others = "" if count == pattern.support else f" and {pattern.support - count} others"
        drawn.append((pattern, f"in {count} of {Counter(medicines.y)[family]}\n{family}s{others}"))
    transfers = load_graphs("payment-cases")
    ring = PatternMiner(1, criterion="contrast", random_state=0).fit(transfers, transfers.y).patterns_[0]
    other, fraud = (f"{part.support} of {part.graphs}" for part in ring.contrast)
    drawn.append((ring, f"in {fraud} frauds,\n{other} other cases"))
    return [
        (draw(pattern.to_networkx(), label_colors(pattern.labels), title=pattern.short_name), caption)
        for pattern, caption in drawn
    ]


def flagged(medicines: GraphTable) -> list[tuple[str, str]]:
    """Medicines that are flagged for different reasons, with what makes them unusual drawn in full."""
    detector = SurpriseDetector(contamination=0.05)
    judged = detector.fit_judge(medicines)
    order = sorted(judged.flagged.nonzero()[0].tolist(), key=lambda i: judged.scores[i])
    drawn = {}
    for i, graph, why in zip(
        order, detector.labelled(medicines[order]), detector.explain(medicines[order]), strict=True
    ):
        name = str(medicines.graph_id(i))
        reason = tuple(sorted({graph.nodes[v]["label"] for v in why.nodes}))
        colors = label_colors({label for _, label in graph.nodes(data="label")})
        picture = draw(graph, colors, strength=dict.fromkeys(graph, 0.0) | why.strength, title=name)
        drawn.setdefault(reason, (picture, f"{name}:\nunusual {', '.join(reason)}"))
    return list(drawn.values())[:5]


def reports(medicines: GraphTable) -> None:
    """Photograph a page of every kind, as ``rwkplus`` writes it from embedded data."""
    payments, groups = load_graphs("payment-cases"), load_graphs("functional-groups")
    network = GraphClassifier("kergnn", model_params={"steps": 3}, epochs=15, ignore=("edges.label",), random_state=0)
    network.fit(groups, groups.y)
    detector = SurpriseDetector(0.05).fit(medicines)
    miners = [
        PatternMiner(n_controls=3, random_state=0),
        PatternMiner(criterion="contrast", n_controls=3, random_state=0),
    ]
    pages = {
        "mining": mining_report(miners[0].fit(medicines), medicines, "medicines"),
        "contrast": mining_report(miners[1].fit(payments, payments.y), payments, "payment-cases"),
        "detection": detection_report(detector, medicines, "medicines"),
        "network": network_report(network, groups, "functional-groups"),
        "view": Gallery(payments, "payment-cases").page({}),
    }
    with tempfile.TemporaryDirectory() as folder:
        for name, (page, *window) in REPORTS.items():
            path = write_atomic(Path(folder) / f"{page}.html", pages[page])
            photograph(path, PICTURES / f"{name}.png", *window)


def readme() -> None:
    """Photograph the README, its pictures included."""
    text = MarkdownIt().enable("table").render((ROOT / "README.md").read_text(encoding="utf-8"))
    head = f'<!doctype html><meta charset="utf-8"><base href="{ROOT.as_uri()}/"><style>{README_STYLE}</style>'
    with tempfile.TemporaryDirectory() as folder:
        page = write_atomic(Path(folder) / "readme.html", head + text)
        for name, window in README.items():
            photograph(page, PICTURES / f"{name}.png", *window)


def photograph(page: Path, path: Path, width: int, height: int, mode: str) -> None:
    """What a browser shows of a page, in few colors so that the file stays small."""
    browser = next(found for name in ("chromium", "google-chrome", "chrome") if (found := shutil.which(name)))
    with tempfile.TemporaryDirectory() as profile:
        shot = Path(profile) / "shot.png"
        dark = ["--force-dark-mode", "--blink-settings=preferredColorScheme=0"] if mode == "dark" else []
        flags = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--virtual-time-budget=4000"]
        flags += ["--disable-background-networking", "--disable-sync", "--no-first-run", f"--user-data-dir={profile}"]
        size = [f"--window-size={width},{height}", f"--screenshot={shot}"]
        subprocess.run([browser, *flags, *dark, *size, page.resolve().as_uri()], check=True, capture_output=True)
        few = Image.open(shot).convert("RGB").quantize(256, Image.Quantize.MAXCOVERAGE)  # keeps rare colors
        few.save(path, optimize=True)


if __name__ == "__main__":
    main()
