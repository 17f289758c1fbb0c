from functools import partial

import networkx as nx
import numpy as np
import pytest

from experiments import contrast, contrast_features, toxicophores
from experiments.gspan_features import frequent_subgraphs, most_telling, presence_of
from rwkplus.datasets.generators import functional_groups, planted_molecules
from rwkplus.mining.reading import PatternReader


def test_a_planted_contrast_is_found_and_permuted_classes_are_not(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(contrast, "CELLS", ((True, 5),))
    monkeypatch.setattr(contrast, "CARRIERS", 1.0)
    monkeypatch.setattr(contrast, "contrasted_database", partial(contrast.contrasted_database, num_graphs=400))
    (row,) = contrast.run_contrast(1)
    assert (row["first"], row["silent"]) == (1, 1)
    assert "| cyclic | 5 | 1 | 100% | 100% | 100% |" in contrast.contrast_section()


def test_what_was_missed_is_told(monkeypatch):
    monkeypatch.setattr(contrast, "CARRIERS", 0.0)
    monkeypatch.setattr(contrast, "contrasted_database", partial(contrast.contrasted_database, num_graphs=100))
    case = contrast._case(0, 5, cyclic=True)
    assert not case["first"]
    assert case["miss"]["found"] == []
    assert case["miss"]["p"] > 0.001


def test_groups_are_found_by_elements_and_bonds():
    epoxide, nitro = toxicophores.TOXICOPHORES["three-ring heterocycle"], toxicophores.TOXICOPHORES["nitro"]
    ring = nx.cycle_graph(3)
    nx.set_node_attributes(ring, {0: "C", 1: "C", 2: "O"}, "label")
    nx.set_edge_attributes(ring, "-", "label")
    assert toxicophores.has_group(ring, epoxide)
    assert not toxicophores.has_group(ring, nitro)
    ring.edges[0, 1]["label"] = "="
    assert not toxicophores.has_group(ring, epoxide)


def test_known_groups_are_told_beside_patterns(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(toxicophores, "load_graphs", lambda name: functional_groups(100))
    values = toxicophores.run_toxicophores("Mutagenicity")
    assert values["groups"]["nitro"] == [50, 50]  # the isomer is an N with two O as well
    assert values["groups"]["azo"] == [0, 0]
    assert sorted(values["patterns"][0]["support"]) == [0, 50]
    assert values["patterns"][0]["goes with"]["nitro"] == 1.0
    assert "### Mutagenicity" in toxicophores.toxicophores_section()


@pytest.fixture
def database():
    graphs = planted_molecules(60)
    return PatternReader.fit(graphs, (), n_classes=8, structural=False, seed=0).read(graphs), graphs


def test_shapes_of_gspan_occur_where_it_says(database):
    pytest.importorskip("gspan_mining")
    found = frequent_subgraphs(database[0], 0.4, 4, 60)
    assert found.complete
    assert len(found.shapes) > 5
    assert (presence_of(found.shapes, database[0]) == found.presence).all()


def test_the_most_telling_shapes_come_first(database):
    pytest.importorskip("gspan_mining")
    found = frequent_subgraphs(database[0], 0.2, 4, 60)
    y = np.asarray(database[1].y).astype(int)
    first = presence_of(most_telling(found, y, 1), database[0])[:, 0]
    assert abs(first[y == 1].mean() - first[y == 0].mean()) > 0.3
    assert not most_telling(found._replace(shapes=[]), y, 1)


def test_all_features_share_folds_and_are_shown(tmp_path, monkeypatch):
    pytest.importorskip("gspan_mining")
    monkeypatch.chdir(tmp_path)
    graphs = functional_groups(120)
    part = contrast_features.Labelled(graphs, np.asarray(graphs.y).astype(int), None, 120)
    monkeypatch.setattr(contrast_features, "load_part", lambda name, graphs: part)
    monkeypatch.setitem(contrast_features.GSPAN, "most_nodes", 4)
    scores = contrast_features.run_contrast_features("NCI1", 2, 0)
    assert "Morgan fingerprints" not in scores
    assert np.mean([fold["auroc"] for fold in scores["contrast patterns"]]) > 0.9
    assert "NCI1: 120 of 120 graphs, 60 of class 1, 2 folds" in contrast_features.contrast_features_section()
