"""Web-scale graphs with communities and bots, drawn in linear time and written to disk as they come.

Users belong to communities of very different sizes, are popular by a power law, and mostly follow popular users of
their own community. Bots are run in farms. They pretend to belong to a community and link as often as others do, but
part of their links go to their farm and more of them anywhere. Features tell the community of a user and
the script of a farm, both faintly, and that they are a bot's more faintly still: only neighbors tell what is normal.
"""

# ruff: noqa: ANN401 -- numba infers the types of compiled loops

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from rwkplus.errors import ParameterError
from rwkplus.large.csr_graph import CSRGraph, Edges, GraphFiles, new_graph, undirected_csr
from rwkplus.loops.random_streams import advance, new_key, stream, uniform
from rwkplus.types import check_integer

CHUNK = 1 << 16
SPLIT = {"train_mask": 0.7, "val_mask": 0.2, "test_mask": 0.1}
Numbers = NDArray[np.float64]
Index = NDArray[np.int64]


@dataclass(frozen=True)
class WebGraph:
    """What kind of graph to draw.

    Args:
        nodes: Number of users.
        random_state: Seed of everything.
        links: Mean number of links a user makes; each is an edge in both directions.
        channels: Width of the features.
        bots: Share of bots.
        community_size: Mean number of users of a community.
        farm_size: Mean number of bots of a farm.
        loyalty: Share of a user's links that stay in the community.
        camouflage: Share of a bot's links that go to the community it pretends to belong to.
        collusion: Share of a bot's links that go to its farm.
        voice: How far the features of communities and scripts lie apart, in standard deviations of the noise.
        signal: How far the features of bots are shifted, in standard deviations of the noise.
        exponent: Of the power law of popularity.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     WebGraph(nodes=200, channels=4).write(f"{folder}/web")["x"].shape
        (200, 4)
    """

    nodes: int = 1_000_000
    random_state: int = 0
    links: float = 6.0
    channels: int = 32
    bots: float = 0.14
    community_size: int = 500
    farm_size: int = 50
    loyalty: float = 0.8
    camouflage: float = 0.3
    collusion: float = 0.4
    voice: float = 1.5
    signal: float = 0.8
    exponent: float = 2.5

    def __post_init__(self) -> None:
        for name in ("channels", "community_size", "farm_size"):
            check_integer(name, getattr(self, name), 1)
        check_integer("nodes", self.nodes, 2 * self.farm_size)
        check_integer("random_state", self.random_state, 0)
        if self.links < 1 or self.exponent <= 2:
            raise ParameterError(
                f"links must be at least 1 and exponent more than 2; got {self.links} and {self.exponent}."
            )
        shares = (self.bots, self.loyalty, self.camouflage, self.collusion, self.camouflage + self.collusion)
        if not all(0 <= share <= 1 for share in shares) or not 0 < self.bots < 1:
            raise ParameterError("bots, loyalty and camouflage + collusion are shares, from 0 to 1.")

    def write(self, folder: str | Path) -> CSRGraph:
        """Draw the graph into a folder, and open it; ``community`` and ``farm`` tell what was planted."""
        users = _Users(self)
        with new_graph(folder, {"generator": "web graph", **asdict(self)}) as files:
            undirected_csr(partial(users.edges, self), self.nodes, files.array)
            _write_nodes(self, users, files)
            files.forget("repeated")
        return CSRGraph.open(folder)


class _Users:
    """All that is drawn for every user; a few numbers each."""

    def __init__(self, graph: WebGraph) -> None:
        draw = np.random.default_rng(new_key(graph.random_state, 0))
        n = graph.nodes
        self.bot = draw.random(n) < graph.bots
        if self.bot.all() or not self.bot.any():
            raise ParameterError(f"of {n} users, bots={graph.bots} made all bots or none.", "Draw more users.")
        self.popularity = _power_law(draw, n, graph.exponent)
        activity = _power_law(draw, n, graph.exponent)
        self.links = draw.poisson(graph.links * activity / activity.mean())
        sizes = _power_law(draw, max(2, n // graph.community_size), graph.exponent)
        self.community = draw.choice(sizes.size, n, p=sizes / sizes.sum())
        farms = max(2, round(n * graph.bots) // graph.farm_size)
        self.farm = np.where(self.bot, draw.integers(0, farms, n), -1)
        bots = [1 - graph.camouflage - graph.collusion, graph.camouflage, graph.collusion]
        self.habits = np.cumsum([[1 - graph.loyalty, graph.loyalty, 0.0], bots], 1)
        everyone = np.zeros(n, np.int64)
        # Farms do not care for popularity: their bots follow each other evenly.
        self.places = (
            _places(everyone, self.popularity),
            _places(self.community, self.popularity),
            _places(self.farm, np.ones(n)),
        )

    def edges(self, graph: WebGraph) -> Iterator[Edges]:
        """All links, chunk by chunk, the same ones at every call."""
        key, group = new_key(graph.random_state, 1), self.bot.astype(np.int64)
        for begin in range(0, graph.nodes, CHUNK):
            end = min(begin + CHUNK, graph.nodes)
            yield _draw_links(begin, end, key, self.links, group, self.habits, self.places)


def _power_law(draw: np.random.Generator, size: int, exponent: float) -> Numbers:
    """Numbers of at least 1 with a power-law tail, cut where a single one would be expected among all."""
    values = (1 - draw.random(size)) ** (-1 / (exponent - 1))
    limited: Numbers = np.minimum(values, size ** (1 / (exponent - 1)))
    return limited


def _places(group: Index, popularity: Numbers) -> tuple[Index, Numbers, Index, Index]:
    """Members by group, their cumulative popularity, and for every node where its group begins and ends."""
    members = np.argsort(group, kind="stable")
    ordered = group[members]
    first, last = (np.searchsorted(ordered, group, side=side) for side in ("left", "right"))  # type: ignore[call-overload]
    return members, np.concatenate([[0.0], np.cumsum(popularity[members])]), first, last


def _write_nodes(graph: WebGraph, users: _Users, files: GraphFiles) -> None:
    """Features, classes and splits, a chunk of users at a time."""
    n, width = graph.nodes, graph.channels
    draw = np.random.default_rng(new_key(graph.random_state, 2))
    number = {name: int(getattr(users, name).max()) + 1 for name in ("community", "farm")}
    topics, scripts = (graph.voice * _directions(draw, groups, width) for groups in number.values())
    shift = graph.signal * _directions(draw, 1, width)
    x, y = files.array("x", (n, width), np.float32), files.array("y", (n,), np.int64)
    for begin in range(0, n, CHUNK):
        part = slice(begin, begin + CHUNK)
        bot = users.bot[part, None]
        noise = draw.standard_normal((bot.size, width))
        x[part] = noise + np.where(bot, shift + scripts[users.farm[part]], topics[users.community[part]])
    y[:] = users.bot
    for name in number:
        files.array(name, (n,), np.int64)[:] = getattr(users, name)
    lot, begin_share = draw.permutation(n) / n, 0.0
    for name, share in SPLIT.items():
        files.array(name, (n,), np.bool_)[:] = (lot >= begin_share) & (lot < begin_share + share)
        begin_share += share


def _directions(draw: np.random.Generator, number: int, width: int) -> Numbers:
    """Random vectors of length 1."""
    vectors = draw.standard_normal((number, width))
    unit: Numbers = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return unit


@njit(cache=True, nogil=True)
def _draw_links(begin: int, end: int, key: Any, links: Any, group: Any, habits: Any, places: Any) -> Any:
    """Sources and targets of all links that the nodes from ``begin`` to ``end - 1`` make.

    ``habits (groups, 3)`` are cumulative shares of links that go anywhere, into the community and into the farm;
    ``places`` has what :func:`_places` gives for each of these three.
    """
    total = links[begin:end].sum()
    source, target = np.empty(total, np.int64), np.empty(total, np.int64)
    e = 0
    for v in range(begin, end):
        state = stream(key, v)
        for _ in range(links[v]):
            state = advance(state)
            kind = np.searchsorted(habits[group[v]], uniform(state), side="right")
            members, popularity, first, last = places[kind]
            low, high = popularity[first[v]], popularity[last[v]]
            state = advance(state)
            place = np.searchsorted(popularity, low + (high - low) * uniform(state), side="right") - 1
            source[e], target[e] = v, members[min(max(place, first[v]), last[v] - 1)]
            e += 1
    return source, target
