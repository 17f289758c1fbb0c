import networkx as nx
import pytest

from experiments import planted_large
from experiments.records import RESULTS, read_result


@pytest.fixture
def small(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(planted_large, "EDGES", 6_000)
    monkeypatch.setattr(planted_large, "NODES", 2_000)
    monkeypatch.setattr(planted_large, "COPIES", 80)
    monkeypatch.setattr(planted_large, "LARGER", (9_000,))
    return tmp_path


def test_a_small_run_is_written_and_gone_on_with(small, monkeypatch):
    rows = planted_large.run_planted_large(2)
    assert [row["seed"] for row in rows] == [8_000_000, 8_000_001]
    assert any(row["exact"] and row["mni"] for row in rows)
    record = read_result("planted_large", small / RESULTS)
    assert len(record["values"]["larger"]) == 1
    assert "| 9,000 | 1 |" in planted_large.planted_large_page(small / RESULTS)
    before = planted_large.mined_graph
    monkeypatch.setattr(
        planted_large, "mined_graph", lambda seed, edges: before(seed, edges) if edges == 2_000 else 1 / 0
    )
    assert planted_large.run_planted_large(2) == rows


def test_the_plain_search_counts_every_place():
    graph = nx.Graph([(0, 1), (0, 2), (0, 3), (3, 4)])
    assert planted_large.minimum_image(graph, nx.path_graph(2)) == 5
    assert planted_large.minimum_image(graph, nx.path_graph(3)) == 2
