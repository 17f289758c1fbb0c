r"""A database as hidden graphs see it: features of its nodes in several views, or colors of nodes and walks along them.

The explained fraction reads a database only through matrices :math:`\sum_G \phi(G) \phi(G)^\top / K_{GG}` over color
sequences. Nodes of one color therefore merge into prefixes of sequences, graphs with equal walk features merge, and
a root of that matrix, of rank ``r``, stands for all graphs: :math:`K_{GW}` becomes ``r`` rows instead of one per graph.
The compressed size does not grow with the database, and the compression is exact.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import Literal, Self, get_args

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse
from torch import Tensor
from torch_geometric.data import Batch

from rwkplus.errors import GraphError, ParameterError, Remedy
from rwkplus.functional.colors import identity_colors, structural_colors
from rwkplus.functional.objectives import (
    PrefixLevel,
    explained_fraction,
    pair_closed_walks,
    pair_walks,
    sequence_closed_walks,
    sequence_walks,
)
from rwkplus.functional.walks import node_ranks
from rwkplus.io.pyg import from_pyg, is_one_hot, label_numbers
from rwkplus.kernels.walk_sequences import Level, SequenceTree, count_walks
from rwkplus.nn.kernel_conv import KernelLayer
from rwkplus.table import Reader
from rwkplus.table.arrays import GraphArrays, Ints
from rwkplus.types import check_choice

View = Literal["labels", "identity", "gat", "gin", "random-walk"]
VIEWS: tuple[View, ...] = get_args(View)
Paint = Literal["labels", "identity", "structural"]
MAX_COLORS = 512
DECIMALS = 5
Floats = NDArray[np.float64]
RANK_TOLERANCE = 1e-10
"""Singular values below this share of the largest are rounding errors."""

Term = dict[int, float]
"""Kinds of walks that one explained fraction reads side by side, each with the weight of its kernel.

Kinds are numbered: open walks of 0 to ``steps`` edges, then closed walks by length."""


@dataclass(frozen=True)
class ViewedGraphs:
    """Distinct graphs, how often each occurs, and node features of all views side by side."""

    own: Tensor  # (N, D0): the graphs' own features
    x: Tensor  # (N, D)
    widths: tuple[int, ...]  # (V,), adding up to D
    edge_index: Tensor  # (2, E)
    edge_weight: Tensor | None  # (E,)
    batch: Tensor  # (N,)
    count: Tensor  # (B,)

    @classmethod
    def of(
        cls,
        batch: Batch,
        views: Sequence[View],
        *,
        generator: torch.Generator,
        dim: int = 16,
        whiten: bool = False,
        dtype: torch.dtype = torch.float32,
    ) -> Self:
        """Color the nodes by every view in turn.

        ``"labels"`` are the graphs' own features, ``"identity"`` is the number of a node within its graph; structural
        colors are drawn from ``generator``, ``dim`` of them, perhaps whitened.
        """
        if not views or not set(views) <= set(VIEWS):
            raise ParameterError(f"views must be some of {', '.join(VIEWS)}, got {tuple(views)}.")
        _refuse_edge_labels(batch)
        parts = []
        for view in views:
            if view == "labels":
                parts.append(batch.x)
            elif view == "identity":
                parts.append(identity_colors(batch.batch))
            else:
                colors = structural_colors(
                    batch.edge_index,
                    batch.x.size(0),
                    batch=batch.batch,
                    kind=view,
                    dim=dim,
                    whiten=whiten,
                    generator=generator,
                )
                parts.append(colors)
        weight = batch.get("edge_weight")
        return cls(
            own=batch.x,
            x=torch.cat([part.to(dtype) for part in parts], 1),
            widths=tuple(part.size(1) for part in parts),
            edge_index=batch.edge_index,
            edge_weight=None if weight is None else weight.to(dtype),
            batch=batch.batch,
            count=torch.ones(batch.ptr.numel() - 1, dtype=dtype),
        )

    @property
    def num_graphs(self) -> int:
        """Number of distinct graphs."""
        return self.count.numel()

    def scores(self, layer: KernelLayer) -> Tensor:
        """Kernel of every graph with every hidden graph, view by view: ``(V, B, K)``."""
        return layer.view_scores(self.x, self.edge_index, self.batch, self.edge_weight, self.num_graphs)

    def merged(self) -> Self:
        """Keep one of every group of identical graphs and count the others with it: exact for any mean over graphs.

        Identical means equal node features and edges in the given node order; every view follows from these.
        """
        edge_graph = self.batch[self.edge_index[0]]
        first: dict[bytes, int] = {}
        group = torch.empty(self.num_graphs, dtype=torch.long)
        kept = torch.zeros(self.num_graphs, dtype=torch.bool)
        parts = zip(self._members(self.batch), self._members(edge_graph), strict=True)
        for i, (nodes_of, edges_of) in enumerate(parts):
            key = self._fingerprint(nodes_of, edges_of)
            kept[i] = key not in first
            group[i] = first.setdefault(key, len(first))
        nodes, edges = kept[self.batch], kept[edge_graph]
        new_node = nodes.cumsum(0) - 1
        new_graph = kept.cumsum(0) - 1
        return replace(
            self,
            own=self.own[nodes],
            x=self.x[nodes],
            edge_index=new_node[self.edge_index[:, edges]],
            edge_weight=None if self.edge_weight is None else self.edge_weight[edges],
            batch=new_graph[self.batch[nodes]],
            count=self.count.new_zeros(len(first)).index_add(0, group, self.count),
        )

    def _members(self, graph: Tensor) -> tuple[Tensor, ...]:
        """Places of every graph's nodes or edges, cut once for all graphs."""
        sizes: list[int] = torch.bincount(graph, minlength=self.num_graphs).tolist()
        return torch.split(graph.argsort(stable=True), sizes)

    def _fingerprint(self, nodes: Tensor, edges: Tensor) -> bytes:
        edge_index = self.edge_index[:, edges]
        if edge_index.numel():
            edge_index = edge_index - int(nodes[0])
        size = nodes.numel()
        order = (edge_index[0] * size + edge_index[1]).argsort(stable=True)
        parts = [self.own[nodes], edge_index[:, order]]
        if self.edge_weight is not None:
            parts.append(self.edge_weight[edges][order])
        return repr([part.shape for part in parts]).encode() + b"".join(part.numpy().tobytes() for part in parts)


@dataclass(frozen=True)
class CountedWalks:
    """Labeled graphs as the numbers of their walks by label sequence, which are all that kernels of labels see."""

    prefixes: tuple[PrefixLevel, ...]
    sequences: tuple[PrefixLevel, ...]
    counts: tuple[Tensor, ...]  # walks of 0, 1, ... edges, of every graph along every sequence: (B, S) each
    count: Tensor  # (B,): one each

    @classmethod
    def of(cls, batch: Batch, steps: int, *, match_all: bool, dtype: torch.dtype = torch.float32) -> Self:
        """Count the walks of up to ``steps`` edges of graphs with one-hot labels."""
        table = from_pyg(batch)
        arrays = replace(
            Reader.fit(table).read(table), label=label_numbers(batch.x).numpy(), num_labels=batch.x.size(1)
        )
        walks = count_walks(arrays, steps, match_all=match_all)
        at_start = _joins(walks.tree.sequences[0].label, batch.x.size(1))  # a column for every label, met or not
        return cls(
            tuple(_level(level) for level in walks.tree.prefixes),
            tuple(_level(level) for level in walks.tree.sequences[1:]),
            tuple(
                torch.from_numpy(counts.toarray()).to(dtype)
                for counts in (walks.counts[0] @ at_start, *walks.counts[1:])
            ),
            torch.ones(batch.ptr.numel() - 1, dtype=dtype),
        )

    @property
    def size(self) -> int:
        """Number of sequences and prefixes, which a network pays for as it does for nodes."""
        return sum(level.prefix.numel() for level in (*self.prefixes, *self.sequences))

    def scores(self, layer: KernelLayer) -> Tensor:
        """The same as :meth:`ViewedGraphs.scores` of the view ``"labels"``: ``(1, B, K)``."""
        (hidden_x,) = layer.hidden.views
        y0 = hidden_x.permute(2, 0, 1)
        levels = self.prefixes, self.sequences
        kinds = sequence_walks(y0, layer.hidden.adj, *levels, match_all=layer.kernel == "rwk+")
        if layer.include_zero_step:
            kinds.insert(0, y0.square().sum(-1))
        scores = [count @ kind for count, kind in zip(self.counts[-len(kinds) :], kinds, strict=True)]
        return layer.combined(torch.stack(scores)).unsqueeze(0)


def as_counts(batch: Batch, views: Sequence[View]) -> bool:
    """Whether :class:`CountedWalks` can stand for graphs: colors are labels, and edges count alike."""
    return tuple(views) == ("labels",) and is_one_hot(batch.x) and batch.get("edge_weight") is None


@dataclass(frozen=True)
class PaintedGraphs:
    """Undirected graphs whose nodes carry one of ``C`` colors."""

    arrays: GraphArrays  # label: number of the color
    colors: Tensor  # (C, D), float64: feature row of each color
    names: tuple[str, ...]  # label that a pattern shows for each color

    @property
    def orthonormal(self) -> bool:
        """Whether colors match themselves fully and each other not at all, as one-hot labels do."""
        return bool(torch.allclose(self.colors @ self.colors.T, torch.eye(len(self.colors)).double(), atol=1e-9))


def paint(batch: Batch, view: Paint = "labels", *, random_state: int = 0) -> PaintedGraphs:
    """Color the nodes of checked graphs.

    Args:
        batch: What :func:`rwkplus.io.pyg.as_batch` returned, with one-hot node labels.
        view: ``"labels"`` colors by label; ``"identity"`` by the number of a node within its graph;
            ``"structural"`` by whitened features of a fixed random attention network. The latter two tell nodes
            apart that no walk can, and suit graphs that are alike; a color then shows its most frequent label.
        random_state: Seed of the random network.

    >>> from torch_geometric.data import Batch, Data
    >>> edge = Data(x=torch.eye(2), edge_index=torch.tensor([[0, 1], [1, 0]]))
    >>> paint(Batch.from_data_list([edge])).names
    ('0', '1')
    """
    check_choice("view", view, Paint)
    _check_labels(batch)
    table = from_pyg(batch)
    arrays = Reader.fit(table).read(table)
    names = tuple(batch.get("node_label_names") or map(str, range(batch.x.size(1))))
    labels = label_numbers(batch.x)
    if view == "labels":
        return PaintedGraphs(arrays, torch.eye(batch.x.size(1), dtype=torch.float64), names)
    if view == "identity":
        color = node_ranks(batch.batch)
        colors = torch.eye(int(color.max()) + 1, dtype=torch.float64)
    else:
        generator = torch.Generator().manual_seed(random_state)
        # In float64, so that equal places in different graphs round to equal colors.
        start = identity_colors(batch.batch).double()
        rows = structural_colors(
            batch.edge_index, len(start), generator=generator, batch=batch.batch, x=start, whiten=True
        )
        _, color = torch.unique(rows.round(decimals=DECIMALS), dim=0, return_inverse=True)
        colors = rows.new_empty(int(color.max()) + 1, rows.size(1))
        colors[color.flip(0)] = rows.flip(0)  # of rows that round alike, the first
    if len(colors) > MAX_COLORS:
        raise GraphError(
            f"the view {view!r} gives the nodes {len(colors)} distinct colors, more than {MAX_COLORS}: it suits "
            "databases of similar graphs.",
            Remedy("Use {view}.", view="labels"),
        )
    arrays = replace(arrays, label=color.numpy(), num_labels=len(colors))
    return PaintedGraphs(arrays, colors, _shown(names, color.numpy(), labels.numpy(), len(colors)))


def _shown(names: tuple[str, ...], color: Ints, label: Ints, num_colors: int) -> tuple[str, ...]:
    votes = np.zeros((num_colors, len(names)), np.int64)
    np.add.at(votes, (color, label), 1)
    return tuple(names[label] for label in votes.argmax(1))


def _check_labels(batch: Batch) -> None:
    _refuse_edge_labels(batch)
    if not is_one_hot(batch.x) or bool((batch.x.sum(1) == 0).any()):
        raise GraphError(
            "x must be one-hot: every node of a pattern has exactly one label.",
            "Give every node a label: a column of words, or of numbers named in labels=.",
        )
    source, target = batch.edge_index.numpy()
    weight = np.ones(source.size) if batch.get("edge_weight") is None else batch.edge_weight.double().numpy()
    num_nodes = batch.x.size(0)
    there = np.argsort(source * num_nodes + target, kind="stable")
    back = np.argsort(target * num_nodes + source, kind="stable")
    same = (source[there] == target[back]) & (target[there] == source[back])
    same = same if not same.all() else np.isclose(weight[there], weight[back])
    if not same.all():
        wrong = int(np.argmax(~same))
        raise GraphError(
            f"graph {int(batch.batch[source[there[wrong]]])}: edge_index has an edge without its reverse, or of "
            "another weight. Patterns are undirected.",
            "Add the reverse edges with torch_geometric.transforms.ToUndirected().",
        )


def _refuse_edge_labels(batch: Batch) -> None:
    if batch.get("edge_attr") is not None:
        raise GraphError(
            "the graphs have edge labels (edge_attr), which hidden graphs do not learn.",
            Remedy("Leave them out: {ignore}.", ignore=("edge_attr",)),
        )


@dataclass(frozen=True)
class WalkDatabase:
    """Color sequences instead of nodes, a root of their second moments instead of graphs, and the objective."""

    colors: Tensor  # (C, D)
    steps: int
    closed: tuple[int, ...]  # lengths of closed walks
    terms: tuple[Term, ...]
    prefixes: tuple[PrefixLevel, ...]
    sequences: tuple[PrefixLevel, ...]
    cycles: tuple[Tensor, ...]  # per closed length: (S, L)
    roots: tuple[dict[int, Tensor], ...]  # per term and kind: (r, S)

    @classmethod
    def of(cls, graphs: PaintedGraphs, steps: int, closed: tuple[int, ...]) -> Self:
        """Count walks by color sequence and compress; float64."""
        features = _WalkFeatures.of(graphs, steps, closed)
        terms = _choose_terms(features.norms, steps, closed)
        return cls(
            graphs.colors,
            steps,
            closed,
            terms,
            tuple(_level(level) for level in features.tree.prefixes),
            tuple(_level(level) for level in features.tree.sequences[1:]),
            tuple(torch.from_numpy(cycles) for cycles in features.cycles),
            tuple(_root(features, term) for term in terms),
        )

    def to(self, dtype: torch.dtype) -> Self:
        """Return the database in another precision."""
        roots = tuple({kind: root.to(dtype) for kind, root in term.items()} for term in self.roots)
        return replace(self, colors=self.colors.to(dtype), roots=roots)

    @property
    def cost(self) -> int:
        """Numbers that one hidden node needs in :meth:`loadings`; for choosing the size of blocks."""
        return sum(level.prefix.numel() for level in (*self.prefixes, *self.sequences))

    def loadings(self, hidden_x: Tensor, hidden_adj: Tensor) -> list[Tensor]:
        """Per term, kernels of a bank ``(K, M, D)``, ``(K, M, M)`` with the database: ``(r, K)``.

        Scaled so that sums of squares over the rows, within the span of a bank, are mean explained fractions.
        """
        y0 = torch.einsum("cd,kmd->ckm", self.colors, hidden_x)
        kinds = [
            y0.square().sum(-1),
            *sequence_walks(y0, hidden_adj, self.prefixes, self.sequences),
            *(sequence_closed_walks(y0, hidden_adj, cycles) for cycles in self.cycles),
        ]
        return [reduce(add, (root @ kinds[kind] for kind, root in roots.items())) for roots in self.roots]

    def gram(self, x: Tensor, adj: Tensor, other_x: Tensor, other_adj: Tensor) -> list[Tensor]:
        """Per term, kernels of aligned pairs of hidden graphs; leading dimensions broadcast."""
        kinds = [*pair_walks(x, adj, other_x, other_adj, self.steps)]
        if self.closed:
            kinds += [*pair_closed_walks(x, adj, other_x, other_adj, self.closed)]
        return [_combined(kinds, term) for term in self.terms]

    def objective(self, hidden_x: Tensor, hidden_adj: Tensor) -> Tensor:
        """Explained fraction of ``R`` banks of ``k`` hidden graphs ``(R, k, M, D)``, ``(R, k, M, M)``: ``(R,)``.

        The mean over terms; differentiable.
        """
        banks, k = hidden_x.shape[:2]
        loadings = self.loadings(hidden_x.flatten(0, 1), hidden_adj.flatten(0, 1))
        grams = self.gram(
            hidden_x.unsqueeze(2), hidden_adj.unsqueeze(2), hidden_x.unsqueeze(1), hidden_adj.unsqueeze(1)
        )
        fractions = [
            explained_fraction(loading.view(-1, banks, k).transpose(0, 1), gram)
            for loading, gram in zip(loadings, grams, strict=True)
        ]
        return torch.stack(fractions).mean(0)


def _combined(kinds: Sequence[Tensor], term: Term) -> Tensor:
    """Sum the kinds of a term by their weights."""
    parts = [kinds[kind] * weight for kind, weight in term.items()]
    return torch.stack(parts).sum(0) if len(parts) > 1 else parts[0]


def _choose_terms(norms: Sequence[Floats], steps: int, closed: Sequence[int]) -> tuple[Term, ...]:
    """One term per length of open and closed walks that occur, and one that sees all lengths side by side.

    A term alone reads only directions: of one color there is but one sequence of each length, and every graph
    explains it. Side by side, the numbers of walks of each length count as well: how fast walks multiply, how many
    return. There every length of open walks has the same mean norm, and closed walks the weight of open ones.
    """
    singles: list[Term] = [{kind: 1.0} for kind in range(1, len(norms)) if norms[kind].any()]
    weight = {kind: 1 / float(norms[kind].mean()) for kind in range(steps + 1) if norms[kind].any()}
    together = dict(weight)
    for i, length in enumerate(closed):
        together[steps + 1 + i] = weight.get(min(length, steps), 1.0)
    return (*singles, together)


@dataclass(frozen=True)
class _WalkFeatures:
    """Counts by kind of walk: open walks of 0 to ``steps`` edges, then closed walks by length."""

    tree: SequenceTree  # sequences of the open walks
    cycles: tuple[Ints, ...]  # per closed length, color sequences without the return: (S, L)
    counts: tuple[sparse.csr_matrix, ...]  # per kind: (B, S)
    norms: tuple[Floats, ...]  # per kind, the kernel of each graph with itself: (B,)

    @classmethod
    def of(cls, graphs: PaintedGraphs, steps: int, closed: Sequence[int]) -> "_WalkFeatures":
        """Count open walks of up to ``steps`` edges and closed walks of the given lengths."""
        walks = count_walks(graphs.arrays, steps)
        # A column for every color, met or not.
        by_color = walks.counts[0] @ _joins(walks.tree.sequences[0].label, len(graphs.colors))
        open_counts = [by_color, *walks.counts[1:]]
        written = [np.arange(len(graphs.colors))[:, None], *(_written(walks.tree, i) for i in range(1, steps + 1))]
        gram = None if graphs.orthonormal else (graphs.colors @ graphs.colors.T).numpy()
        norms = [
            _norm(count, sequence, [2] if i == 0 else [1, *[2] * (i - 1), 1], gram)
            for i, (count, sequence) in enumerate(zip(open_counts, written, strict=True))
        ]
        cycles, counts = [], []
        if closed:
            returning = count_walks(graphs.arrays, max(closed), closed=True)
            for length in closed:
                sequence, count = _written(returning.tree, length)[:, :-1], returning.counts[length]
                distinct, place = canonical_cycles(sequence)
                cycles.append(distinct)
                counts.append(count @ _joins(place, len(distinct)))
                norms.append(_norm(count, sequence, [2] * length, gram))
        return cls(walks.tree, tuple(cycles), (*open_counts, *counts), tuple(norms))


def canonical_cycles(sequences: Ints) -> tuple[Ints, Ints]:
    """Merge cyclic sequences ``(S, L)`` that are rotations or reversals of one another.

    Returns one sequence per class ``(S', L)`` and the class of every sequence ``(S,)``. In an undirected graph all
    members of a class are walked equally often, and so they are in a hidden graph.

    >>> canonical_cycles(np.array([[1, 0, 0], [0, 0, 1], [0, 1, 2], [2, 1, 0]]))
    (array([[0, 0, 1],
            [0, 1, 2]]), array([0, 0, 1, 1]))
    """
    best, rows = sequences, np.arange(len(sequences))
    for way in (sequences, sequences[:, ::-1]):
        for shift in range(sequences.shape[1]):
            turned = np.roll(way, shift, 1)
            differs = (turned != best).argmax(1)
            best = np.where((turned[rows, differs] < best[rows, differs])[:, None], turned, best)
    distinct, place = np.unique(best, axis=0, return_inverse=True)
    return distinct, place.ravel()


def _joins(place: Ints, num_classes: int) -> sparse.csr_matrix:
    return sparse.csr_matrix((np.ones(place.size), (np.arange(place.size), place)), shape=(place.size, num_classes))


def _written(tree: SequenceTree, length: int) -> Ints:
    """Colors of all sequences of ``length`` edges: ``(S, length + 1)``."""
    before = np.empty((1, 0), np.int64)
    for level in (*tree.prefixes[:length], tree.sequences[length]):
        before = np.concatenate([before[level.prefix], level.label[:, None]], 1)
    return before


def _norm(counts: sparse.csr_matrix, sequences: Ints, powers: Sequence[int], gram: Floats | None) -> Floats:
    """Kernel of every graph with itself: the ends of a walk are matched once, all other nodes twice."""
    if gram is None:
        return np.asarray(counts.multiply(counts).sum(1), float).ravel()
    similar = np.ones((len(sequences), len(sequences)))
    for column, power in zip(sequences.T, powers, strict=True):
        similar *= gram[np.ix_(column, column)] ** power
    return np.asarray(counts.multiply(counts @ similar).sum(1), float).ravel()


def _level(level: Level) -> PrefixLevel:
    return PrefixLevel(torch.from_numpy(level.prefix), torch.from_numpy(level.label))


def _root(features: _WalkFeatures, term: Term) -> dict[int, Tensor]:
    """Root of the second moments of the graphs' features, cut by kind of walk."""
    scale = _row_scale(features.norms, term)
    parts = [features.counts[kind].toarray() * weight for kind, weight in term.items()]
    # Graphs with equal features are merged; a row that stands for n graphs counts n times in squares.
    rows, count = np.unique(np.concatenate(parts, 1) * scale[:, None], axis=0, return_counts=True)
    _, singular, right = np.linalg.svd(rows * np.sqrt(count)[:, None], full_matrices=False)
    kept = singular > RANK_TOLERANCE * singular.max(initial=0)
    root = right[kept] * singular[kept, None]
    cuts = np.cumsum([part.shape[1] for part in parts])[:-1]
    return {kind: torch.from_numpy(part) for kind, part in zip(term, np.split(root, cuts, 1), strict=True)}


def _row_scale(norms: Sequence[Floats], term: Term) -> NDArray[np.float64]:
    """Factor of every graph's kernels: its share in the mean over graphs that have walks of the term, normalized."""
    norm = np.sum([weight * norms[kind] for kind, weight in term.items()], axis=0)
    there = norm > 0
    scale: NDArray[np.float64] = np.where(there, 1 / np.sqrt(np.where(there, norm, 1) * max(there.sum(), 1)), 0)
    return scale
