"""Measures the package and rewrites the tables and the picture of architecture.md: ``python docs/architecture.py``."""

import ast
import re
import subprocess
import sys
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from html import escape
from pathlib import Path

DOCS = Path(__file__).parent
ROOT = DOCS.parent / "rwkplus"
PAGE, PICTURE = DOCS / "architecture.md", DOCS / "_static" / "rooms.svg"
LAYERS = (
    ("What people use", ("cli", "reports")),
    ("Learning without labels", ("mining", "detect", "descriptive")),
    ("Kernels and networks", ("kernels", "training", "models")),
    ("Building blocks", ("datasets", "large", "nn", "functional", "drawing")),
    ("Foundation", ("io", "table", "loops")),
)
"""Rooms by layer, the highest first; imports point down, or sideways to the left of the list in ``tests``."""
TENSORS = {"training", "models", "large", "nn", "functional", "descriptive"}
"""Rooms that need PyTorch."""
AIMS = {
    "modules": "150", "lines": "24,000", "most files in a room": "14", "modules with one importer": "25",
    "file names in several rooms": "5", "longest function, in lines": "60",
}  # fmt: skip
CALLS = {
    "RWKPlusConv forward, backward": "7", "KernelConv forward, backward": "10", "RandomWalkKernel.fit_transform": "12",
    "PatternMiner.fit": "16", "SurpriseDetector.fit": "12", "GraphClassifier.fit": "20",
}  # fmt: skip


def module_name(path: Path) -> str:
    """What Python calls a file of the package."""
    return ".".join(path.relative_to(ROOT.parent).with_suffix("").parts).removesuffix(".__init__")


def imports_of(path: Path) -> Iterator[tuple[str, str]]:
    """Modules that a file imports from, with the names."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("rwkplus"):
            yield from ((node.module or "", alias.name) for alias in node.names)


def rooms() -> dict[str, str]:
    """Every room with the first sentence of its docstring."""
    found = {}
    for path in sorted(ROOT.glob("*/__init__.py")):
        text = ast.get_docstring(ast.parse(path.read_text())) or ""
        found[path.parent.name] = re.split(r"(?<=\.)\s", text.strip(), maxsplit=1)[0]
    return found


def sizes() -> dict[str, int]:
    """How crowded the package is."""
    files = sorted(ROOT.rglob("*.py"))
    modules = [path for path in files if path.name != "__init__.py"]
    known = {module_name(path) for path in files}
    importers = defaultdict(set)
    for path in files:
        for module, name in imports_of(path):
            target = f"{module}.{name}" if f"{module}.{name}" in known else module
            if path.name != "__init__.py" and target != module_name(path):
                importers[target].add(path)
    single = [p for p in modules if len(importers[module_name(p)]) == 1 and "cli" not in module_name(p)]
    functions = [
        (node.end_lineno or 0) - node.lineno + 1
        for path in files
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef)
    ]
    stems = Counter(path.stem for path in modules)
    return {
        "modules": len(modules),
        "lines": sum(len(path.read_text().splitlines()) for path in files),
        "most files in a room": max(Counter(path.parent for path in modules).values()),
        "modules with one importer": len(single),
        "file names in several rooms": sum(count > 1 for count in stems.values()),
        "longest function, in lines": max(functions),
    }


def lines_by_kind() -> dict[str, int]:
    """How many lines of the package are what; docstrings with the blank lines in them."""
    total: Counter[str] = Counter()
    for path in ROOT.rglob("*.py"):
        text = path.read_text()
        kinds = ["code" if line.strip() else "blank" for line in text.splitlines()]
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Import | ast.ImportFrom):
                kind, first, last = "imports", node.lineno, node.end_lineno or 0
            elif isinstance(node, ast.FunctionDef):
                kind, first, last = "signatures", node.lineno, node.body[0].lineno - 1
            elif (
                isinstance(node, ast.Expr)
                and isinstance(node.value, ast.Constant)
                and isinstance(node.value.value, str)
            ):
                kind, first, last = "docstrings", node.lineno, node.end_lineno or 0
            else:
                continue
            kinds[first - 1 : last] = [kind] * (last - first + 1)
        total.update(kinds)
    return {kind: total[kind] for kind in ("code", "signatures", "imports", "docstrings", "blank")}


def files_behind(call: Callable[[], object]) -> list[str]:
    """Files of the package that a call passes through, in the order in which it reaches them."""
    call()  # imports and compiles
    seen: dict[str, None] = {}

    def note(frame: object, event: str, _: object) -> None:
        path = frame.f_code.co_filename  # type: ignore[attr-defined]
        if event == "call" and path.startswith(f"{ROOT}/"):
            seen.setdefault(path.removeprefix(f"{ROOT}/"))

    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    return list(seen)


def example_calls() -> dict[str, Callable[[], object]]:
    """Calls that people make, on forty small graphs."""
    import networkx as nx
    import torch

    import rwkplus

    graphs = []
    for k in range(40):
        graph = nx.cycle_graph(5 + k % 3)
        graph.add_edge(0, 99)
        nx.set_node_attributes(graph, {v: "abc"[(v + k) % 3] for v in graph}, "label")
        graphs.append(graph)
    edges = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    layer, conv = rwkplus.RWKPlusConv(3, 4), rwkplus.KernelConv(3, 4, steps=2)
    return {
        "RWKPlusConv forward, backward": lambda: layer(torch.rand(3, 3), edges).sum().backward(),
        "KernelConv forward, backward": lambda: conv(torch.rand(3, 3), edges).sum().backward(),
        "RandomWalkKernel.fit_transform": lambda: rwkplus.RandomWalkKernel(steps=3).fit_transform(graphs),
        "PatternMiner.fit": lambda: rwkplus.PatternMiner(2, n_controls=1).fit(graphs),
        "SurpriseDetector.fit": lambda: rwkplus.SurpriseDetector().fit(graphs),
        "GraphClassifier.fit": lambda: rwkplus.GraphClassifier("kergnn", epochs=1).fit(graphs, [0, 1] * 20),
    }


def paths() -> dict[str, list[str]]:
    """The files that the page says a call passes through, by call; alternatives in parentheses are left out."""
    text = PAGE.read_text().split("<!-- paths -->")[1]
    found = {}
    for item in re.split(r"^- ", text, flags=re.MULTILINE)[1:]:
        call, *files = re.findall(r"`([^`]+)`", re.sub(r"\([^)]*\)", "", item))
        found[call] = files
    return found


def rooms_table() -> str:
    """The rooms as Markdown."""
    rows = [f"| `{room}` | {about.replace('``', '`')} |" for room, about in rooms().items()]
    return "\n".join(["| room | what it is for |", "| --- | --- |", *rows])


def figures_table() -> str:
    """How crowded the package is, and how far a call travels, as Markdown."""
    warnings.filterwarnings("ignore")
    rows = [f"| {name} | {value:,} | {AIMS[name]} |" for name, value in sizes().items()]
    of_kind = [f"| of these {kind} | {value:,} | |" for kind, value in lines_by_kind().items()]
    rows[2:2] = of_kind
    calls = example_calls()
    rows += [f"| files behind `{name}` | {len(files_behind(calls[name]))} | {aim} |" for name, aim in CALLS.items()]
    return "\n".join(["| | now | at most |", "| --- | --- | --- |", *rows])


def picture() -> str:
    """The rooms by layer, as SVG."""
    width, row, box = 720, 74, 108
    parts = []
    for i, (title, names) in enumerate(LAYERS):
        y = 8 + i * row
        parts.append(f'<text x="8" y="{y + 34}" font-size="13" fill="#4a555c">{escape(title)}</text>')
        for k, name in enumerate(names):
            x = 200 + k * (box + 14)
            fill = "#e9d9f2" if name in TENSORS else "#dbe7f5"
            parts.append(
                f'<rect x="{x}" y="{y + 8}" width="{box}" height="42" rx="6" fill="{fill}" stroke="#5b6770"/>'
                f'<text x="{x + box / 2}" y="{y + 34}" font-size="14" text-anchor="middle" fill="#1d2327">{name}</text>'
            )
        if i + 1 < len(LAYERS):
            parts.append(
                f'<path d="M {200 + box / 2} {y + 52} v {row - 46}" stroke="#5b6770" marker-end="url(#head)"/>'
            )
    height = 8 + len(LAYERS) * row + 24
    key = (
        f'<text x="200" y="{height - 10}" font-size="12" fill="#4a555c">blue: NumPy and numba only; violet: PyTorch. '
        "Imports point down.</text>"
    )
    head = (
        '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0 L8 4 L0 8 z" fill="#5b6770"/></marker></defs>'
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" aria-label="rooms" '
        f'font-family="system-ui, sans-serif">{head}<rect width="100%" height="100%" fill="#fff"/>'
        f"{''.join(parts)}{key}</svg>\n"
    )


def replaced(text: str, name: str, content: str) -> str:
    """The page with what stands between two marks replaced."""
    mark = f"<!-- {name} -->"
    before, _, rest = text.partition(mark)
    return f"{before}{mark}\n{content}\n{mark}{rest.partition(mark)[2]}"


def main() -> None:
    """Rewrite the page and the picture."""
    text = PAGE.read_text()
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    text = replaced(text, "rooms", rooms_table())
    text = replaced(text, "figures", f"{figures_table()}\n\nMeasured at {commit.stdout.strip() or 'no commit'}.")
    PAGE.write_text(text)
    PICTURE.write_text(picture())


if __name__ == "__main__":
    main()
