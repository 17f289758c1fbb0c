"""Thousands of malformed graphs: out comes a sound ``Batch`` or an ``RWKPlusError``, nothing else."""

import random
import warnings
from contextlib import suppress

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.data import Batch, Data, HeteroData

from rwkplus.errors import RWKPlusError, RWKPlusWarning
from rwkplus.io.pyg import as_batch
from rwkplus.kernels import RandomWalkKernel

NAN, INF = float("nan"), float("inf")
FIELDS = (
    "x", "edge_index", "edge_attr", "edge_weight", "num_nodes", "node_label_names", "edge_label_names",
    "y", "pos", "batch", "ptr", "adj_t", "face", "anything",
)  # fmt: skip


class Odd:
    """Nothing about it works."""

    def __len__(self):
        raise RuntimeError("no length")

    def __float__(self):
        raise ZeroDivisionError("no number")

    def __index__(self):
        raise ZeroDivisionError("no index")

    def __eq__(self, other):
        raise RuntimeError("no equality")

    __hash__ = object.__hash__


PLAIN = [
    None, True, 0, 1, -1, 3, 2.5, 10**30, 10**400, NAN, INF, 1j, "", "x", "3", b"bytes", [], [1, 2, 3],
    [[0, 1], [1, 0]], (), ("C", "O"), ("C", "C"), {}, {"a": 1}, {1, 2}, range(3), object(), Odd(), len, int, Data,
    ..., slice(1), [None], ["a", None], [NAN], [Odd()], lambda: 3,
    np.ones(3), np.ones((3, 2)), np.array("x"), np.array([["a"]]), np.array([None, 1], dtype=object), np.int64(3),
    np.float32(NAN), np.datetime64("2020-01-01"), np.ma.masked, np.array(3),
]  # fmt: skip
"""Values that are no tensors."""


def tensors(rng):
    """A tensor of some shape and kind, most of them wrong for the field they will land in."""
    shape = rng.choice([(), (0,), (1,), (3,), (4,), (0, 0), (0, 2), (2, 0), (2, 4), (3, 2), (4, 2), (3, 1), (2, 2, 2)])
    generator = torch.Generator().manual_seed(rng.randrange(2**31))
    value = torch.randint(-1, 4, shape, generator=generator)
    if rng.random() < 0.5:
        value = value.clamp(0, 1)
    return rng.choice(KINDS)(value)


DTYPES = (
    torch.float64, torch.float16, torch.bfloat16, torch.int8, torch.int32, torch.uint8,
    torch.bool, torch.complex64, torch.uint16, torch.uint64, torch.float8_e4m3fn,
)  # fmt: skip
KINDS = [
    *[lambda v: v] * 6,
    *[lambda v: v.float()] * 6,
    *(
        lambda v, t=t: v.to(t)
        for t in (torch.float64, torch.float16, torch.bfloat16, torch.int8, torch.int32, torch.uint8)
    ),
    *(lambda v, t=t: v.to(t) for t in (torch.bool, torch.complex64, torch.uint16, torch.uint64, torch.float8_e4m3fn)),
    lambda v: v.float() * NAN,
    lambda v: v.float() + INF,
    lambda v: v.float() * 1e38,
    lambda v: v.double() * 1e300,
    lambda v: v * 2**61,
    lambda v: v.float().to_sparse(),
    lambda v: v.float().to_sparse_csr() if v.dim() == 2 else v,
    lambda v: v.to("meta"),
    lambda v: v.float().requires_grad_(),
    lambda v: torch.nn.Parameter(v.float()),
    lambda v: v.expand(3, *v.shape),
    lambda v: v.flip(0) if v.dim() else v,
    lambda v: v.mT if v.dim() == 2 else v,
    lambda v: torch.nested.nested_tensor([v.float(), v.float()], layout=torch.jagged) if v.dim() == 2 else v,
    lambda v: torch.quantize_per_tensor(v.float(), 0.1, 0, torch.qint8),
    lambda v: [v],
    lambda v: v.tolist(),
    lambda v: v.numpy(),
]


def anything(rng):
    return rng.choice(PLAIN) if rng.random() < 0.4 else tensors(rng)


def sound_data(rng, width, edge_width, weighted, named):
    n = rng.choice([0, 1, 2, 3, 3, 3, 5])
    e = rng.randint(0, 6) if n else 0
    generator = torch.Generator().manual_seed(rng.randrange(2**31))
    data = Data(
        x=torch.eye(width)[torch.randint(width, (n,), generator=generator)],
        edge_index=torch.randint(max(n, 1), (2, e), generator=generator),
    )
    if edge_width:
        data.edge_attr = torch.eye(edge_width)[torch.randint(edge_width, (e,), generator=generator)]
    if weighted:
        data.edge_weight = torch.rand(e, generator=generator)
    if named:
        data.node_label_names = tuple("CNOFS"[:width])
    return data


def sound_datas(rng):
    choices = rng.randint(1, 3), rng.choice([0, 0, 2]), rng.random() < 0.3, rng.random() < 0.3
    return [sound_data(rng, *choices) for _ in range(rng.randint(1, 3))]


def spoil_fields(rng, graph):
    for _ in range(rng.randint(1, 3)):
        field = rng.choice(FIELDS[:4] if rng.random() < 0.6 else FIELDS)
        if rng.random() < 0.15 and field in graph:
            del graph[field]
        elif rng.random() < 0.3 and isinstance(graph.get(field), torch.Tensor):
            graph[field] = rng.choice(KINDS)(graph[field].detach())
        else:
            graph[field] = anything(rng)


def malformed_data(rng):
    graphs = sound_datas(rng)
    spoil_fields(rng, rng.choice(graphs))
    return graphs


def malformed_batch(rng):
    graphs = sound_datas(rng)
    batch = Batch.from_data_list(graphs) if rng.random() < 0.6 else as_batch(graphs)
    spoil_fields(rng, batch)
    return batch


def malformed_list(rng):
    graphs = [*sound_datas(rng), rng.choice([*PLAIN, HeteroData(), nx.path_graph(2), Batch(), torch.eye(2)])]
    rng.shuffle(graphs)
    return graphs


def no_list(rng):
    return anything(rng)


HASHABLE = ["a", 1, 2.5, (1, 2), None, True, frozenset(), NAN, 10**400, Odd, b"a", np.int64(3), "é\x00"]
"""Names of nodes and attributes; None is no node for networkx."""


def malformed_networkx(rng):
    graphs = []
    for _ in range(rng.randint(1, 3)):
        graph = rng.choice([nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph])()
        names = [rng.choice(HASHABLE) if rng.random() < 0.2 else i for i in range(rng.randint(0, 4))]
        graph.add_nodes_from((name for name in names if name is not None), label="C")
        for _ in range(rng.randint(0, 5) if len(graph) else 0):
            graph.add_edge(*rng.choices(list(graph), k=2), label="-")
        graphs.append(graph)
    for _ in range(rng.randint(1, 3)):
        graph = rng.choice(graphs)
        owners = [*graph.nodes.values(), *(fields for *_, fields in graph.edges(data=True))]
        name = rng.choice(["label", "label", "x", "x", "attr", "weight", "other", *HASHABLE])
        value = [anything(rng) for _ in range(1 if rng.random() < 0.7 else len(owners))]
        for i, fields in enumerate(owners if rng.random() < 0.7 else owners[:1]):
            if rng.random() < 0.1:
                fields.clear()
            else:
                fields[name] = value[i % len(value)]
    return graphs


MAKERS = [malformed_data] * 4 + [malformed_networkx] * 3 + [malformed_batch, malformed_list, no_list]


def malformed(seed):
    rng = random.Random(seed)
    maker = rng.choice(MAKERS)
    while True:  # PyG refuses some fields at once: those never get here
        try:
            return maker, maker(rng)
        except Exception:
            continue


def assert_sound(batch):
    assert type(batch).__name__ == "DataBatch"
    n, e, graphs = batch.x.size(0), batch.edge_index.size(1), batch.ptr.numel() - 1
    assert graphs >= 1
    assert batch.x.dim() == 2
    assert batch.ptr[0] == 0
    assert batch.ptr[-1] == n
    assert batch.batch.equal(torch.repeat_interleave(torch.arange(graphs), batch.ptr.diff()))
    assert batch.edge_index.dtype == torch.int64
    assert e == 0 or 0 <= batch.edge_index.min() <= batch.edge_index.max() < n
    source, target = batch.batch[batch.edge_index]
    assert source.equal(target)
    assert bool((source.diff() >= 0).all())
    for field in ("x", "edge_attr", "edge_weight"):
        value = batch.get(field)
        if value is not None:
            assert value.is_floating_point()
            assert bool(torch.isfinite(value).all())
            assert value.size(0) == (n if field == "x" else e)


def outcome(action, seed):
    maker, graphs = malformed(seed)
    try:
        return action(graphs)
    except RWKPlusError as error:
        return error
    except Exception as error:
        error.add_note(f"seed {seed} of {maker.__name__}: {graphs!r}"[:1000])
        raise


def test_the_graphs_are_sound_before_they_are_spoiled():
    for seed in range(100):
        graphs = sound_datas(random.Random(seed))
        assert_sound(as_batch(graphs))
        assert_sound(as_batch(Batch.from_data_list(graphs)))


@pytest.mark.filterwarnings("ignore::UserWarning")  # torch's, about the odd tensors made here
@pytest.mark.parametrize("part", range(8))
def test_only_our_errors_or_a_sound_batch_come_out(part):
    refused = 0
    for seed in range(500 * part, 500 * (part + 1)):
        result = outcome(as_batch, seed)
        if isinstance(result, Exception):
            assert len(str(result)) > 20
            refused += 1
        else:
            assert_sound(result)
    assert 200 < refused < 500  # most are malformed, some corruptions are harmless


@pytest.mark.parametrize("part", range(4))
def test_only_our_errors_come_out_of_the_kernel(part):
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        warnings.simplefilter("ignore", RWKPlusWarning)
        results = []
        for seed in range(10_000 + 100 * part, 10_100 + 100 * part):
            kernel = RandomWalkKernel(("rwk+", "rwk-", "node-centric")[seed % 3], steps=2, normalize=seed % 2 == 0)
            results.append(outcome(kernel.fit_transform, seed))
    for result in results:
        assert isinstance(result, RWKPlusError) or np.isfinite(result).all()
    assert {True, False} == {isinstance(result, RWKPlusError) for result in results}


values = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=3), st.binary(max_size=3),
    st.complex_numbers(),
    st.lists(st.floats() | st.integers() | st.none() | st.text(max_size=2), max_size=3),
    st.tuples(st.integers(-9, 9), st.text(max_size=2)),
    st.integers(0, 2**32).map(lambda seed: tensors(random.Random(seed))),
)  # fmt: skip


@pytest.mark.slow
@given(st.lists(st.tuples(st.sampled_from(FIELDS), values), min_size=1, max_size=3), st.integers(0, 99))
@settings(max_examples=150, deadline=None)
def test_any_value_in_any_field_is_read_or_refused(changes, seed):
    graphs = sound_datas(random.Random(seed))
    for field, value in changes:
        with suppress(Exception):  # PyG's own refusal
            graphs[-1][field] = value
    with suppress(RWKPlusError):
        assert_sound(as_batch(graphs))


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=5),
    st.lists(st.tuples(st.booleans(), st.sampled_from(["label", "x", "attr", "weight", "other"]), values), max_size=3),
    st.sampled_from([nx.Graph, nx.DiGraph, nx.MultiGraph]),
)
@settings(max_examples=150, deadline=None)
def test_any_attribute_of_networkx_is_read_or_refused(edges, changes, kind):
    graph = kind(edges)
    nx.set_node_attributes(graph, "C", "label")
    for everywhere, name, value in changes:
        owners = [*graph.nodes.values(), *(fields for *_, fields in graph.edges(data=True))]
        for fields in owners if everywhere else owners[:1]:
            fields[name] = value
    with suppress(RWKPlusError):
        assert_sound(as_batch([graph]))
