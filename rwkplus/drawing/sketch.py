"""Small labelled graphs as SVG: round nodes for short labels, frames around words, arrows, and what edges say."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from rwkplus.drawing.layout import Place, layout, nearest
from rwkplus.drawing.molecules import depict, is_molecule
from rwkplus.drawing.palette import NONE, SHORT, ink
from rwkplus.drawing.svg import frame, node_key, told
from rwkplus.table import GraphTable

FULL = 0.8
"""Nodes at least as strong are drawn in full; weaker ones are hollow, so that they recede and can still be read."""
WORDY = 16
"""Nodes up to which everything is labelled; in larger graphs only what stands out, the mouse brings up the rest."""
WORDY_EDGES = 12
"""Edges up to which all say what they are; of more, those between nodes that stand out."""
LONGEST = 22
"""Letters of a word in a drawing; the rest of a longer one comes up under the mouse."""
RADIUS, SMALLEST = 11.0, 4.0
WORDS, LETTER, LINE = 10.0, 5.6, 12.0
"""Size of words, width of a letter and height of a line of text."""
LEGIBLE = 6
"""Size from which on labels of round nodes are written."""
BASELINE = 0.35
"""How far below its middle a text stands, in sizes of it."""
ARROW = 7.0
BEND = 9.0
"""Distance of one of two edges between the same nodes from the straight line."""
LOOP = 18.0
"""Height of an edge from a node to itself."""
DETOURS = (14.0, -14.0, 26.0, -26.0, 40.0, -40.0)
"""Ways around a node that lies on an edge of others."""
SHARES = np.linspace(0.05, 0.95, 25)
"""Where it is checked what an edge runs through."""
SCALES, FEW, ROOMY = (1.0, 1.35, 1.8, 2.5, 3.4, 4.5), 8, 1.3
"""How much room is tried for everything to have its place, and from how many nodes on how much is enough."""
MARGIN = 5.0
BONDS = {"-": 1, "=": 2, "#": 3, ":": 1}
"""Edge labels that are drawn as bonds instead of written, with the number of lines."""
PAPER = "var(--paper,Canvas)"
Point = NDArray[np.float64]  # (2,)


class _Box(NamedTuple):
    """What a node or text covers."""

    x: float
    y: float
    half_width: float
    half_height: float

    def meets(self, other: "_Box", room: float = 0.0) -> bool:
        """Whether two overlap, or come nearer than some room."""
        return (
            abs(self.x - other.x) < self.half_width + other.half_width + room
            and abs(self.y - other.y) < self.half_height + other.half_height + room
        )

    def holds(self, points: NDArray[np.float64], room: float = 0.0) -> NDArray[np.bool_]:
        """Which points ``(n, 2)`` lie inside."""
        beside = np.abs(points - (self.x, self.y)) - room
        return (beside[:, 0] < self.half_width) & (beside[:, 1] < self.half_height)


@dataclass(frozen=True)
class _Line:
    """An edge: straight, or bent so that others between the same nodes, or a node in between, can be seen."""

    start: Place
    end: Place
    bend: float = 0.0
    cut: tuple[float, float] = (0.0, 1.0)  # where it leaves its first node and reaches its last

    @cached_property
    def aside(self) -> Point:
        """A step to the side."""
        along = np.subtract(self.end, self.start)
        return np.array([-along[1], along[0]]) / max(float(np.hypot(*along)), 1e-9)

    @cached_property
    def control(self) -> Point:
        """What it is drawn to: twice as far from the straight line as its middle."""
        middle: Point = np.add(self.start, self.end) / 2 + 2 * self.bend * self.aside
        return middle

    def at(self, t: Any) -> NDArray[np.float64]:  # noqa: ANN401
        """Points at shares of its length."""
        t = np.asarray(t, dtype=float)[..., None]
        found: Point = (1 - t) ** 2 * self.start + 2 * t * (1 - t) * self.control + t**2 * np.array(self.end)
        return found

    def between(self, first: _Box, last: _Box, *, round_nodes: tuple[bool, bool]) -> "_Line":
        """The part of it that neither of its nodes covers."""
        t = np.linspace(0, 1, 101)
        points = self.at(t)
        outside = ~(_covers(first, points, round_nodes[0]) | _covers(last, points, round_nodes[1]))
        if not outside.any():
            return self
        return _Line(self.start, self.end, self.bend, (float(t[outside][0]), float(t[outside][-1])))


def _covers(box: _Box, points: NDArray[np.float64], is_round: bool) -> NDArray[np.bool_]:
    if not is_round:
        return box.holds(points)
    found: NDArray[np.bool_] = np.hypot(*(points - (box.x, box.y)).T) < box.half_width
    return found


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
    return [_to_draw(table, i, node_labels, edge_labels) for i in range(len(table))]


def _to_draw(table: GraphTable, i: int, node_labels: list[str], edge_labels: list[str]) -> nx.Graph:
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
    highlighted: Collection[Any] | None = None,
    strength: Mapping[Any, float] | None = None,
    title: str = "",
    keys: Mapping[Any, object] | None = None,
) -> str:
    """Draw a graph whose nodes carry ``label`` and, for whoever points at them, perhaps a ``name``.

    Molecules, with elements as labels of nodes and bonds as labels of edges, are drawn as chemists do if RDKit is
    installed. In other drawings, double and triple bonds have two and three lines, aromatic ones (``:``) are dashed,
    and other edge labels are written where neither nodes nor edges are. Edges of directed graphs have arrowheads, and
    several between the same nodes run beside each other. The text ``conditions`` of a node or edge stands by its label.

    Args:
        graph: A graph of networkx.
        colors: Color of every label, see :func:`label_colors`.
        highlighted: Nodes that stand out; the others recede.
        strength: How much each node stands out, between 0 and 1. Edges with a ``weight`` are as strong as that.
        title: What the drawing shows, for those who cannot see it.
        keys: Attribute ``data-k`` of nodes: a page links those of the same key.

    >>> draw(nx.path_graph(3), {}, title="a path").count("<circle")
    3
    """
    strong = strengths(graph, highlighted, strength)
    keys = keys or {}
    if is_molecule(graph):
        marked = strong if highlighted is not None or strength is not None else {}
        return depict(graph, colors, marked, title, keys)
    sketch = Sketch.best(graph, strong)
    parts = [*sketch.edges(), *sketch.nodes(colors, keys), *sketch.words()]
    return f"{frame(*sketch.corners(), title)}{''.join(parts)}</svg>"


def strengths(
    graph: nx.Graph, highlighted: Collection[Any] | None, strength: Mapping[Any, float] | None
) -> dict[Any, float]:
    """How much each node stands out, between 0 and 1.

    >>> strengths(nx.path_graph(3), highlighted={1}, strength=None)
    {0: 0.0, 1: 1.0, 2: 0.0}
    """
    if strength is not None:
        return {v: min(max(strength[v], 0.0), 1.0) for v in graph}
    return {v: float(highlighted is None or v in highlighted) for v in graph}


class _Text(NamedTuple):
    """Lines of text, and the box they fill."""

    box: _Box
    lines: Sequence[str]
    opacity: float


@dataclass(frozen=True)
class Sketch:
    """A drawing before it is written, as SVG or into axes: where nodes, edges and words are."""

    graph: nx.Graph
    strong: Mapping[Any, float]
    boxes: Mapping[Any, _Box]
    inside: Mapping[Any, Sequence[str]]  # lines of text in a node
    lines: Sequence[_Line]
    texts: Sequence[_Text]
    trouble: int  # nodes that overlap, and words without a place

    @classmethod
    def best(cls, graph: nx.Graph, strong: Mapping[Any, float]) -> "Sketch":
        """The smallest drawing in which everything has its place, or the one with the least trouble."""
        inside = _inside(graph, strong)
        prominent = {v for v in graph if strong[v] >= FULL and framed(inside[v])}
        places = layout(graph, prominent if len(prominent) < len(graph) else ())
        sketches = []
        for scale in SCALES:
            sketches.append(cls._at(graph, places, strong, inside, scale))
            enough = len(graph) > FEW and scale > ROOMY and not _overlaps([*sketches[-1].boxes.values()])
            if sketches[-1].trouble == 0 or enough or len(graph) > WORDY:
                break
        return min(sketches, key=lambda sketch: sketch.trouble)

    @classmethod
    def _at(
        cls,
        graph: nx.Graph,
        places: Mapping[Any, Place],
        strong: Mapping[Any, float],
        inside: Mapping[Any, Sequence[str]],
        scale: float,
    ) -> "Sketch":
        at = {v: (x * scale, y * scale) for v, (x, y) in places.items()}
        radius = _radius(at)
        boxes = {v: _box(at[v], lines, radius) for v, lines in inside.items()}
        lines = _lines(graph, boxes, strong)
        cut = [
            line.between(boxes[u], boxes[v], round_nodes=(not framed(inside[u]), not framed(inside[v])))
            for line, (u, v) in zip(lines, graph.edges(), strict=True)
        ]
        texts, missing = _beside_edges(graph, cut, boxes, strong)
        return cls(graph, strong, boxes, inside, cut, texts, 2 * _overlaps([*boxes.values()]) + missing)

    def corners(self) -> tuple[Point, Point]:
        """From where to where everything reaches."""
        boxes = np.array([*self.boxes.values(), *(text.box for text in self.texts)]).reshape(-1, 4)
        bent = [line.at(SHARES) for line in self.lines if line.bend]
        loops = [self.boxes[u] for u, v in self.graph.edges() if u == v]
        bent += [np.array([[box.x, box.y - box.half_height - LOOP]]) for box in loops]
        corners = np.concatenate([boxes[:, :2] - boxes[:, 2:], boxes[:, :2] + boxes[:, 2:], *bent])
        corners = corners if len(corners) else np.zeros((1, 2))
        return corners.min(0) - MARGIN, corners.max(0) + MARGIN

    def edges(self) -> Iterator[str]:
        """Lines and arrowheads: those that look alike together, but for those of which the mouse tells something."""
        if not self.lines:
            return
        plain: dict[str, list[tuple[str, str]]] = defaultdict(list)
        yield '<g fill="none" stroke="currentColor" stroke-width="1.6">'
        for line, (u, v, fields) in zip(self.lines, self.graph.edges(data=True), strict=True):
            opacity = round((0.35 + 0.65 * min(self.strong[u], self.strong[v])) * fields.get("weight", 1.0), 3)
            look, hint = _edge_look(fields, opacity), _edge_hint(fields)
            drawn = _edge(line, fields, self.boxes[u] if u == v else None, arrow=self.graph.is_directed())
            if hint:
                yield f"<g{look}><title>{hint}</title>{_paths([drawn])}</g>"
            else:
                plain[look].append(drawn)
        yield from (f"<g{look}>{_paths(drawn)}</g>" for look, drawn in plain.items())
        yield "</g>"

    def nodes(self, colors: Mapping[str, str], keys: Mapping[Any, object]) -> Iterator[str]:
        """Shapes, then what stands in them; those that look alike together. Below hollow shapes there is paper."""
        hollow = "".join(_shape(box, self.inside[v]) for v, box in self.boxes.items() if self.strong[v] < FULL)
        yield f'<g style="fill:{PAPER}">{hollow}</g>' if hollow else ""
        shapes: dict[str, list[str]] = defaultdict(list)
        texts: dict[str, list[str]] = defaultdict(list)
        for v, fields in self.graph.nodes(data=True):
            box, lines, strength = self.boxes[v], self.inside[v], self.strong[v]
            color = colors.get(str(fields.get("label", "")), NONE)
            look = "" if strength >= FULL else f' fill-opacity="{0.08 + 0.45 * strength:.2f}"'
            hint = told(fields.get("label"), fields.get("name"), fields.get("conditions"))
            shapes[f'fill="{color}" stroke="{color}"{look}'].append(_shape(box, lines, node_key(keys.get(v)), hint))
            size = WORDS if framed(lines) else round(0.95 * box.half_width, 1)
            if any(lines) and size >= LEGIBLE:
                fill = ink(color) if strength >= FULL else "currentColor"
                texts[f'fill="{fill}" font-size="{size:g}"'].append(_written(box, lines, size))
        yield from (f'<g class="n" stroke-width="1.6" {look}>{"".join(drawn)}</g>' for look, drawn in shapes.items())
        words = (f"<g {look}>{''.join(drawn)}</g>" for look, drawn in texts.items())
        yield f'<g text-anchor="middle" pointer-events="none">{"".join(words)}</g>' if texts else ""

    def words(self) -> Iterator[str]:
        """What edges say, in front of all lines."""
        if self.texts:
            yield (
                f'<g fill="currentColor" stroke-width="3" stroke-linejoin="round" paint-order="stroke" '
                f'font-size="{WORDS:g}" text-anchor="middle" style="stroke:{PAPER}">'
            )
            for text in self.texts:
                yield _written(text.box, text.lines, WORDS, f' opacity="{text.opacity}"' if text.opacity < 1 else "")
            yield "</g>"


def _inside(graph: nx.Graph, strong: Mapping[Any, float]) -> dict[Any, list[str]]:
    """What is written into every node: its label, if it is short or there is room, and what is asked of it."""
    prominent = [v for v in graph if strong[v] >= FULL]
    spelled = set(graph) if len(graph) <= WORDY else set(prominent) if len(prominent) <= WORDY else set()
    found = {}
    for v, fields in graph.nodes(data=True):
        label, asked = str(fields.get("label", "")), fields.get("conditions")
        lines = [label] if len(label) <= SHORT or v in spelled else []
        found[v] = [_cut(line) for line in [*lines, *(asked.split(", ") if asked and v in spelled else [])]]
    return found


def _cut(word: str) -> str:
    """As many letters as there may be room for."""
    return word if len(word) <= LONGEST else word[: LONGEST - 1] + "…"


def framed(lines: Sequence[str]) -> bool:
    """Whether a node has a frame around words instead of being round.

    >>> framed(["Cl"]), framed(["customer"])
    (False, True)
    """
    return len(lines) > 1 or any(len(line) > SHORT for line in lines)


def _box(place: Place, lines: Sequence[str], radius: float) -> _Box:
    if not framed(lines):
        return _Box(*place, radius, radius)
    return _Box(*place, LETTER * max(map(len, lines)) / 2 + 6, LINE * len(lines) / 2 + 4)


def _radius(places: Mapping[Any, Place]) -> float:
    """As large as the closest nodes allow."""
    if len(places) < 2:
        return RADIUS
    return round(min(RADIUS, max(SMALLEST, 0.42 * nearest(np.array(list(places.values()))))), 1)


def _overlaps(boxes: Sequence[_Box]) -> int:
    """Pairs of nodes that lie upon each other."""
    at = np.array(boxes).reshape(-1, 4)
    places, sizes = at[:, :2], at[:, 2:]
    upon = np.abs(places[:, None] - places) < sizes[:, None] + sizes + 1
    return int(np.triu(upon.all(2), 1).sum())


def _lines(graph: nx.Graph, boxes: Mapping[Any, _Box], strong: Mapping[Any, float]) -> list[_Line]:
    """Where the edges run: those between the same nodes beside each other, others around nodes that are in their way.

    Weak edges of large graphs pass below nodes.
    """
    ends = [(u, v) for u, v in graph.edges()]
    number = Counter(frozenset(pair) for pair in ends)
    seen: dict[frozenset[Any], list[tuple[Any, Any]]] = {}
    lines = []
    for u, v in ends:
        before = seen.setdefault(frozenset((u, v)), [])
        bend = 2 * BEND * (len(before) - (number[frozenset((u, v))] - 1) / 2)
        before.append((u, v))
        lines.append(_Line(boxes[u][:2], boxes[v][:2], bend if before[0] == (u, v) else -bend))
    if len(ends) > 2 * len(boxes):  # a tangle, in which detours only add to it
        return lines
    place = {v: k for k, v in enumerate(boxes)}
    return [
        _around(line, boxes, [place[u], place[v]]) if len(graph) <= WORDY or min(strong[u], strong[v]) >= FULL else line
        for line, (u, v) in zip(lines, ends, strict=True)
    ]


def _around(line: _Line, boxes: Mapping[Any, _Box], own: list[int]) -> _Line:
    """The same edge or, if it runs through nodes of others, one with a bend that passes them."""
    others = np.delete(np.array(list(boxes.values())), own, axis=0)

    def runs_through(way: _Line) -> bool:
        points = way.at(SHARES)
        apart = np.abs(points[:, None] - others[None, :, :2])
        return bool((apart < others[None, :, 2:] + 2).all(2).any())

    if line.bend or own[0] == own[1] or not runs_through(line):
        return line
    ways = (_Line(line.start, line.end, bend) for bend in DETOURS)
    return next((way for way in ways if not runs_through(way)), line)


def _beside_edges(
    graph: nx.Graph, lines: Sequence[_Line], boxes: Mapping[Any, _Box], strong: Mapping[Any, float]
) -> tuple[list[_Text], int]:
    """What edges say, where neither nodes nor other texts nor lines are, and how many found no place."""
    small = len(graph) <= WORDY and len(lines) <= WORDY_EDGES
    points = np.concatenate([line.at(np.linspace(*line.cut, 33)) for line in lines] or [np.zeros((0, 2))])
    taken, texts, missing = [*boxes.values()], [], 0.0
    wanted = []
    for line, (u, v, fields) in zip(lines, graph.edges(data=True), strict=True):
        strength = min(strong[u], strong[v])
        if u != v and (small or strength >= FULL):
            wanted.append((line, strength, _edge_words(fields)))
    wanted.sort(key=lambda part: -part[1])
    if not small and len(wanted) == len(lines):
        return [], 0
    for line, strength, words in wanted:
        if words:
            ways = [box for box in _places_beside(line, words) if not any(box.meets(other, 1) for other in taken)]
            best = min(ways, key=lambda box: int(box.holds(points, 1).sum()), default=None)
            missing += best is None or 0.25 * bool(best.holds(points, 1).any())
            if best is not None:
                taken.append(best)
                texts.append(_Text(best, words, 1.0 if strength >= FULL else 0.75))
    return texts, int(np.ceil(missing)) if small else 0


def _edge_words(fields: Mapping[str, Any]) -> list[str]:
    label, asked = fields.get("label"), fields.get("conditions")
    lines = [] if label in (None, "", *BONDS) else [label]
    return [_cut(str(line)) for line in [*lines, *(asked.split(", ") if asked else [])]]


def _places_beside(line: _Line, words: Sequence[str]) -> Iterator[_Box]:
    """Boxes beside an edge, the best place first."""
    half_width, half_height = LETTER * max(map(len, words)) / 2, LINE * len(words) / 2
    across = np.abs(line.aside)
    far = half_width * across[0] + half_height * across[1] + 3
    first, last = line.cut
    points = line.at(first + (last - first) * np.array([0.5, 0.4, 0.6, 0.3, 0.7]))
    for point in points:
        for side in (1, -1) if line.aside[1] < 0 else (-1, 1):  # above rather than below
            x, y = (point + line.aside * side * far).tolist()
            yield _Box(x, y, half_width, half_height)


def _edge_look(fields: Mapping[str, Any], opacity: float) -> str:
    look = f' opacity="{opacity}"' if opacity < 1 else ""
    look += ' stroke-dasharray="5 3"' if fields.get("label") == ":" else ""
    return look + (f' stroke-width="{1 + 4 * fields["weight"]:.1f}"' if "weight" in fields else "")


def _edge_hint(fields: Mapping[str, Any]) -> str:
    weight = f"weight {fields['weight']:.2g}" if "weight" in fields else ""
    return told(fields.get("label"), fields.get("conditions"), weight)


def _edge(line: _Line, fields: Mapping[str, Any], loop: _Box | None, *, arrow: bool) -> tuple[str, str]:
    """Where the line runs, and its arrowhead."""
    if loop is not None:
        return f"M{loop.x - 5:.1f} {loop.y - loop.half_height:.1f}c-16 -24 26 -24 10 0", ""
    first, last = line.cut
    start, end = line.at(first), line.at(last)
    head = ""
    if arrow:
        corners, end = arrowhead(line)
        head = f'<polygon points="{" ".join(map(_xy, corners))}" fill="currentColor" stroke="none"/>'
    if line.bend:
        weights = ((1 - first) * (1 - last), first * (1 - last) + last * (1 - first), first * last)
        control = np.tensordot(weights, np.array([line.start, line.control, line.end]), 1)
        return f"M{_xy(start)}Q{_xy(control)} {_xy(end)}", head
    count = BONDS.get(fields.get("label") or "", 1)
    shifts = [line.aside * 4.0 * (i - (count - 1) / 2) for i in range(count)]
    return "".join(f"M{_xy(start + shift)}L{_xy(end + shift)}" for shift in shifts), head


def _paths(drawn: Sequence[tuple[str, str]]) -> str:
    """Lines as one path, and their arrowheads."""
    return f'<path d="{"".join(way for way, _ in drawn)}"/>{"".join(head for _, head in drawn)}'


def arrowhead(line: _Line) -> tuple[NDArray[np.float64], Point]:
    """Corners of a triangle that touches the last node, and where the line before it ends."""
    tip = line.at(line.cut[1])
    along = tip - line.at(max(line.cut[1] - 0.1, 0.0))
    along /= max(float(np.hypot(*along)), 1e-9)
    back, aside = tip - along * ARROW, np.array([-along[1], along[0]]) * ARROW / 2
    return np.stack([tip, back + aside, back - aside]), tip - along * ARROW * 0.8


def _xy(point: Point) -> str:
    return f"{point[0]:.1f} {point[1]:.1f}"


def _shape(box: _Box, lines: Sequence[str], key: str = "", hint: str = "") -> str:
    """A circle, or a frame around words, and what the mouse tells of it."""
    end = f"><title>{hint}</title></" if hint else "></"
    if not framed(lines):
        return f'<circle cx="{box.x:.1f}" cy="{box.y:.1f}" r="{box.half_width:g}"{key}{end}circle>'
    x, y, width, height = box.x - box.half_width, box.y - box.half_height, 2 * box.half_width, 2 * box.half_height
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" rx="8"{key}{end}rect>'


def _written(box: _Box, lines: Sequence[str], size: float, look: str = "") -> str:
    """Lines of text in the middle of a box."""
    top = box.y - LINE * (len(lines) - 1) / 2 + BASELINE * size
    return "".join(
        f'<text x="{box.x:.1f}" y="{top + LINE * k:.1f}"{look}>{told(line)}</text>' for k, line in enumerate(lines)
    )
