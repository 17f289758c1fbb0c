import numpy as np
import pytest
import torch
from scipy import stats
from torch_geometric.data import Data

from experiments import nodes, nodes_init, nodes_released, runtime
from experiments.nodes import complete_seeds, nodes_page, nodes_table
from experiments.nodes_init import initialization_section, initialization_table
from experiments.records import read_result, save_result
from experiments.runtime import COMPARED, LAYERS, Worker
from rwkplus.errors import DataError, ParameterError


def small(name="Cora", size=60):
    draw = torch.Generator().manual_seed(0)
    y = torch.arange(size) % 3
    part = torch.randperm(size, generator=draw) % 3
    return Data(
        x=torch.nn.functional.one_hot(y, 5).float() + (torch.rand(size, 5, generator=draw) < 0.3),
        edge_index=torch.randint(size, (2, 150), generator=draw),
        y=y,
        **{f"{name}_mask": part == i for i, name in enumerate(("train", "val", "test"))},
    )


@pytest.fixture(autouse=True)
def _small_and_elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(nodes, "load_nodes", small)
    monkeypatch.setattr(nodes, "DROPOUT", (0.5,))


CANDIDATES = [{"dropout": 0.5, "input_dropout": share} for share in nodes.INPUT_DROPOUT]


def test_rows_are_written_one_by_one_and_not_repeated(monkeypatch):
    runs = []
    train_nodes = nodes.train_nodes

    def counted(*arguments, **options):
        runs.append(options)
        return train_nodes(*arguments, **options)

    monkeypatch.setattr(nodes, "train_nodes", counted)
    rows = nodes.run_nodes("Cora", seeds=1, epochs=2)
    assert [row["method"] for row in rows] == [*nodes.METHODS, *nodes.GUARDS]
    assert len(runs) == len(nodes.METHODS) * len(CANDIDATES)
    record = read_result("nodes/Cora")
    assert record["values"]["rows"] == rows
    assert record["config"]["steps"] == 4
    more = nodes.run_nodes("Cora", seeds=2, epochs=2, methods=["GINConv", "majority"])
    assert more[: len(rows)] == rows
    assert [(row["method"], row["seed"]) for row in more[len(rows) :]] == [("GINConv", 1), ("majority", 1)]
    assert len(runs) == (len(nodes.METHODS) + 1) * len(CANDIDATES)
    assert more[0]["candidate"] in CANDIDATES


def test_rows_of_other_settings_are_not_overwritten(monkeypatch):
    rows = nodes.run_nodes("Cora", seeds=1, epochs=2, methods=["majority"])
    monkeypatch.setattr(nodes, "_guard", None)  # refused before anything is computed
    with pytest.raises(DataError, match=r"nodes/Cora\.json .* settings\.epochs \(2 there, 1 now\)"):
        nodes.run_nodes("Cora", seeds=2, epochs=1, methods=["majority"])
    assert read_result("nodes/Cora")["values"]["rows"] == rows


def test_rows_that_another_process_writes_meanwhile_are_kept(monkeypatch):
    guard = nodes._guard

    def slow(method, *arguments):
        monkeypatch.setattr(nodes, "_guard", guard)
        nodes.run_nodes("Cora", seeds=1, epochs=2, methods=["logistic regression"])
        return guard(method, *arguments)

    monkeypatch.setattr(nodes, "_guard", slow)
    rows = nodes.run_nodes("Cora", seeds=1, epochs=2, methods=["majority"])
    assert [row["method"] for row in rows] == ["logistic regression", "majority"]
    assert read_result("nodes/Cora")["values"]["rows"] == rows


def test_validation_nodes_choose_and_test_nodes_are_looked_at_once(monkeypatch):
    judged = []
    scores = nodes.TrainedNetwork.scores

    def watched(self, X, y=None, *, nodes=None):
        judged.append(set(nodes.tolist()))
        return scores(self, X, y, nodes=nodes)

    monkeypatch.setattr(nodes.TrainedNetwork, "scores", watched)
    nodes.run_nodes("Cora", seeds=1, epochs=2, methods=["GCNConv"])
    train, validation, test = (set(part.tolist()) for part in nodes.node_split(small().y.numpy(), 0))
    assert judged == [validation, validation, validation, test]
    assert len(train) == 36
    assert not train & (validation | test)


@pytest.mark.filterwarnings("ignore:Sparse CSR")
def test_graphs_are_undirected_with_rows_of_one_sum():
    data = nodes.prepared("Actor")
    adjacency = data.edge_index.to_dense()
    assert (adjacency == adjacency.T).all()
    assert set(adjacency.unique().tolist()) == {0, 1}
    assert data.get("train_mask") is None
    dense = data.x.to_dense()
    torch.testing.assert_close(dense.sum(1), dense.sum(1).mean().expand(60))
    assert float(dense.square().sum(1).mean()) == pytest.approx(1)
    assert data.x.values().numel() == dense.count_nonzero()


def test_pages_show_paper_ours_and_guards(tmp_path):
    assert nodes_page() is None
    nodes.run_nodes("Cora", seeds=2, epochs=1, methods=["RWKPlusConv", "GCNConv", "majority"])
    nodes.run_nodes("Cora", seeds=1, epochs=1, published=True, methods=["GCNConv"])
    table = nodes_table(["Cora"])
    accuracy = [
        100 * row["accuracy"] for row in read_result("nodes/Cora")["values"]["rows"] if row["method"] == "GCNConv"
    ]
    assert f"| {np.mean(accuracy):.1f} ± {np.std(accuracy):.1f} |" in table
    assert table.splitlines()[2].startswith("| Cora | 2 | 85.8 | 88.3 |")
    nodes_init.run_initializations(datasets=["Cora"], seeds=1, epochs=1)
    page = nodes_page()
    assert "## Published splits" in page
    assert "candidates (dropout 0.5, input_dropout 0.0 or 0.5 or 0.8) by accuracy" in page
    assert "seeds 1000" in initialization_section()


def test_sets_with_other_candidates_are_told_apart():
    nodes.run_nodes("Cora", seeds=1, epochs=1, methods=["majority"])
    nodes.run_nodes("Actor", seeds=1, epochs=1, methods=["majority"])
    nodes.run_nodes("CiteSeer", seeds=1, epochs=1, input_dropout=(0, 0.5), methods=["majority"])
    page = nodes_page()
    assert (
        "(Cora, Actor: dropout 0.5, input_dropout 0.0 or 0.5 or 0.8; CiteSeer: dropout 0.5, input_dropout 0.0 or 0.5)"
        in page
    )
    assert "--dataset CiteSeer --epochs 1 --input-dropout 0 --input-dropout 0.5`" in page


@pytest.mark.parametrize(("published", "correction"), [(False, 1 / 3), (True, 0)])
def test_only_splits_of_our_own_are_corrected_for_overlap(published, correction):
    accuracy = {"RWKPlusConv": [0.80, 0.84, 0.81, 0.85], "GCNConv": [0.79, 0.80, 0.81, 0.80]}
    rows = [
        {"method": name, "seed": i, "accuracy": a} for name, scores in accuracy.items() for i, a in enumerate(scores)
    ]
    save_result(nodes.result_name("Cora", published), {}, {"rows": rows})
    difference = np.subtract(*accuracy.values())
    t = difference.mean() / np.sqrt((1 / 4 + correction) * difference.var(ddof=1))
    assert f"| {2 * stats.t.sf(t, 3):.2g} |" in nodes_table(["Cora"], published=published)


def test_impossible_choices_are_named():
    with pytest.raises(ParameterError, match="no method 'GAT'"):
        nodes.run_nodes("Cora", methods=["GAT"])
    with pytest.raises(ParameterError, match="Actor has no single published split"):
        nodes.run_nodes("Actor", published=True)


def test_initializations_are_compared_on_splits_of_their_own():
    rows = nodes_init.run_initializations(datasets=["Cora"], seeds=1, epochs=1)
    assert [row["initialization"] for row in rows] == list(nodes_init.INITIALIZATIONS)
    assert {row["seed"] for row in rows} == {1000}
    assert nodes_init.run_initializations(datasets=["Cora"], seeds=1, epochs=1) == rows
    assert initialization_table(rows).count("\n") == 2 + len(rows)


@pytest.mark.filterwarnings("ignore:Sparse CSR")
def test_run_times_of_all_layers_in_one_process_and_apart(monkeypatch):
    workers = {name: Worker(name, small(), features=6, hidden=4) for name in LAYERS}
    asked = []

    class InThisProcess:
        def __init__(self, names, variables, *, together):
            asked.append((len(names), bool(variables), together))

        def __enter__(self):
            return lambda name, question: getattr(workers[name], question)()

        def __exit__(self, *error):
            return False

    monkeypatch.setattr(runtime, "_processes", InThisProcess)
    monkeypatch.setattr(runtime, "pubmed_topology", small)
    rows = runtime.run_runtime(repeats=1)
    assert asked == [(len(COMPARED), False, True), (len(COMPARED), True, True), (len(LAYERS), False, False)]
    assert rows[0]["times GCNConv, one process"] == rows[0]["times GCNConv, own processes"] == 1
    assert rows[-1]["times GCNConv, one process"] == ""
    kept = {row["layer"]: row["kept MB"] for row in rows}
    assert kept["RWKPlusConv, 5 steps, recomputed"] < kept["RWKPlusConv, 5 steps"]
    assert read_result(runtime.RESULT)["values"]["rows"] == rows


def test_first_passes_do_not_count():
    passes = iter([9.0, 9.0, 9.0, 9.0, 1.0, 2.0, 3.0, 4.0])
    assert runtime.median_seconds(["a", "b"], lambda name, question: next(passes), repeats=2) == {"a": 2.0, "b": 3.0}


def test_seeds_that_some_method_lacks_are_left_out():
    rows = [{"method": "a", "seed": 0}, {"method": "b", "seed": 0}, {"method": "a", "seed": 1}]
    assert complete_seeds(rows) == rows[:2]


@pytest.mark.filterwarnings("ignore:Sparse CSR")
def test_settings_of_the_released_scripts(monkeypatch):
    torch.testing.assert_close(nodes.prepared("Cora", unit_mean_square=False).x.to_dense().sum(1), torch.ones(60))
    parts = nodes_released.released_split(np.arange(60) % 3, 0)
    assert [part.size for part in parts] == [36, 12, 12]
    assert sorted(np.concatenate(parts)) == list(range(60))
    rows = nodes_released.run_released("Cora", splits=2, epochs=2)
    assert [row["method"] for row in rows] == list(nodes_released.METHODS) * 2
    monkeypatch.setattr(nodes_released, "train_nodes", None)  # finished rows are not trained again
    assert nodes_released.run_released("Cora", splits=2, epochs=2) == rows
    assert "| Cora | 2 | 85.8 | 88.3 |" in nodes_released.released_section()


def test_the_backbone_without_biases_has_none_and_begins_alike():
    torch.manual_seed(0)
    plain = nodes_released.UnbiasedGNN(4, 2, level="node", hidden_channels=8)
    torch.manual_seed(0)
    biased = dict(nodes_released.GNN(4, 2, level="node", hidden_channels=8).named_parameters())
    left = dict(plain.named_parameters())
    gone = biased.keys() - left.keys()
    assert gone == {f"convs.{i}.{part}" for i in (0, 1) for part in ("bias", "hidden_x.bias")}
    assert all(torch.equal(value, biased[name]) for name, value in left.items())


def test_sets_with_other_random_numbers_are_named(tmp_path):
    nodes.run_nodes("Cora", seeds=1, epochs=1, methods=["majority"])
    assert "other random numbers" not in nodes_page()
    path = tmp_path / "experiments" / "results" / "nodes" / "Cora.json"
    date = read_result("nodes/Cora")["environment"]["date"]
    path.write_text(path.read_text().replace(date, "2026-11-16"))
    assert "A repetition gives other digits on Cora.\n" in nodes_page()
