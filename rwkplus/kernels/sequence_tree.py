"""Numbers for label sequences of any length, consistent between blocks of graphs, fit and transform.

A sequence is its prefix plus one edge label and one node label, so a tree of small integers numbers them
all; no sequence is ever written out, and long ones cannot overflow. Every block of graphs grows its own
tree; :func:`merge` makes one of them, and :meth:`SequenceTree.locate` finds one tree's sequences in another.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rwkplus.table.arrays import Ints


class Level(NamedTuple):
    """Sequences of one length in ascending order of (prefix, edge label, node label)."""

    prefix: Ints  # number of the prefix on the level before; -1 for one that is not there
    edge: Ints
    label: Ints  # -1 where the kernel does not compare this node (inner nodes of RWK-)

    def renumbered(self, prefix: Ints) -> "Level":
        """Replace the numbers of the prefixes."""
        return Level(prefix[self.prefix], self.edge, self.label)

    def find(self, other: "Level") -> Ints:
        """Place of each of the other's sequences on this level, -1 where it is not."""
        mine, theirs = _keys([self, other])
        if not mine.size:
            return np.full(theirs.size, -1)
        place = np.minimum(np.searchsorted(mine, theirs), mine.size - 1)
        return np.where((mine[place] == theirs) & (other.prefix >= 0), place, -1)


@dataclass(frozen=True)
class SequenceTree:
    """All label sequences met: ``sequences[i]`` has ``i`` edges and extends ``prefixes[i - 1]``."""

    prefixes: list[Level]
    sequences: list[Level]

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
    """Join the sequences of several trees into one."""
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
