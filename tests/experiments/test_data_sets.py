import pytest
import torch
from torch_geometric.data import Data

from experiments import data_sets
from experiments.data_sets import TABLES, data_sets_page, data_sets_table, graph_sizes, run_data_sets
from rwkplus.errors import DataError
from rwkplus.table import GraphTable

PATHS = [Data(edge_index=torch.tensor([[0, 1], [1, 0]]), num_nodes=n, y=torch.tensor(n % 2)) for n in (2, 3, 4)]


def test_sizes_are_counted_once_per_edge():
    assert graph_sizes(GraphTable.of(PATHS)) == {"graphs": 3, "classes": 2, "nodes": 3.0, "edges": 1.0}


def test_what_is_not_at_hand_says_so_and_numbers_of_the_paper_stand_where_ours_differ(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def read(name):
        if name != "MUTAG":
            raise DataError("not here")
        return name, {"graphs": 188, "classes": 2, "nodes": 17.93, "edges": 21.0}

    monkeypatch.setattr(data_sets, "READERS", dict.fromkeys(TABLES, read))
    rows = run_data_sets()
    assert "| MUTAG | MUTAG | 188 | 2 | 17.9 | 21.0 (paper: 19.8) |" in data_sets_table(14, rows)
    assert "| zinc | no | (paper: 12,000) |" in data_sets_table(16, rows)
    page = data_sets_page()
    assert all(data_sets_table(number, rows) in page for number in TABLES)


@pytest.mark.parametrize(("name", "edges"), [("Cora", [[0, 1, 1, 2], [1, 0, 2, 1]]), ("Actor", [[0, 1, 1], [1, 2, 1]])])
def test_undirected_edges_count_once_and_directed_ones_as_they_come(monkeypatch, name, edges):
    graph = Data(edge_index=torch.tensor(edges), num_nodes=3, y=torch.tensor([0, 1, 1]))
    monkeypatch.setattr(data_sets, "load_nodes", lambda name: graph)
    sizes = {"Cora": 2, "Actor": 3}
    assert data_sets.READERS[15](name) == (name, {"nodes": 3, "edges": sizes[name], "classes": 2})
