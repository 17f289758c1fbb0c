"""Graphs, curves and histograms in axes of matplotlib, laid out as on pages (extra: ``plot``)."""

from collections.abc import Collection, Mapping, Sequence
from textwrap import fill
from typing import Any

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from rwkplus.drawing.palette import NONE, PALETTE, ink
from rwkplus.drawing.sketch import BONDS, FULL, Sketch, arrowhead, framed, strengths
from rwkplus.errors import MissingExtraError
from rwkplus.files import visible

try:
    from matplotlib import pyplot as plt
    from matplotlib.axes import Axes
    from matplotlib.patches import Circle, FancyBboxPatch, PathPatch, Polygon
    from matplotlib.path import Path
    from matplotlib.text import Text
    from matplotlib.ticker import MaxNLocator, PercentFormatter
except ImportError as error:
    raise MissingExtraError("plots need matplotlib.", "Install it: pip install 'rwkplus[plot]'.") from error

SMALLEST = (190.0, 130.0)
"""Width and height that a drawing has at least, so that an edge does not fill its axes."""
LINE, EDGE_TEXT, NODE_TEXT = 12.0, 9.0, 9.5
"""Height of a line, and of letters, in pixels of the drawing."""
PANEL = (3.2, 2.6)
"""Inches of one of several drawings."""
TITLE, NAME = 34, 26
"""Letters of a line of a title, and of the name of a bar."""


class _Scaled(Text):
    """Text that grows with its axes, as the nodes around it do."""

    def __init__(self, x: float, y: float, text: str, height: float, **look: Any) -> None:  # noqa: ANN401
        super().__init__(x, y, _plain(text), ha="center", va="center_baseline", clip_on=True, **look)
        self._height = height

    def draw(self, renderer: Any) -> None:  # noqa: ANN401
        """Draw at the size that the axes have by now."""
        if self.axes is not None and self.figure is not None:
            (_, low), (_, high) = self.axes.transData.transform([(0, 0), (0, self._height)])
            self.set_fontsize(max(abs(high - low) * 72 / self.figure.dpi, 0.5))
        super().draw(renderer)


def _plain(text: str, width: int = 0) -> str:
    """Text that is nothing but text, as dollar signs are money, in lines of at most so many letters."""
    words = visible(text).replace("$", r"\$")
    return "\n".join(fill(line, width) for line in words.splitlines()) if width else words


def new_axes(count: int, columns: int, size: tuple[float, float] = PANEL) -> list[Axes]:
    """Axes of a new figure, in rows of so many; those that are left over are not shown."""
    columns = max(1, min(count, columns))
    rows = max(1, -(-count // columns))
    _, grid = plt.subplots(
        rows, columns, squeeze=False, figsize=(columns * size[0], rows * size[1]), layout="constrained"
    )
    for ax in grid.ravel()[count:]:
        ax.set_axis_off()
    return list(grid.ravel()[:count])


def plot_graph(
    graph: nx.Graph,
    colors: Mapping[str, str],
    ax: Axes | None = None,
    *,
    highlighted: Collection[Any] | None = None,
    strength: Mapping[Any, float] | None = None,
    title: str = "",
) -> Axes:
    """Draw a graph as :func:`rwkplus.drawing.draw` does, into axes.

    Args:
        graph: A graph of networkx.
        colors: Color of every label.
        ax: Where to draw; by default in a new figure.
        highlighted: Nodes that stand out; the others recede.
        strength: How much each node stands out, between 0 and 1.
        title: Title of the axes.
    """
    ax = new_axes(1, 1, (4.2, 3.4))[0] if ax is None else ax
    sketch = Sketch.best(graph, strengths(graph, highlighted, strength))
    low, high = sketch.corners()
    middle, half = (low + high) / 2, np.maximum(high - low, SMALLEST) / 2
    ax.set(xlim=(middle[0] - half[0], middle[0] + half[0]), ylim=(middle[1] + half[1], middle[1] - half[1]))
    ax.set_aspect("equal")
    ax.set_axis_off()
    if title:
        ax.set_title(_plain(title, TITLE), fontsize="medium")
    _plot_edges(sketch, ax)
    _plot_nodes(sketch, colors, ax)
    for text in sketch.texts:
        _write(ax, text.box, text.lines, EDGE_TEXT, alpha=text.opacity, zorder=4,
               bbox={"facecolor": _paper(ax), "edgecolor": "none", "pad": 0.3, "alpha": 0.8})  # fmt: skip
    return ax


def _paper(ax: Axes) -> Any:  # noqa: ANN401
    return plt.rcParams["figure.facecolor"] if ax.figure is None else ax.figure.get_facecolor()  # type: ignore[union-attr]


def _write(ax: Axes, box: Any, lines: Sequence[str], height: float, **look: Any) -> None:  # noqa: ANN401
    """Lines of text in the middle of a box."""
    top = box.y - LINE * (len(lines) - 1) / 2
    for k, line in enumerate(lines):
        ax.add_artist(_Scaled(box.x, top + LINE * k, line, height, **look))


def _plot_edges(sketch: Sketch, ax: Axes) -> None:
    color = plt.rcParams["text.color"]
    for line, (u, v, fields) in zip(sketch.lines, sketch.graph.edges(data=True), strict=True):
        weight = fields.get("weight")
        look = {
            "edgecolor": color, "facecolor": "none", "linewidth": 1.1 if weight is None else 0.6 + 3 * weight,
            "linestyle": (0, (4, 2.5)) if fields.get("label") == ":" else "-", "zorder": 1,
            "alpha": (0.35 + 0.65 * min(sketch.strong[u], sketch.strong[v])) * (1.0 if weight is None else weight),
        }  # fmt: skip
        if u == v:
            box = sketch.boxes[u]
            x, y = box.x, box.y - box.half_height
            loop = Path([(x - 5, y), (x - 21, y - 24), (x + 21, y - 24), (x + 5, y)], [1, 4, 4, 4])
            ax.add_patch(PathPatch(loop, **look))
            continue
        points = line.at(np.linspace(*line.cut, 33 if line.bend else 2))
        if sketch.graph.is_directed():
            corners, points[-1] = arrowhead(line)
            ax.add_patch(Polygon(corners, facecolor=color, edgecolor="none", alpha=look["alpha"], zorder=1))
        count = 1 if line.bend else BONDS.get(fields.get("label") or "", 1)
        for k in range(count):
            ax.add_patch(PathPatch(Path(points + line.aside * 4.0 * (k - (count - 1) / 2)), **look))


def _plot_nodes(sketch: Sketch, colors: Mapping[str, str], ax: Axes) -> None:
    for v, fields in sketch.graph.nodes(data=True):
        box, lines, strength = sketch.boxes[v], sketch.inside[v], sketch.strong[v]
        color, full = colors.get(str(fields.get("label", "")), NONE), strength >= FULL
        shapes = [{"facecolor": _paper(ax), "edgecolor": "none"}] if not full else []  # no line shines through
        shapes.append({"facecolor": color, "edgecolor": "none", "alpha": 1.0 if full else 0.08 + 0.45 * strength})
        shapes.append({"facecolor": "none", "edgecolor": color, "linewidth": 1.1})
        for look in shapes:
            ax.add_patch(_shape(box, lines, look))
        size = NODE_TEXT if framed(lines) else 0.9 * box.half_width
        if any(lines) and size >= 5:
            _write(ax, box, lines, size, color=ink(color) if full else plt.rcParams["text.color"], zorder=3)


def _shape(box: Any, lines: Sequence[str], look: Mapping[str, Any]) -> Any:  # noqa: ANN401
    """A circle, or a frame around words."""
    if not framed(lines):
        return Circle((box.x, box.y), box.half_width, zorder=2, **look)
    corner, size = (box.x - box.half_width, box.y - box.half_height), (2 * box.half_width, 2 * box.half_height)
    return FancyBboxPatch(corner, *size, boxstyle="round,pad=0,rounding_size=8", zorder=2, **look)


def plot_shares(shares: Sequence[float], ax: Axes | None, title: str) -> Axes:
    """Draw shares by the number of patterns as a curve that begins at 0."""
    ax = new_axes(1, 1, (4.6, 3.2))[0] if ax is None else ax
    ax.plot(range(len(shares) + 1), [0.0, *shares], marker="o", markersize=4, color=PALETTE[0])
    ax.set(ylim=(0, 1.02), xlabel="patterns", title=title)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.yaxis.set_major_formatter(PercentFormatter(1.0))
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(axis="y", alpha=0.3)
    return ax


def plot_bars(shares: Mapping[str, Mapping[str, float]], ax: Axes | None, title: str) -> Axes:
    """Draw shares, by pattern and class, as groups of bars."""
    ax = new_axes(1, 1, (4.6, 3.2))[0] if ax is None else ax
    names = list(next(iter(shares.values())))
    height = 0.8 / len(names)
    rows = np.arange(len(shares))
    for k, name in enumerate(names):
        ax.barh(
            rows + (k - (len(names) - 1) / 2) * height,
            [own[name] for own in shares.values()],
            height,
            label=_plain(name),
            color=PALETTE[k % len(PALETTE)],
        )
    ax.set_yticks(rows, [_plain(name, NAME) for name in shares], fontsize="small")
    ax.set(xlim=(0, 1.02), ylim=(max(len(shares), 3) - 0.4, -0.6), xlabel=title)
    ax.xaxis.set_major_formatter(PercentFormatter(1.0))
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, fontsize="small", loc="lower right")
    return ax


def plot_scores(scores: NDArray[np.float64], threshold: float, ax: Axes | None, bins: int) -> Axes:
    """Draw how many scores lie where; those above the threshold in another color."""
    ax = new_axes(1, 1, (5.2, 3.0))[0] if ax is None else ax
    low, high = min(float(scores.min()), threshold), max(float(scores.max()), threshold)
    edges = np.linspace(low, high if high > low else low + 1.0, bins + 1)
    parts = [scores[scores <= threshold], scores[scores > threshold]]
    labels = [f"usual: {parts[0].size:,}", f"flagged: {parts[1].size:,}"]
    ax.hist(parts, edges.tolist(), stacked=True, color=[NONE, PALETTE[1]], label=labels)
    ax.axvline(threshold, color=plt.rcParams["text.color"], linestyle="--", linewidth=1)
    ax.annotate(f"threshold {threshold:.3g}", (threshold, 0.98), xycoords=("data", "axes fraction"), fontsize="small",
                xytext=(4, 0), textcoords="offset points", va="top")  # fmt: skip
    ax.set(xlabel="score, the higher, the more anomalous", ylabel="graphs", yscale="symlog")
    ax.yaxis.set_major_formatter("{x:g}")
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False)
    return ax
