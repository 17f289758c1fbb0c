r"""Label sequences of walks: how often each is walked, and one number for each, alike in all blocks of graphs.

:math:`\phi_i(G)[l_0 \ldots l_i]` weighs the walks of ``i`` edges that meet these labels, so that
:math:`K^{(i)}(G, H) = \phi_i(G) \cdot \phi_i(H)` exactly and a Gram matrix needs no pass over pairs.

A sequence is its prefix plus one edge label and one node label, so a tree of small integers numbers them all; no
sequence is ever written out, and long ones cannot overflow. Every block of graphs grows its own tree; :func:`merge`
makes one of them, and :meth:`SequenceTree.locate` finds one tree's sequences in another.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rwkplus.saving import array
from rwkplus.table.arrays import GraphArrays, Ints


class Level(NamedTuple):
    """Sequences of one length in ascending order of (prefix, edge label, node label)."""

    prefix: Ints  # number of the prefix on the level before; -1 for one that is not there
    edge: Ints
    label: Ints  # -1 where the kernel does not compare this node (inner nodes of RWK-)

    def renumbered(self, prefix: Ints) -> "Level":
        """Replace the numbers of the prefixes."""
        return Level(prefix[self.prefix], self.edge, self.label)

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

    def check(self, num_prefixes: int, num_labels: int, num_edge_labels: int, *, least_label: int) -> None:
        """Raise ``ValueError`` unless these are distinct sequences, in order, made of what there is."""
        if len({part.shape for part in self}) != 1:
            raise ValueError("its label sequences do not fit together")
        lowest, highest = (0, 0, least_label), (num_prefixes, num_edge_labels, num_labels)
        for part, low, high in zip(self, lowest, highest, strict=True):
            if (part < low).any() or (part >= high).any():
                raise ValueError("its label sequences name labels or prefixes that are not there")
        if (np.diff(_keys([self])[0]) <= 0).any():
            raise ValueError("its label sequences are not in order")


@dataclass(frozen=True)
class SequenceTree:
    """All label sequences met: ``sequences[i]`` has ``i`` edges and extends ``prefixes[i - 1]``."""

    prefixes: list[Level]
    sequences: list[Level]

    def to_arrays(self) -> dict[str, Ints]:
        """Return what :meth:`from_arrays` takes.

        >>> from rwkplus.table import GraphTable, Reader
        >>> table = GraphTable.of(["CCO"])
        >>> arrays = Reader.fit(table).read(table)
        >>> tree = count_walks(arrays, 2).tree
        >>> len(SequenceTree.from_arrays(tree.to_arrays(), 2, num_labels=2, num_edge_labels=1).sequences)
        3
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

        def level(kind: str, i: int, before: int) -> Level:
            found = Level(*(array(arrays, f"{kind}.{i}.{name}", "i", 1) for name in Level._fields))
            inner = kind == "prefixes" and i > 0
            found.check(before, num_labels, num_edge_labels, least_label=-1 if inner else 0)
            return found

        prefixes: list[Level] = []
        for i in range(steps):
            prefixes.append(level("prefixes", i, prefixes[-1].label.size if prefixes else 1))
        sizes = [1, *(part.label.size for part in prefixes)]
        return cls(prefixes, [level("sequences", i, size) for i, size in enumerate(sizes)])

    def locate(self, other: "SequenceTree") -> Iterator[Ints]:
        """Yield, length by length, the number here of each of the other's sequences, -1 for unknown ones."""
        prefix = np.zeros(1, np.int64)
        for length, level in enumerate(other.sequences):
            yield self.sequences[length].find(level.renumbered(prefix))
            if length < len(other.prefixes):
                prefix = self.prefixes[length].find(other.prefixes[length].renumbered(prefix))

    def names(self, node_names: Sequence[str], edge_names: Sequence[str] | None) -> list[list[str]]:
        """Readable sequences such as ``C-C=O`` by length; ``*`` stands for a node that is not compared."""

        def written(level: Level, before: list[str]) -> list[str]:
            return [
                before[prefix] + _link(edge, edge_names) + (node_names[label] if label >= 0 else "*")
                for prefix, edge, label in zip(*map(np.ndarray.tolist, level), strict=True)
            ]

        prefixes = [node_names[label] for label in self.prefixes[0].label.tolist()]
        names = [list(prefixes)]
        for length in range(1, len(self.sequences)):
            names.append(written(self.sequences[length], prefixes))
            if length < len(self.prefixes):
                prefixes = written(self.prefixes[length], prefixes)
        return names


def merge(trees: Sequence[SequenceTree]) -> SequenceTree:
    """Join the sequences of several trees into one.

    >>> from rwkplus.table import GraphTable, Reader
    >>> table = GraphTable.of(["CC", "CO"])
    >>> reader = Reader.fit(table)
    >>> parts = [count_walks(reader.read(graph), 1).tree for graph in table]
    >>> [len(level.label) for level in merge(parts).sequences]
    [2, 3]
    """
    renumber = [np.zeros(1, np.int64)] * len(trees)
    prefixes: list[Level] = []
    sequences: list[Level] = []
    for length in range(len(trees[0].sequences)):
        parts = [tree.sequences[length].renumbered(new) for tree, new in zip(trees, renumber, strict=True)]
        sequences.append(_union(parts))
        if length < len(trees[0].prefixes):
            parts = [tree.prefixes[length].renumbered(new) for tree, new in zip(trees, renumber, strict=True)]
            prefixes.append(_union(parts))
            renumber = [prefixes[-1].find(part) for part in parts]
    return SequenceTree(prefixes, sequences)


def _union(levels: list[Level]) -> Level:
    _, first = np.unique(np.concatenate(_keys(levels)), return_index=True)
    return Level(*(np.concatenate(column)[first] for column in zip(*levels, strict=True)))


def _keys(levels: list[Level]) -> list[Ints]:
    """One number per sequence that sorts like (prefix, edge label, node label), alike for all levels."""
    num_labels = max(int(level.label.max(initial=-1)) for level in levels) + 2
    num_edges = max(int(level.edge.max(initial=-1)) for level in levels) + 1
    return [(level.prefix * num_edges + level.edge) * num_labels + level.label + 1 for level in levels]


def _link(edge: int, names: Sequence[str] | None) -> str:
    if names is None:
        return "-"
    name = names[edge]
    return name if len(name) == 1 and not name.isalnum() else f"-[{name}]-"


@dataclass(frozen=True)
class WalkCounts:
    """The sequences of some graphs and, per length, their weighted counts: sparse ``(B, S_i)``."""

    tree: SequenceTree
    counts: list[sparse.csr_matrix]


def count_walks(graphs: GraphArrays, steps: int, *, match_all: bool = True, closed: bool = False) -> WalkCounts:
    """Count the label sequences of all walks of 0 to ``steps`` edges.

    Args:
        graphs: Labelled graphs; an edge labelled -1 lets no walk pass, a node labelled -1 none that compares it.
        steps: Longest walk, counted in edges.
        match_all: Record the label of every node (RWK+) or only of the two ends (RWK-).
        closed: Only walks that end where they began.

    >>> from rwkplus.table import GraphTable, Reader
    >>> table = GraphTable.of(["CCO"])
    >>> arrays = Reader.fit(table).read(table)
    >>> counted = count_walks(arrays, 1)
    >>> dict(zip(counted.tree.names("CO", "-")[1], counted.counts[1].toarray()[0].tolist(), strict=True))
    {'C-C': 2.0, 'C-O': 1.0, 'O-C': 1.0}
    """
    edges = _Edges.of(graphs, match_all)
    last = edges.into_labelled()
    alive = np.flatnonzero(graphs.label >= 0)
    labels, found = number(graphs.label[alive])
    at_node = sparse.csr_matrix((np.ones(alive.size), (alive, found)), shape=(graphs.num_nodes, labels.size))
    in_graph = sparse.csr_matrix(
        (np.ones(graphs.num_nodes), np.arange(graphs.num_nodes), graphs.node_ptr),
        shape=(graphs.num_graphs, graphs.num_nodes),
    )
    root = Level(np.zeros_like(labels), np.zeros_like(labels), labels)
    prefixes, sequences, counts = [root], [root], [in_graph @ at_node]
    walks = _Walks.closed(alive, found, graphs.num_nodes) if closed else _Walks.open(at_node)
    for step in range(1, steps + 1):
        ended = last.return_to_start(walks, graphs) if closed else last.end(walks, graphs)
        keys, found = number(walks.prefix[ended.column] * edges.base + ended.met)
        sequences.append(edges.level(keys))
        counts.append(ended.as_matrix(found, keys.size))
        if step < steps:
            walks, keys = edges.move(walks, graphs, match_all)
            prefixes.append(edges.level(keys))
    return WalkCounts(SequenceTree(prefixes, sequences), counts)


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


@dataclass(frozen=True)
class _Walks:
    """Walks so far, by the node they stand on: a column per prefix, or per first node and prefix."""

    state: sparse.csr_matrix  # (N, columns)
    prefix: Ints  # prefix of each column
    start: Ints | None  # first node of each column, where only closed walks count

    @classmethod
    def open(cls, at_node: sparse.csr_matrix) -> "_Walks":
        return cls(at_node, np.arange(at_node.shape[1]), None)

    @classmethod
    def closed(cls, alive: Ints, label: Ints, num_nodes: int) -> "_Walks":
        ones, column = np.ones(alive.size), np.arange(alive.size)
        state = sparse.csr_matrix((ones, (alive, column)), shape=(num_nodes, alive.size))
        return cls(state, label, alive)


@dataclass(frozen=True)
class _Extended:
    """Walks that took one more edge: whose they are, the column they come from, the labels they met."""

    owner_ptr: Ints  # (owners + 1,)
    column: Ints
    met: Ints
    weight: NDArray[np.float64]

    def as_matrix(self, column: Ints, num_columns: int) -> sparse.csr_matrix:
        shape = (self.owner_ptr.size - 1, num_columns)
        matrix = sparse.csr_matrix((self.weight, column, self.owner_ptr), shape=shape)
        matrix.sum_duplicates()
        return matrix


@dataclass(frozen=True)
class _Edges:
    """Edges that some walk can take, and what it meets when it does."""

    source: Ints
    target: Ints
    weight: NDArray[np.float64]
    edge_label: Ints
    label: Ints  # of the target
    label_base: int
    base: int  # edge label and node label make one number below this

    @classmethod
    def of(cls, graphs: GraphArrays, match_all: bool) -> "_Edges":
        edge_label = np.zeros_like(graphs.source) if graphs.edge_label is None else graphs.edge_label
        passable = edge_label >= 0
        if match_all:  # RWK- compares no inner node, so a walk may pass one without a label
            passable &= (graphs.label[graphs.source] >= 0) & (graphs.label[graphs.target] >= 0)
        source, target = graphs.source[passable], graphs.target[passable]
        weight = np.ones(source.size) if graphs.weight is None else graphs.weight[passable]
        label_base = graphs.num_labels + 1
        base = graphs.num_edge_labels * label_base
        return cls(source, target, weight, edge_label[passable], graphs.label[target], label_base, base)

    def into_labelled(self) -> "_Edges":
        """Only the edges a walk can end with: its last node is compared by every kernel."""
        kept = self.label >= 0
        if kept.all():
            return self
        return replace(
            self,
            source=self.source[kept],
            target=self.target[kept],
            weight=self.weight[kept],
            edge_label=self.edge_label[kept],
            label=self.label[kept],
        )

    def end(self, walks: _Walks, graphs: GraphArrays) -> _Extended:
        """All walks over one more edge, by graph: no need to know on which node they end."""
        return self._extend(walks, graphs.graph[self.target], graphs.num_graphs, self.label)

    def return_to_start(self, walks: _Walks, graphs: GraphArrays) -> _Extended:
        """Only those walks over one more edge that are back on their first node, by graph."""
        moved = self._extend(walks, self.target, graphs.num_nodes, self.label)
        assert walks.start is not None
        node = np.repeat(np.arange(graphs.num_nodes), np.diff(moved.owner_ptr))
        back = walks.start[moved.column] == node
        kept = np.concatenate([[0], np.cumsum(back)])
        graph_ptr = kept[moved.owner_ptr[graphs.node_ptr]]
        return _Extended(graph_ptr, moved.column[back], moved.met[back], moved.weight[back])

    def move(self, walks: _Walks, graphs: GraphArrays, match_all: bool) -> tuple[_Walks, Ints]:
        """All walks over one more edge, by the node they stand on; and the keys of their prefixes."""
        label = self.label if match_all else np.full_like(self.label, -1)  # -1: not compared
        moved = self._extend(walks, self.target, graphs.num_nodes, label)
        columns, found = number(moved.column * self.base + moved.met)
        keys, prefix = number(walks.prefix[columns // self.base] * self.base + columns % self.base)
        start = None if walks.start is None else walks.start[columns // self.base]
        return _Walks(moved.as_matrix(found, columns.size), prefix, start), keys

    def level(self, keys: Ints) -> Level:
        """Take keys apart into prefix, edge label and node label."""
        met = keys % self.base
        return Level(keys // self.base, met // self.label_base, met % self.label_base - 1)

    def _extend(self, walks: _Walks, owner: Ints, num_owners: int, label: Ints) -> _Extended:
        """Send every walk over every edge; add up what has one owner, column and labels met."""
        met = self.edge_label * self.label_base + label + 1
        rows, row = number(owner * self.base + met)
        step = sparse.csr_matrix((self.weight, (row, self.source)), shape=(rows.size, walks.state.shape[0]))
        walked = step @ walks.state
        owner_ptr = walked.indptr[np.searchsorted(rows, np.arange(num_owners + 1) * self.base)]
        met_by_entry = np.repeat(rows % self.base, np.diff(walked.indptr))
        return _Extended(owner_ptr.astype(np.int64), walked.indices.astype(np.int64), met_by_entry, walked.data)
