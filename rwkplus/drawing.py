"""Drawings as SVG, without files, fonts or scripts: small labelled graphs, curves and histograms."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from html import escape
from typing import Any, NamedTuple

import networkx as nx
import numpy as np
from numpy.typing import ArrayLike, NDArray

from rwkplus.table import GraphTable

ELEMENT_COLORS = {
    "C": "#5b6770", "N": "#3567c4", "O": "#cc3b33", "S": "#c9a227", "P": "#d97a1d", "F": "#4f9d45",
    "Cl": "#3a8f3a", "Br": "#8a4b2a", "I": "#6d3f99", "H": "#9aa4ab", "Na": "#7d5fc0", "K": "#7d5fc0",
}  # fmt: skip
"""Colors in which chemists expect the elements."""

PALETTE = ("#3567c4", "#cc3b33", "#4f9d45", "#d97a1d", "#6d3f99", "#2a8c8c", "#b0417f", "#7a6a1f", "#5b6770")
USUAL, BEYOND = "#8a969e", "#cc3b33"
"""Colors of bars on either side of a threshold."""
BOND_LINES = {"=": 2, "#": 3}
SIZE = 200
MARGIN = 22
FADED = 0.25
SHORT, LONGEST = 3, 16
"""Letters of a name that fits into a node, and of one that fits below it."""
LETTER = 4.4
"""Width of a letter in a word."""
WORD_ROOM = 50
"""Distance of the closest nodes that leaves room for words, if these are no wider; without, colors tell, and words come
up under the mouse."""
BELOW = 14
"""Room that names below nodes take from words beside edges."""
ARROW = 7.0
"""Length of an arrowhead."""
BEND = 18.0
"""Distance between edges that join the same nodes."""
LINE = 9.0
"""Height of a line of text."""
BONDS = ("-", "=", "#", ":")
HALO = 'paint-order="stroke" stroke="#fff" stroke-width="2.5"'
"""Lets text be read in front of lines."""
Place = tuple[float, float]
Box = tuple[float, float, float, float]  # left, top, right, bottom


def label_colors(labels: Collection[str]) -> dict[str, str]:
    """Choose a color for every label: by element where all are elements, else from a palette.

    >>> label_colors(["O", "C"])
    {'C': '#5b6770', 'O': '#cc3b33'}
    """
    ordered = sorted(set(labels))
    if set(ordered) <= ELEMENT_COLORS.keys():
        return {label: ELEMENT_COLORS[label] for label in ordered}
    return {label: PALETTE[i % len(PALETTE)] for i, label in enumerate(ordered)}


def graphs_to_draw(table: GraphTable) -> list[nx.Graph]:
    """Graphs with node and edge attribute ``label`` and node attribute ``name``.

    They are directed where an edge has no reverse. Several edges between the same nodes are one, with all their labels.

    Args:
        table: Graphs with columns ``label``, as :meth:`rwkplus.table.Reader.labelled` makes them.

    >>> drawn = graphs_to_draw(GraphTable.of(["CO"]))[0]
    >>> drawn.nodes(data="label")
    NodeDataView({0: 'C', 1: 'O'}, data='label')
    """
    nodes, edges = table.nodes.get("label"), table.edges.get("label")
    node_labels = [""] * table.num_nodes if nodes is None else [name or "" for name in nodes.values().tolist()]
    edge_labels = [""] * table.num_edges if edges is None else [name or "" for name in edges.values().tolist()]
    return [_drawn(table, i, node_labels, edge_labels) for i in range(len(table))]


def _drawn(table: GraphTable, i: int, node_labels: list[str], edge_labels: list[str]) -> nx.Graph:
    ids = table.node_ids(i)
    graph = nx.DiGraph() if table.directed else nx.Graph()
    start = int(table.node_ptr[i])
    graph.add_nodes_from((v, {"label": node_labels[start + k], "name": str(v)}) for k, v in enumerate(ids))
    labels: dict[tuple[object, object], Counter[str]] = {}
    for row in range(int(table.edge_ptr[i]), int(table.edge_ptr[i + 1])):
        u, v = ids[table.source[row]], ids[table.target[row]]
        pair = (v, u) if not table.directed and (v, u) in labels else (u, v)
        labels.setdefault(pair, Counter())[edge_labels[row]] += 1
    graph.add_edges_from((u, v, {"label": _in_words(counted)}) for (u, v), counted in labels.items())
    return graph.to_undirected() if table.directed and _is_symmetric(graph) else graph


def _in_words(labels: Counter[str]) -> str | None:
    """The label of an edge; of several edges all labels with their numbers, as in ``card (2), cash``."""
    if labels.keys() == {""}:
        return None if labels.total() == 1 else f"{labels.total()} edges"
    return ", ".join(label if number == 1 else f"{label} ({number})" for label, number in sorted(labels.items()))


def _is_symmetric(graph: nx.DiGraph) -> bool:
    return all(graph.has_edge(v, u) and graph.edges[v, u] == fields for u, v, fields in graph.edges(data=True))


def draw(
    graph: nx.Graph,
    colors: Mapping[str, str],
    *,
    highlighted: Collection[int] | None = None,
    strength: Mapping[int, float] | None = None,
    title: str = "",
) -> str:
    """Draw a graph whose nodes carry ``label`` and, for whoever points at them, perhaps a ``name``.

    With ``highlighted`` the other nodes fade; with ``strength`` each is as strong as its number between 0 and 1. Edges
    with a ``weight`` between 0 and 1 are as strong as that.

    Double and triple bonds have two and three lines, aromatic ones (``:``) are dashed, other edge labels are
    written beside the edge if there is room. Edges of directed graphs have arrowheads, and several between the same
    nodes run beside each other. The text ``conditions`` of a node or edge is written where nothing else stands.
    """
    places = layout(graph)
    opacities = {v: _opacity(v, highlighted, strength) for v in graph}
    room = _room(places)
    radius = round(min(12.0 if len(graph) <= 15 else 8.0, max(4.0, 0.45 * room)), 1)
    labels = {v: str(label) for v, label in graph.nodes(data="label")}
    roomy = room >= max([WORD_ROOM, *map(_width, labels.values())])
    below = {v: _below(places[v], radius, label) for v, label in labels.items() if roomy and len(label) > SHORT}
    widest = max((_width(label or "") for _, _, label in graph.edges.data("label")), default=0.0)
    wordy = room >= max(widest, WORD_ROOM + (BELOW if below else 0))
    lines = _lines(graph, places)
    parts, written = [], [*below.values()]
    for line, (u, v, fields) in zip(lines, graph.edges(data=True), strict=True):
        opacity = min(opacities[u], opacities[v], fields.get("weight", 1.0))
        parts.append(_edge(line, fields, opacity))
        if graph.is_directed():
            parts.append(_arrowhead(line.control, line.end, radius, opacity))
        if wordy and fields.get("label") not in (None, *BONDS) and not fields.get("conditions"):
            word = _cut(fields["label"])
            written.append(_box(*line.beside(8), [word]))
            parts.append(_text(*line.beside(8), word, f'opacity="{opacity}"'))
    names = []
    for v, fields in graph.nodes(data=True):
        (x, y), opacity, label = places[v], opacities[v], labels[v]
        parts.append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius}" fill="{colors[label]}" opacity="{opacity}">'
            f"<title>{_hint(label, fields.get('name'), fields.get('conditions'))}</title></circle>"
        )
        if len(label) <= SHORT or v in below:
            names.append(_node_name(x, y, radius, label, max(opacity, 0.6)))
    conditions, boxes = _conditions(graph, places, lines, radius, written)
    head = f'<svg viewBox="{_frame([*below.values(), *boxes])}" role="img" aria-label="{escape(title)}">'
    return "".join([head, *parts, *names, *conditions, "</svg>"])


def needs_legend(colors: Mapping[str, str]) -> bool:
    """Whether a label is too long to stand in its node, so that colors have to be explained.

    >>> needs_legend({"C": "#000"}), needs_legend({"customer": "#000"})
    (False, True)
    """
    return any(len(label) > SHORT for label in colors)


def curve(values: Sequence[float], *, top: float | None = None, percent: bool = False, dots: bool = True) -> str:
    """Draw values over 1, 2, ... as a line that begins at 0.

    Args:
        values: Numbers of at least 0.
        top: Value at the upper end; the largest by default.
        percent: Write values as percentages.
        dots: Mark every value and number it; without, only the last is numbered.

    >>> curve([0.5, 0.75], top=1.0, percent=True).count("<circle")
    3
    """
    width, height, left, foot = 360.0, 160.0, 44.0, 24.0
    top = top or max(values, default=0.0) or 1.0
    points = [0.0, *values]
    step = (width - left - 10) / max(len(points) - 1, 1)
    places = [(left + i * step, height - foot - value / top * (height - 40)) for i, value in enumerate(points)]
    parts = [f'<svg viewBox="0 0 {width:.0f} {height:.0f}" role="img" aria-label="curve">']
    for share in (0, 0.5, 1):
        y = height - foot - share * (height - 40)
        text = f"{share * top:.0%}" if percent else f"{share * top:.4g}"
        parts.append(
            f'<line x1="{left}" x2="{width - 10}" y1="{y}" y2="{y}" stroke="#ccc"/>'
            f'<text x="{left - 6}" y="{y + 4}" text-anchor="end" font-size="11" fill="#666">{text}</text>'
        )
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    parts.append(f'<polyline points="{line}" fill="none" stroke="#3567c4" stroke-width="2.5"/>')
    for i, (x, y) in enumerate(places):
        if dots:
            parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="#3567c4"/>')
        if dots or i == len(values):
            parts.append(
                f'<text x="{x:.1f}" y="{height - 6}" text-anchor="middle" font-size="11" fill="#666">{i}</text>'
            )
    return "".join([*parts, "</svg>"])


def bars(shares: Mapping[str, float]) -> str:
    """Draw shares between 0 and 1, each as a bar beside its name.

    >>> bars({"toxic": 0.75, "other": 0.1}).count("<rect")
    4
    """
    left = min(LETTER * 1.4 * max((len(_cut(name)) for name in shares), default=0) + 6, 90.0)
    row, width, look = 18, 200.0, 'font-size="11" fill="#444"'
    scale = width - left - 34
    parts = [f'<svg viewBox="0 0 {width:.0f} {row * len(shares)}" role="img" aria-label="shares">']
    for k, (name, share) in enumerate(shares.items()):
        y = k * row + 4
        parts.append(
            f'<text x="{left - 5:.1f}" y="{y + 9}" text-anchor="end" {look}>{escape(_cut(name))}</text>'
            f'<rect x="{left:.1f}" y="{y}" width="{scale:.1f}" height="11" fill="#eceff1"/>'
            f'<rect x="{left:.1f}" y="{y}" width="{share * scale:.1f}" height="11" fill="{PALETTE[0]}"/>'
            f'<text x="{left + scale + 4:.1f}" y="{y + 9}" {look}>{share:.0%}</text>'
        )
    return "".join([*parts, "</svg>"])


def histogram(values: ArrayLike, threshold: float, *, bins: int = 40) -> str:
    """Draw how many values lie where; those above the threshold in red.

    >>> histogram([0.1, 2.0, 5.0], 1.0).count("<rect")
    3
    """
    width, height, left, foot, head = 520.0, 180.0, 36.0, 24.0, 18.0
    values = np.asarray(values, dtype=float)
    low, high = float(min(values.min(), threshold)), float(max(values.max(), threshold))
    high = high if high > low else low + 1.0
    edges = np.linspace(low, high, bins + 1)
    usual, beyond = (np.histogram(part, edges)[0] for part in (values[values <= threshold], values[values > threshold]))
    most = max(int((usual + beyond).max()), 1)
    step, floor, right = (width - left - 10) / bins, height - foot, width - 10

    def bar(k: int, bottom: int, count: int, color: str) -> str:
        scale = (floor - head) / most
        y = floor - (bottom + count) * scale
        return (
            f'<rect x="{left + k * step + 0.5:.1f}" y="{y:.1f}" width="{step - 1:.1f}" height="{count * scale:.1f}" '
            f'fill="{color}"/>'
        )

    parts = [f'<svg viewBox="0 0 {width:.0f} {height:.0f}" role="img" aria-label="histogram of scores">']
    parts += [bar(k, 0, int(count), USUAL) for k, count in enumerate(usual) if count]
    parts += [bar(k, int(usual[k]), int(count), BEYOND) for k, count in enumerate(beyond) if count]
    place = left + (threshold - low) / (high - low) * (right - left)
    parts.append(
        f'<line x1="{left}" x2="{right}" y1="{floor}" y2="{floor}" stroke="#444"/>'
        f'<line x1="{place:.1f}" x2="{place:.1f}" y1="{head - 4}" y2="{floor}" stroke="#444" stroke-dasharray="4 3"/>'
        f'<text x="{min(max(place, left + 10), width - 60):.1f}" y="10" text-anchor="middle" font-size="11" '
        f'fill="#444">threshold {threshold:.3g}</text>'
        f'<text x="{left - 4}" y="{head + 4}" text-anchor="end" font-size="11" fill="#444">{most}</text>'
        f'<text x="{left}" y="{height - 8}" font-size="11" fill="#444">{low:.3g}</text>'
        f'<text x="{right}" y="{height - 8}" text-anchor="end" font-size="11" fill="#444">{high:.3g}</text>'
    )
    return "".join([*parts, "</svg>"])


def _opacity(v: int, highlighted: Collection[int] | None, strength: Mapping[int, float] | None) -> float:
    if strength is not None:
        return round(FADED + (1 - FADED) * min(max(strength[v], 0.0), 1.0), 3)
    return 1.0 if highlighted is None or v in highlighted else FADED


def layout(graph: nx.Graph) -> dict[int, Place]:
    """Places of the nodes inside the picture; the same for the same graph.

    >>> layout(nx.empty_graph(1))
    {0: (100.0, 100.0)}
    """
    graph = nx.Graph(graph)
    if len(graph) < 2:
        return dict.fromkeys(graph, (SIZE / 2, SIZE / 2))
    planar, drawing = nx.check_planarity(graph)
    begin = nx.combinatorial_embedding_to_pos(drawing) if planar else None  # lest a ring gets stuck crossed
    raw = nx.kamada_kawai_layout(graph, dist=_distances(graph), pos=begin)
    places = np.array([raw[v] for v in graph])
    places -= (places.max(0) + places.min(0)) / 2
    places *= (SIZE / 2 - MARGIN) / max(float(np.abs(places).max()), 1e-9)
    return {v: (float(x) + SIZE / 2, float(y) + SIZE / 2) for v, (x, y) in zip(graph, places, strict=True)}


def _distances(graph: nx.Graph) -> dict[int, dict[int, float]]:
    """Edges between nodes; parts that no edge joins lie beside each other, not as far apart as networkx has them."""
    steps = dict(nx.shortest_path_length(graph))
    reach = {v: max(steps[v].values()) for v in graph}
    return {u: {v: steps[u].get(v, 1.5 + (reach[u] + reach[v]) / 2) for v in graph} for u in graph}


def _room(places: Mapping[int, Place]) -> float:
    """Distance of the two closest nodes."""
    if len(places) < 2:
        return float(SIZE)
    from scipy.spatial.distance import pdist  # slow to import, and few draw

    return float(pdist(np.array(list(places.values()))).min())


def _cut(word: str) -> str:
    """As many letters as there may be room for."""
    return word if len(word) <= LONGEST else word[: LONGEST - 1] + "…"


def _width(word: str) -> float:
    return LETTER * len(_cut(word))


def _frame(boxes: Sequence[Box]) -> str:
    """The picture, large enough for all that is written."""
    left, top, right, bottom = np.array([(0.0, 0.0, SIZE, SIZE), *boxes]).T
    return f"{left.min():.0f} {top.min():.0f} {right.max() - left.min():.0f} {bottom.max() - top.min():.0f}"


def _below(place: Place, radius: float, name: str) -> Box:
    """Where the name of a node stands that is too long to stand in it."""
    return _box(place[0], place[1] + radius + LINE / 2, [_cut(name)])


def _box(x: float, y: float, lines: Sequence[str]) -> Box:
    """What lines of text cover, of which the first has its middle here."""
    half = LETTER * max(map(len, lines)) / 2 + 2
    return x - half, y - LINE / 2, x + half, y + LINE * (len(lines) - 0.5)


def _hint(*words: str | None) -> str:
    return escape(" ".join(str(word) for word in words if word))


def _text(x: float, y: float, word: str, look: str) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" dy=".35em" text-anchor="middle" font-size="8" fill="#666" {look} {HALO}>'
        f"{escape(word)}</text>"
    )


def _node_name(x: float, y: float, radius: float, name: str, opacity: float) -> str:
    """Write a short name into its node, a long one below it."""
    if len(name) <= SHORT:
        look = f'dy=".35em" font-size="{radius * 0.95:.0f}" fill="#fff"'
    else:
        y += radius
        look = f'dy="1em" font-size="8" fill="#222" {HALO}'
        name = _cut(name)
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="middle" opacity="{opacity}" {look}>{escape(name)}</text>'


def _arrowhead(a: Place, b: Place, radius: float, opacity: float) -> str:
    """A triangle that touches the node at ``b``."""
    along = np.array(b) - np.array(a)
    along /= max(float(np.hypot(*along)), 1e-9)
    tip = np.array(b) - along * radius
    aside = np.array([-along[1], along[0]]) * ARROW / 2
    corners = (tip, tip - along * ARROW + aside, tip - along * ARROW - aside)
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in corners)
    return f'<polygon points="{points}" fill="#444" opacity="{opacity}"/>'


class _Line(NamedTuple):
    """An edge: straight, or bent so that others between the same nodes can be seen."""

    start: Place
    end: Place
    bend: float = 0.0

    @property
    def aside(self) -> NDArray[np.float64]:
        """A step to the side."""
        along = np.array(self.end) - np.array(self.start)
        return np.array([-along[1], along[0]]) / max(float(np.hypot(*along)), 1e-9)

    @property
    def control(self) -> Place:
        """What it is drawn to: twice as far from the straight line as its middle."""
        x, y = (np.array(self.start) + np.array(self.end)) / 2 + 2 * self.bend * self.aside
        return float(x), float(y)

    def beside(self, distance: float, share: float = 0.5) -> Place:
        """A place beside the edge, at a share of its length."""
        start, control, end = map(np.array, (self.start, self.control, self.end))
        there = (1 - share) ** 2 * start + 2 * share * (1 - share) * control + share**2 * end
        x, y = there + self.aside * (distance if self.bend >= 0 else -distance)
        return float(x), float(y)


def _lines(graph: nx.Graph, places: Mapping[int, Place]) -> list[_Line]:
    """Where the edges run: those between the same nodes beside each other, whichever way they lead."""
    ends = [(u, v) for u, v in graph.edges()]
    number = Counter(frozenset(pair) for pair in ends)
    seen: dict[frozenset[int], list[tuple[int, int]]] = {}
    lines = []
    for u, v in ends:
        before = seen.setdefault(frozenset((u, v)), [])
        bend = BEND * (len(before) - (number[frozenset((u, v))] - 1) / 2)
        before.append((u, v))
        lines.append(_Line(places[u], places[v], bend if before[0] == (u, v) else -bend))
    return lines


def _edge(line: _Line, fields: Mapping[str, Any], opacity: float) -> str:
    label = fields.get("label")
    look = f'stroke="#444" stroke-width="2" opacity="{opacity}"' + (' stroke-dasharray="5 3"' if label == ":" else "")
    hint = f"<title>{_hint(label, fields.get('conditions'))}</title>"
    (x1, y1), (x2, y2), (cx, cy) = line.start, line.end, line.control
    if line.bend:
        return f'<path d="M{x1:.1f} {y1:.1f}Q{cx:.1f} {cy:.1f} {x2:.1f} {y2:.1f}" fill="none" {look}>{hint}</path>'
    count = BOND_LINES.get(label or "", 1)
    shifts = [line.aside * 4.5 * (i - (count - 1) / 2) for i in range(count)]
    return "".join(
        f'<line x1="{x1 + x:.1f}" y1="{y1 + y:.1f}" x2="{x2 + x:.1f}" y2="{y2 + y:.1f}" {look}>{hint}</line>'
        for x, y in shifts
    )


def _conditions(
    graph: nx.Graph, places: Mapping[int, Place], lines: Sequence[_Line], radius: float, written: Sequence[Box]
) -> tuple[list[str], list[Box]]:
    """Texts of conditions where nothing else stands, and their boxes; for others, there is the mouse."""
    taken = [*written, *((x - radius, y - radius, x + radius, y + radius) for x, y in places.values())]
    crossed = [(*line.beside(0, share),) * 2 for line in lines for share in np.linspace(0.1, 0.9, 17).tolist()]
    texts: list[str] = []
    boxes: list[Box] = []
    for words, ways in (*_at_nodes(graph, places, radius), *_at_edges(graph, lines)):
        free = [(x, y) for x, y in ways if not _overlaps(_box(x, y, words), [*taken, *boxes])]
        if free:
            x, y = min(free, key=lambda way: _overlaps(_box(way[0], way[1], words), crossed))
            boxes.append(_box(x, y, words))
            texts += [_text(x, y + LINE * k, word, 'font-style="italic"') for k, word in enumerate(words)]
    return texts, boxes


Wanted = Iterator[tuple[list[str], list[Place]]]
"""Lines of text, and where they may stand, the best place first."""


def _at_nodes(graph: nx.Graph, places: Mapping[int, Place], radius: float) -> Wanted:
    for v, told in graph.nodes(data="conditions"):
        if told:
            words, (x, y) = told.split(", "), places[v]
            more, half = LINE * (len(words) - 1), LETTER * max(map(len, words)) / 2 + radius + 2
            low, high = y + radius + LINE / 2 + 1, y - radius - LINE / 2 - 1 - more
            beside = [(x + half, y - more / 2), (x - half, y - more / 2)]
            yield words, [(x, low), (x, low + LINE), (x, high), *beside]


def _at_edges(graph: nx.Graph, lines: Sequence[_Line]) -> Wanted:
    for line, (_, _, fields) in zip(lines, graph.edges(data=True), strict=True):
        if fields.get("conditions"):
            words = [*filter(None, [_cut(fields.get("label") or "")]), *fields["conditions"].split(", ")]
            more, half = LINE * (len(words) - 1), LETTER * max(map(len, words)) / 2
            far = half * abs(line.aside[0]) + (more + LINE) / 2 * abs(line.aside[1]) + 2
            ways = [line.beside(side * far, share) for share in (0.5, 0.35, 0.65) for side in (1, -1)]
            yield words, [(x, y - more / 2) for x, y in ways]


def _overlaps(a: Box, others: Iterable[Box]) -> int:
    """How many of the others a box touches."""
    return sum(a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3] for b in others)
