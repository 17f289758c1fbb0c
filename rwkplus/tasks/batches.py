"""Batches cut from one collated set: cheap for small graphs, where PyG's collation costs more than the network."""

from collections.abc import Iterator, Sequence
from copy import copy

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch_geometric.data import Batch, Data

from rwkplus.ops.collective import rank_and_world, share_of_batches
from rwkplus.tasks.inputs import GraphTensors
from rwkplus.tasks.randomness import generator

Index = NDArray[np.int64]
EVALUATION_SIZE = 512
"""Graphs at a time where nothing is learned."""


class GraphStore:
    """Graphs side by side in memory; a batch is one gather per field.

    The batches equal ``Batch.from_data_list`` of the same graphs, fields of transforms and their increments
    included. What cannot be gathered (nested or sparse fields) falls back to PyG's collation.

    Args:
        graphs: Graphs whose fields are tensors, one by one or side by side.
    """

    def __init__(self, graphs: Sequence[Data] | GraphTensors) -> None:
        if isinstance(graphs, GraphTensors):
            self.base, self.graphs, self.node_ptr = Data, None, graphs.node_ptr
            self.fields = [_Field.cut(key, value, graphs) for key, value in graphs.fields.items()]
            return
        whole = Batch.from_data_list(list(graphs))
        self.base = type(graphs[0])
        self.node_ptr = _numpy(whole.ptr)
        fields = [_Field.of(key, whole, graphs[-1]) for key in graphs[0].keys()]  # noqa: SIM118
        self.fields = [field for field in fields if field is not None]
        self.graphs = None if len(self.fields) == len(fields) else [graph.clone() for graph in graphs]

    def __len__(self) -> int:
        return int(self.node_ptr.size - 1)

    def batch(self, index: Index) -> Batch:
        """Batch of the graphs ``index``, in this order."""
        if self.graphs is not None:
            return Batch.from_data_list([self.graphs[i] for i in index])
        batch = Batch(_base_cls=self.base)
        rows: dict[bytes, _Rows] = {}
        for field in self.fields:
            if field.layout not in rows:
                rows[field.layout] = _Rows(field.ptr, index)
            batch[field.key] = field.take(index, rows[field.layout])
        sizes = self.node_ptr[index + 1] - self.node_ptr[index]
        batch.batch = torch.from_numpy(np.repeat(np.arange(index.size), sizes))
        batch.ptr = torch.from_numpy(_starts(sizes, closed=True))
        batch._num_graphs = index.size
        return batch


class _Rows:
    """Where the parts of the chosen graphs lie in a collated tensor."""

    def __init__(self, ptr: Index, index: Index) -> None:
        self.sizes = ptr[index + 1] - ptr[index]
        first = np.repeat(ptr[index] - _starts(self.sizes), self.sizes)
        self.places = torch.from_numpy(first + np.arange(first.size))


class _Field:
    """One field of all graphs: the tensor, its cuts, and how much each graph raises the numbers of later ones."""

    def __init__(self, key: str, values: Tensor, dim: int, ptr: Index, step: Index | None) -> None:
        self.key, self.values, self.dim, self.ptr, self.step = key, values, dim, ptr, step
        self.layout = ptr.tobytes()  # fields cut alike share the gather
        self.offset = None if step is None else _starts(step)

    @classmethod
    def cut(cls, key: str, values: Tensor, graphs: GraphTensors) -> "_Field":
        """Read off graphs that lie side by side."""
        if key == "edge_index":
            return cls(key, values, 1, graphs.edge_ptr, np.diff(graphs.node_ptr))
        return cls(key, values, 0, graphs.node_ptr if key == "x" else graphs.edge_ptr, None)

    @classmethod
    def of(cls, key: str, whole: Batch, last: Data) -> "_Field | None":
        """Read off a collated batch, or None where the field is no plain tensor."""
        value, ptr, raised = whole[key], whole._slice_dict[key], whole._inc_dict[key]
        if type(value) is not Tensor or value.layout != torch.strided or value.is_nested:
            return None
        if not isinstance(ptr, Tensor) or (raised is not None and raised.dim() != 1):
            return None
        dim = last.__cat_dim__(key, last[key])
        step = None
        if raised is not None:
            step = np.diff(_numpy(raised), append=int(raised[-1]) + int(last.__inc__(key, last[key])))
        return cls(key, value, dim or 0, _numpy(ptr), step if step is not None and step.any() else None)

    def take(self, index: Index, rows: _Rows) -> Tensor:
        """Gather the parts of the chosen graphs and renumber what they refer to."""
        taken = self.values.index_select(self.dim, rows.places)
        if self.step is None or self.offset is None:
            return taken
        shift = torch.from_numpy(np.repeat(_starts(self.step[index]) - self.offset[index], rows.sizes))
        shape = [1] * taken.dim()
        shape[self.dim] = -1
        return taken.add_(shift.view(shape))


class Batches:
    """A loader for Lightning: batches as even as possible, cut over the processes of a run.

    A fixed batch size would leave a last batch of any size, down to the single graph that BatchNorm refuses and
    to fewer graphs than processes; here sizes differ by one at most. The order depends on the seed and the
    attribute ``epoch`` alone, so that a resumed run sees what an uninterrupted one would have seen.

    Args:
        store: The graphs.
        index: Which of them.
        batch_size: Most graphs per batch, over all processes.
        y: Encoded label of every graph of ``index``, ``(len(index), ...)``; becomes ``batch.y``.
        seed: Seed of the order; None keeps the order, and the batches.
    """

    def __init__(
        self, store: GraphStore, index: Index, batch_size: int, y: Tensor | None = None, seed: int | None = None
    ) -> None:
        self.store = store
        self.index = np.asarray(index, np.int64)
        self.y = y
        self.seed = seed
        self.epoch = 0
        self.num_batches = -(-self.index.size // batch_size)
        self._kept: list[Batch] | None = None

    def __len__(self) -> int:
        return self.num_batches

    def __iter__(self) -> Iterator[Batch]:
        if self.seed is not None:
            order = torch.randperm(self.index.size, generator=generator(self.seed, self.epoch)).numpy()
            return (self._batch(part) for part in self._parts(order))
        if self._kept is None:
            self._kept = [self._batch(part) for part in self._parts(np.arange(self.index.size))]
        return (copy(batch) for batch in self._kept)  # networks may write into what they get

    def _batch(self, part: Index) -> Batch:
        batch = self.store.batch(self.index[part])
        if self.y is not None:
            batch.y = self.y[torch.from_numpy(part)]
        return batch

    def _parts(self, order: Index) -> list[Index]:
        return share_of_batches(order, self.num_batches, *rank_and_world(), things="graphs")


def _numpy(values: Tensor) -> Index:
    return values.cpu().numpy().astype(np.int64)


def _starts(sizes: Index, *, closed: bool = False) -> Index:
    """First place of each part; with ``closed`` also the end of the last."""
    starts = np.zeros(sizes.size + 1, np.int64)
    np.cumsum(sizes, out=starts[1:])
    return starts if closed else starts[:-1]
