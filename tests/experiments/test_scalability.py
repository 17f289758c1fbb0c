import pytest
import torch
from torch_geometric.data import Batch

from experiments import scalability
from experiments.scalability import run_scalability, scalability_page, timed_network
from rwkplus.datasets import load_graphs
from rwkplus.functional.reference import rwk_plus_by_product_graph
from rwkplus.nn import EgoNets
from rwkplus.training import GraphDataset


def test_the_naive_way_builds_product_graphs_and_gives_the_same_outputs(monkeypatch):
    built = []

    def by_product_graph(*args, **kwargs):
        built.append(1)
        return rwk_plus_by_product_graph(*args, **kwargs)

    monkeypatch.setattr(scalability, "rwk_plus_by_product_graph", by_product_graph)
    graphs = load_graphs("functional-groups")[:5]
    data = GraphDataset(graphs, [0, 1, 0, 1, 1], ignore=["edge_attr"])
    batch = Batch.from_data_list([EgoNets(1, scalability.MAX_NODES)(graph) for graph in data.graphs])
    torch.manual_seed(0)  # with some weights the two differ by rounding
    fast, naive = (timed_network(data, way, 4, 3).eval() for way in ("RWK+", "RWK+ naive"))
    naive.load_state_dict(fast.state_dict())
    expected = fast(batch)
    assert not built
    torch.testing.assert_close(naive(batch), expected)
    assert built


def test_a_small_run_fills_the_page(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, few in (("HIDDEN_GRAPHS", (2, 4)), ("STEPS", (1, 2)), ("SHARES", (0.5, 1.0)), ("BATCH_SIZE", 500)):
        monkeypatch.setattr(scalability, name, few)
    rows = run_scalability("functional-groups", turns=1)
    assert [row["size"] for row in rows] == [2, 4, 1, 2, 0.5, 1.0]
    assert all(row[way] > 0 for row in rows for way in ("RWK-", "RWK+", "RWK+ naive", "GIN"))
    page = scalability_page()
    assert "steps: exponent" in page
    assert f"{rows[0]['RWK+']:.3f}" in page


def test_no_page_without_a_run(tmp_path):
    assert scalability_page(tmp_path) is None


@pytest.mark.parametrize("way", ["RWK-", "RWK+"])
def test_the_fast_ways_are_kernel_convolutions(way):
    data = GraphDataset(load_graphs("functional-groups"), ignore=["edge_attr"])
    assert type(timed_network(data, way, 4, 2).convs[0]).__name__ == "KernelConv"
