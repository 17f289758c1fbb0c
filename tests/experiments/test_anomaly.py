import numpy as np
import pytest
from torch_geometric.data import Data

from experiments import anomaly, cross_validated
from experiments.anomaly import anomaly_page, anomaly_table, with_undrawn
from experiments.records import read_result
from rwkplus.datasets.generators import planted_molecules
from rwkplus.errors import DataError, ParameterError


@pytest.fixture
def small(tmp_path, monkeypatch):
    """Two small screens and a grid of one point."""
    monkeypatch.chdir(tmp_path)

    def load(name):
        return planted_molecules()[:80].with_targets([i % 2 for i in range(80)])

    monkeypatch.setattr(anomaly, "load_graphs", load)
    monkeypatch.setattr(anomaly, "SCREENS", {"MCF-7": (100, 30), "PC-3": (100, 30)})
    monkeypatch.setattr(anomaly, "GRID", [{"num_hidden": 2, "hidden_nodes": 3, "steps": steps} for steps in (1, 2)])


def test_a_small_run_is_written_method_by_method_and_not_repeated(small, monkeypatch):
    runs = []
    run = cross_validated.cross_validate
    monkeypatch.setattr(cross_validated, "cross_validate", lambda *a, **o: runs.append(a[0]) or run(*a, **o))
    scores = {name: anomaly.run_anomaly(name, epochs=2) for name in ("MCF-7", "PC-3")}
    assert len(runs) == 2 * len(anomaly.METHODS)
    assert anomaly.run_anomaly("PC-3", epochs=2) == scores["PC-3"]
    assert len(runs) == 2 * len(anomaly.METHODS)
    fold = scores["PC-3"]["iGAD + RWK+"][0]
    assert set(fold["scores"]) == {*anomaly.SCORES, anomaly.UNDRAWN}
    assert set(scores["PC-3"]["guards"]) == {"majority", "size", "histogram"}
    assert scores["PC-3"]["guards"]["majority"] == [0.5] * cross_validated.FOLDS  # however rare the other class is
    # Nine of ten inactives are recalled, and three of ten undrawn actives.
    assert with_undrawn({"recall": 0.7, "positive_recall": 0.5, anomaly.UNDRAWN: 0.3}) == pytest.approx(0.6)
    page = anomaly_page()
    assert "whose kernel sees no features: RWK+ is ahead on" in page
    assert anomaly_table(["PC-3"]) in page.replace(anomaly_table(["MCF-7"]).splitlines()[-1] + "\n", "")


def test_undrawn_actives_are_judged_by_the_network_that_was_chosen(small, monkeypatch):
    asked = []
    read = anomaly.load

    def remember(path):
        asked.append((path.parent.parent.name, read(path)))
        return asked[-1][1]

    monkeypatch.setattr(anomaly, "load", remember)
    folds = anomaly.run_anomaly("PC-3", epochs=2, methods=["iGAD + RWK+"])["iGAD + RWK+"]
    assert "--seed 0 --method 'iGAD + RWK+'`" in anomaly_page()
    undrawn = [Data(x=g.x, edge_index=g.edge_index) for g in anomaly.load_screen("PC-3").undrawn.to_pyg()]
    assert len(undrawn) == 40 - 17
    for i, (fold, (folder, network)) in enumerate(zip(folds, asked, strict=True)):
        assert folder == f"fold-{i}"
        assert network.trained_.params == fold["params"]
        assert fold["scores"][anomaly.UNDRAWN] == np.mean(network.predict(undrawn) == 1)


def test_no_page_without_a_run(tmp_path):
    assert anomaly_page(tmp_path) is None


def test_unknown_rows_are_refused_before_any_work():
    with pytest.raises(ParameterError, match="there is no row 'GIN'; known are iGAD"):
        anomaly.anomaly(method=["GIN"])


def write_screen(folder, name, labels):
    """A screen as the TU collection has it: molecules of three to five atoms, all bonds in both directions."""
    sizes = [3 + i % 3 for i in range(len(labels))]
    first = np.cumsum([1, *sizes])[:-1]
    edges = [(start + v, start + v + 1) for start, size in zip(first, sizes, strict=True) for v in range(size - 1)]
    files = {
        "A": [f"{u}, {v}" for edge in edges for u, v in (edge, edge[::-1])],
        "edge_labels": [0] * (2 * len(edges)),
        "graph_indicator": np.repeat(np.arange(1, len(sizes) + 1), sizes),
        "graph_labels": labels,
        "node_labels": [v % 3 for v in range(sum(sizes))],
    }
    (folder / name).mkdir()
    for part, lines in files.items():
        (folder / name / f"{name}_{part}.txt").write_text("".join(f"{line}\n" for line in lines))


def test_full_screens_are_read_from_their_files_and_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RWKPLUS_DATA", str(tmp_path))
    monkeypatch.setattr(anomaly, "GRID", [{"num_hidden": 2, "hidden_nodes": 3, "steps": 1}])
    write_screen(tmp_path, "P388", [int(i % 6 == 0) for i in range(60)])
    anomaly.anomaly(dataset=["P388"], full=True, epochs=1, method=[anomaly.ORIGINAL, "iGAD + RWK+"])
    (file,) = anomaly.full_screens()
    record = read_result(f"anomaly/{file}")
    assert (record["config"]["graphs"], record["config"]["actives"], record["config"]["undrawn"]) == (60, 10, 0)
    assert anomaly.UNDRAWN not in record["values"]["scores"]["iGAD + RWK+"][0]["scores"]
    page = anomaly_page()
    assert "## Full screens" in page
    assert "| P388 | 60 | 10 (16.7%) | 83.1 | 84.0 |" in page
    assert "anomaly --dataset P388 --epochs 1 --patience 50 --seed 0 --full --method" in page


def test_a_full_screen_must_have_two_classes(tmp_path, monkeypatch):
    monkeypatch.setenv("RWKPLUS_DATA", str(tmp_path))
    write_screen(tmp_path, "P388", [0, 1, 2] * 5)
    with pytest.raises(DataError, match="P388 must have two classes, inactive and active; it has 3"):
        anomaly.load_screen("P388", full=True)
