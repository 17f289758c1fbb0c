import numpy as np
import pytest
from torch_geometric.data import Data

from experiments import anomaly, cross_validated
from experiments.anomaly import anomaly_page, anomaly_table, with_undrawn
from rwkplus.datasets.generators import planted_molecules
from rwkplus.errors import ParameterError


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
