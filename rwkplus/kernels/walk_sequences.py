r"""Label sequences of walks: how often each is walked, and one number for each, alike in all blocks of graphs.

:math:`\phi_i(G)[l_0 \ldots l_i]` weighs the walks of ``i`` edges that meet these labels, so that
:math:`K^{(i)}(G, H) = \phi_i(G) \cdot \phi_i(H)` exactly and a Gram matrix needs no pass over pairs.

A sequence is its prefix plus one edge label and one node label, so a tree of small integers numbers them all; no
sequence is ever written out, and long ones cannot overflow. Every block of graphs grows its own tree;
:meth:`SequenceTree.merged` makes one of them, :meth:`SequenceTree.locate` finds one tree's sequences in another.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rwkplus.loops.random_streams import STEP, mix
from rwkplus.saving import array
from rwkplus.table.arrays import Codes, Floats, GraphArrays, Ints

T = TypeVar("T")


class Level(NamedTuple):
    """Sequences of one length in ascending order of (prefix, edge label, node label)."""

    prefix: Ints  # number of the prefix on the level before; -1 for one that is not there
    edge: Ints
    label: Ints  # -1 where the kernel does not compare this node (inner nodes of RWK-)

    def find(self, other: "Level") -> Ints:
        """Place of each of the other's sequences on this level, -1 where it is not.

        >>> zeros = np.zeros(3, int)
        >>> Level(zeros, zeros, np.array([1, 2, 5])).find(Level(zeros[:2], zeros[:2], np.array([5, 6])))
        array([ 2, -1])
        """
        mine, theirs = _keys([self, other])
        if not mine.size:
            return np.full(theirs.size, -1)
        place = np.minimum(np.searchsorted(mine, theirs), mine.size - 1)
        return np.where((mine[place] == theirs) & (other.prefix >= 0), place, -1)

    def after(self, prefix: Ints) -> "Level":
        """The same sequences, their prefixes numbered anew."""
        return self._replace(prefix=prefix[self.prefix])


@dataclass(frozen=True)
class SequenceTree:
    """All label sequences met: ``sequences[i]`` has ``i`` edges and extends ``prefixes[i - 1]``."""

    prefixes: list[Level]
    sequences: list[Level]

    @property
    def sizes(self) -> list[int]:
        """Number of sequences of each length."""
        return [level.label.size for level in self.sequences]

    def to_arrays(self) -> dict[str, Ints]:
        """Return what :meth:`from_arrays` takes.

        >>> from rwkplus.table import GraphTable, Reader
        >>> table = GraphTable.of(["CCO"])
        >>> tree = count_walks(Reader.fit(table).read(table), 2).tree
        >>> SequenceTree.from_arrays(tree.to_arrays(), 2, num_labels=2, num_edge_labels=1).sizes
        [2, 3, 5]
        """
        kinds = {"prefixes": self.prefixes, "sequences": self.sequences}
        return {
            f"{kind}.{i}.{name}": part
            for kind, levels in kinds.items()
            for i, level in enumerate(levels)
            for name, part in level._asdict().items()
        }

    @classmethod
    def from_arrays(
        cls, arrays: Mapping[str, NDArray[Any]], steps: int, num_labels: int, num_edge_labels: int
    ) -> "SequenceTree":
        """Read what :meth:`to_arrays` returned; ``KeyError`` or ``ValueError`` where it is not a tree of ``steps``."""

        def _level(name: str, num_prefixes: int, least_label: int) -> Level:
            found = Level(*(array(arrays, f"{name}.{part}", "i", 1) for part in Level._fields))
            if len({part.shape for part in found}) != 1:
                raise ValueError("its label sequences do not fit together")
            lowest, highest = (0, 0, least_label), (num_prefixes, num_edge_labels, num_labels)
            for part, low, high in zip(found, lowest, highest, strict=True):
                if (part < low).any() or (part >= high).any():
                    raise ValueError("its label sequences name labels or prefixes that are not there")
            if (np.diff(_keys([found])[0]) <= 0).any():
                raise ValueError("its label sequences are not in order")
            return found

        prefixes: list[Level] = []
        for i in range(steps):
            prefixes.append(_level(f"prefixes.{i}", prefixes[-1].label.size if prefixes else 1, -1 if i else 0))
        sizes = [1, *(part.label.size for part in prefixes)]
        return cls(prefixes, [_level(f"sequences.{i}", size, 0) for i, size in enumerate(sizes)])

    def locate(self, other: "SequenceTree") -> Iterator[Ints]:
        """Yield, length by length, the number here of each of the other's sequences, -1 for unknown ones."""
        prefix = np.zeros(1, np.int64)
        for length, level in enumerate(other.sequences):
            yield self.sequences[length].find(level.after(prefix))
            if length < len(other.prefixes):
                prefix = self.prefixes[length].find(other.prefixes[length].after(prefix))

    def names(self, node_names: Sequence[str], edge_names: Sequence[str] | None) -> list[list[str]]:
        """Readable sequences such as ``C-C=O`` by length; ``*`` stands for a node that is not compared."""
        links = ["-"] if edge_names is None else [_link(name) for name in edge_names]
        written = partial(_written, nodes=[*node_names, "*"], links=links)
        prefixes = [node_names[label] for label in self.prefixes[0].label.tolist()]
        names = [list(prefixes)]
        for length in range(1, len(self.sequences)):
            names.append(written(self.sequences[length], prefixes))
            if length < len(self.prefixes):
                prefixes = written(self.prefixes[length], prefixes)
        return names

    def hashes(self, graphs: GraphArrays) -> Iterator[Codes]:
        """Yield, length by length, a 64-bit hash of every sequence, the same everywhere; ``graphs`` tell the labels."""
        before = np.zeros(1, np.uint64)
        for length, level in enumerate(self.sequences):
            yield _hashed(before, level, graphs)
            if length < len(self.prefixes):
                before = _hashed(before, self.prefixes[length], graphs)

    @classmethod
    def merged(cls, trees: Sequence["SequenceTree"]) -> "SequenceTree":
        """Join the sequences of several trees into one.

        >>> from rwkplus.table import GraphTable, Reader
        >>> table = GraphTable.of(["CC", "CO"])
        >>> reader = Reader.fit(table)
        >>> SequenceTree.merged([count_walks(reader.read(graph), 1).tree for graph in table]).sizes
        [2, 3]
        """
        renumber = [np.zeros(1, np.int64)] * len(trees)
        prefixes: list[Level] = []
        sequences: list[Level] = []
        for length in range(len(trees[0].sequences)):
            sequences.append(
                _union([tree.sequences[length].after(new) for tree, new in zip(trees, renumber, strict=True)])
            )
            if length < len(trees[0].prefixes):
                parts = [tree.prefixes[length].after(new) for tree, new in zip(trees, renumber, strict=True)]
                prefixes.append(_union(parts))
                renumber = [prefixes[-1].find(part) for part in parts]
        return cls(prefixes, sequences)


def _union(levels: list[Level]) -> Level:
    _, first = np.unique(np.concatenate(_keys(levels)), return_index=True)
    return Level(*(np.concatenate(column)[first] for column in zip(*levels, strict=True)))


def _keys(levels: list[Level]) -> list[Ints]:
    """One number per sequence that sorts like (prefix, edge label, node label), alike for all levels."""
    num_labels = max(int(level.label.max(initial=-1)) for level in levels) + 2
    num_edges = max(int(level.edge.max(initial=-1)) for level in levels) + 1
    return [(level.prefix * num_edges + level.edge) * num_labels + level.label + 1 for level in levels]


def _hashed(before: Codes, level: Level, graphs: GraphArrays) -> Codes:
    hashed = before[level.prefix]
    for code in (graphs.edge_label_code[level.edge], graphs.label_code[level.label]):
        hashed = mix(hashed + (code + np.uint64(2)) + STEP)
    return hashed


def _link(name: str) -> str:
    return name if len(name) == 1 and not name.isalnum() else f"-[{name}]-"


def _written(level: Level, before: list[str], nodes: list[str], links: list[str]) -> list[str]:
    """Sequences from their prefixes; a label of -1 is the last of the nodes."""
    parts = zip(*map(np.ndarray.tolist, level), strict=True)
    return [before[prefix] + links[edge] + nodes[label] for prefix, edge, label in parts]


class Counted(NamedTuple, Generic[T]):
    """What occurs in some graphs and, per number of steps, how often: sparse ``(B, F_i)``."""

    tree: T
    counts: list[sparse.csr_matrix]


def count_walks(
    graphs: GraphArrays, steps: int, *, match_all: bool = True, closed: bool = False
) -> Counted[SequenceTree]:
    """Count the label sequences of all walks of 0 to ``steps`` edges.

    An edge labelled -1 lets no walk pass, a node labelled -1 none that compares it. ``match_all`` records the label of
    every node (RWK+) or only of the two ends (RWK-); ``closed`` counts only walks that end where they began.

    >>> from rwkplus.table import GraphTable, Reader
    >>> table = GraphTable.of(["CCO"])
    >>> arrays = Reader.fit(table).read(table)
    >>> counted = count_walks(arrays, 1)
    >>> dict(zip(counted.tree.names("CO", "-")[1], counted.counts[1].toarray()[0].tolist(), strict=True))
    {'C-C': 2.0, 'C-O': 1.0, 'O-C': 1.0}
    """
    edges = _edges(graphs, inner=match_all)
    last = edges if match_all else _edges(graphs, inner=False, ends=True)
    alive = np.flatnonzero(graphs.label >= 0)
    labels, found = number(graphs.label[alive])
    at_node = sparse.csr_matrix((np.ones(alive.size), (alive, found)), shape=(graphs.num_nodes, labels.size))
    in_graph = sparse.csr_matrix(
        (np.ones(graphs.num_nodes), np.arange(graphs.num_nodes), graphs.node_ptr),
        shape=(graphs.num_graphs, graphs.num_nodes),
    )
    root = Level(np.zeros_like(labels), np.zeros_like(labels), labels)
    prefixes, sequences, counts = [root], [root], [in_graph @ at_node]
    walks = _Walks(at_node, np.arange(labels.size), None)
    if closed:
        at_start = (np.ones(alive.size), (alive, np.arange(alive.size)))
        walks = _Walks(sparse.csr_matrix(at_start, shape=(graphs.num_nodes, alive.size)), found, alive)
    for step in range(1, steps + 1):
        if closed:
            ended = _returned(last, walks, graphs)
        else:  # by graph: no need to know on which node they end
            ended = _extended(last, walks, graphs.graph[last.target], graphs.num_graphs, last.label)
        keys, found = number(walks.prefix[ended.column] * edges.base + ended.met)
        sequences.append(_level(edges, keys))
        counts.append(_matrix(ended, found, keys.size))
        if step < steps:
            walks, keys = _moved(edges, walks, graphs, match_all)
            prefixes.append(_level(edges, keys))
    return Counted(SequenceTree(prefixes, sequences), counts)


def number(keys: Ints) -> tuple[Ints, Ints]:
    """Return the distinct keys in ascending order and, for every key, its place among them.

    >>> number(np.array([7, 3, 7]))
    (array([3, 7]), array([1, 0, 1]))
    """
    bound = int(keys.max(initial=-1)) + 1
    if bound > 16 * keys.size + 1_000_000:
        distinct, place = np.unique(keys, return_inverse=True)
        return distinct, place
    present = np.zeros(bound, bool)  # dense keys: marking them is several times faster than sorting
    present[keys] = True
    return np.flatnonzero(present), (np.cumsum(present) - 1)[keys]


class _Walks(NamedTuple):
    """Walks so far, by the node they stand on: a column per prefix, or per first node and prefix."""

    state: sparse.csr_matrix  # (N, columns)
    prefix: Ints  # prefix of each column
    start: Ints | None  # first node of each column, where only closed walks count


class _Extended(NamedTuple):
    """Walks that took one more edge: whose they are, the column they come from, the labels they met."""

    owner_ptr: Ints  # (owners + 1,)
    column: Ints
    met: Ints
    weight: Floats


class _Edges(NamedTuple):
    """Edges that some walk can take, and what it meets when it does."""

    source: Ints
    target: Ints
    weight: Floats
    edge_label: Ints
    label: Ints  # of the target
    label_base: int
    base: int  # edge label and node label make one number below this


def _edges(graphs: GraphArrays, *, inner: bool, ends: bool = False) -> _Edges:
    """All edges or, if ``inner`` nodes are compared, those between labels; of ``ends``, those into a label."""
    edge_label = np.zeros_like(graphs.source) if graphs.edge_label is None else graphs.edge_label
    passable = edge_label >= 0
    if inner:  # RWK- compares no inner node, so a walk may pass one without a label
        passable &= (graphs.label[graphs.source] >= 0) & (graphs.label[graphs.target] >= 0)
    elif ends:
        passable &= graphs.label[graphs.target] >= 0
    source, target = graphs.source[passable], graphs.target[passable]
    weight = np.ones(source.size) if graphs.weight is None else graphs.weight[passable]
    label_base = graphs.num_labels + 1
    base = graphs.num_edge_labels * label_base
    return _Edges(source, target, weight, edge_label[passable], graphs.label[target], label_base, base)


def _extended(edges: _Edges, walks: _Walks, owner: Ints, num_owners: int, label: Ints) -> _Extended:
    """Send every walk over every edge; add up what has one owner, column and labels met."""
    met = edges.edge_label * edges.label_base + label + 1
    rows, row = number(owner * edges.base + met)
    step = sparse.csr_matrix((edges.weight, (row, edges.source)), shape=(rows.size, walks.state.shape[0]))
    walked = step @ walks.state
    owner_ptr = walked.indptr[np.searchsorted(rows, np.arange(num_owners + 1) * edges.base)]
    met_by_entry = np.repeat(rows % edges.base, np.diff(walked.indptr))
    return _Extended(owner_ptr.astype(np.int64), walked.indices.astype(np.int64), met_by_entry, walked.data)


def _returned(edges: _Edges, walks: _Walks, graphs: GraphArrays) -> _Extended:
    """Only those walks over one more edge that are back on their first node, by graph."""
    moved = _extended(edges, walks, edges.target, graphs.num_nodes, edges.label)
    assert walks.start is not None
    node = np.repeat(np.arange(graphs.num_nodes), np.diff(moved.owner_ptr))
    back = walks.start[moved.column] == node
    kept = np.concatenate([[0], np.cumsum(back)])
    graph_ptr = kept[moved.owner_ptr[graphs.node_ptr]]
    return _Extended(graph_ptr, moved.column[back], moved.met[back], moved.weight[back])


def _moved(edges: _Edges, walks: _Walks, graphs: GraphArrays, match_all: bool) -> tuple[_Walks, Ints]:
    """All walks over one more edge, by the node they stand on; and the keys of their prefixes."""
    label = edges.label if match_all else np.full_like(edges.label, -1)  # -1: not compared
    moved = _extended(edges, walks, edges.target, graphs.num_nodes, label)
    columns, found = number(moved.column * edges.base + moved.met)
    keys, prefix = number(walks.prefix[columns // edges.base] * edges.base + columns % edges.base)
    start = None if walks.start is None else walks.start[columns // edges.base]
    return _Walks(_matrix(moved, found, columns.size), prefix, start), keys


def _level(edges: _Edges, keys: Ints) -> Level:
    """Take keys apart into prefix, edge label and node label."""
    met = keys % edges.base
    return Level(keys // edges.base, met // edges.label_base, met % edges.label_base - 1)


def _matrix(walks: _Extended, column: Ints, num_columns: int) -> sparse.csr_matrix:
    shape = (walks.owner_ptr.size - 1, num_columns)
    matrix = sparse.csr_matrix((walks.weight, column, walks.owner_ptr), shape=shape)
    matrix.sum_duplicates()
    return matrix
