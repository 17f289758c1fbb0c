"""Whatever form graphs come in, every estimator says the same of them."""

import networkx as nx
import numpy as np
import pytest
from torch_geometric.data import Batch

from rwkplus.detect import PatternDetector, SurpriseDetector, WalkKernelDetector
from rwkplus.errors import GraphError
from rwkplus.io.json_lines import write_json_lines
from rwkplus.kernels import RandomWalkFeatures, RandomWalkKernel, RandomWalkNystroem
from rwkplus.mining import PatternMiner
from rwkplus.table import GraphTable
from rwkplus.training import GraphClassifier, GraphRegressor


def payments(count, seed):
    """Rings of people and a shop that some of them pay, with a node alone in the first graph."""
    rng = np.random.default_rng(seed)
    graphs = []
    for i in range(count):
        graph = nx.cycle_graph([f"p{k}" for k in range(3 + i % 3)])
        graph.add_edge("p0", "shop")
        if i == 0:
            graph.add_node("alone")
        for v in graph:
            graph.nodes[v]["kind"] = "shop" if v == "shop" else str(rng.choice(["adult", "child"]))
        for edge in graph.edges:
            graph.edges[edge]["how"] = str(rng.choice(["card", "cash"]))
        graph.graph["name"] = f"day{i}"
        graphs.append(graph)
    return graphs


FITTED, LATER = payments(12, 0), payments(5, 1)


def frames(library):
    def made(graphs, folder):
        pytest.importorskip(library)
        own = GraphTable.of(graphs).to_frames(library)
        return GraphTable.of(edges=own.edges, nodes=own.nodes, graphs=own.graphs)

    return made


def csv_folder(graphs, folder):
    pytest.importorskip("pandas")
    own = GraphTable.of(graphs).to_pandas()
    for name in ("graphs", "nodes", "edges"):
        getattr(own, name).to_csv(folder / f"{name}.csv", index=False)
    return folder


FORMS = {
    "networkx": lambda graphs, folder: graphs,
    "iterator": lambda graphs, folder: iter(graphs),
    "PyG": lambda graphs, folder: GraphTable.of(graphs).to_pyg(),
    "Batch": lambda graphs, folder: Batch.from_data_list(GraphTable.of(graphs).to_pyg()),
    "table": lambda graphs, folder: GraphTable.of(graphs),
    "tables": lambda graphs, folder: list(GraphTable.of(graphs)),
    "pandas": frames("pandas"),
    "polars": frames("polars"),
    "pyarrow": frames("pyarrow"),
    "JSON lines": lambda graphs, folder: write_json_lines(GraphTable.of(graphs), folder / "graphs.jsonl"),
    "JSON lines by name": lambda graphs, folder: str(write_json_lines(GraphTable.of(graphs), folder / "graphs.jsonl")),
    "CSV": csv_folder,
}
MOLECULES = ["CCO", "c1ccccc1O", "CC(=O)N", "C#N", "c1ccccc1C", "CCN", "CC(=O)O", "C1CCCCC1", "c1ccccc1N", "C"]


def rdkit(smiles):
    chem = pytest.importorskip("rdkit.Chem")
    return [chem.MolFromSmiles(own) for own in smiles]


def smi_file(smiles, folder):
    path = folder / "molecules.smi"
    path.write_text("\n".join(smiles))
    return path


def series(smiles, folder):
    return pytest.importorskip("pandas").Series(smiles)


MOLECULE_FORMS = {
    "SMILES": lambda smiles, folder: smiles,
    "array": lambda smiles, folder: np.array(smiles),
    "series": series,
    "RDKit": lambda smiles, folder: rdkit(smiles),
    "file": smi_file,
    "table": lambda smiles, folder: GraphTable.of(smiles),
    "networkx": lambda smiles, folder: GraphTable.of(smiles).to_networkx(),
    "PyG": lambda smiles, folder: GraphTable.of(smiles).to_pyg(),
}


# What estimators say: of graphs they are fitted to and, in the same form or another, of later ones


def kernel(**how):
    def said(fitted, later):
        own = RandomWalkKernel(steps=3, **how)
        return own.fit_transform(fitted), own.transform(later)

    return said


def features(fitted, later):
    own = RandomWalkFeatures(steps=2)
    first = own.fit_transform(fitted)
    return (first @ first.T).toarray(), (own.transform(later) @ first.T).toarray()


def hashed(fitted, later):
    own = RandomWalkFeatures(steps=2, hash_width=512)
    first = own.fit_transform(fitted)
    return first.sum(1), own.transform(later).sum(1)


def nystroem(fitted, later):
    own = RandomWalkNystroem(RandomWalkKernel(steps=2), n_components=6, random_state=0).fit(fitted)
    rows = own.transform(later)
    return rows @ rows.T


def quick_miner():
    return PatternMiner(2, criterion="blocks", n_controls=0, beam_width=5)


def miner(fitted, later):
    later = list(later) if hasattr(later, "__next__") else later  # read twice
    own = quick_miner().fit(fitted)
    patterns = [(sorted(p.labels), p.support, p.graphs) for p in own.patterns_]
    return repr(patterns), own.explained_, own.transform(later), own.score(later)


def surprise(fitted, later):
    own = SurpriseDetector().fit(fitted)
    return -own.fitted_scores_, -own.score_samples(later)


def walk_kernel(fitted, later):
    own = WalkKernelDetector(n_neighbors=2).fit(fitted)
    return -own.fitted_scores_, -own.score_samples(later)


def pattern(fitted, later):
    own = PatternDetector(miner=quick_miner()).fit(fitted)
    return -own.fitted_scores_, -own.score_samples(later)


ESTIMATORS = {
    "explicit": kernel(route="explicit"),
    "blocks": kernel(route="blocks"),
    "node-centric": kernel(kernel="node-centric"),
    "features": features,
    "hashed": hashed,
    "Nystroem": nystroem,
    "miner": miner,
    "surprise": surprise,
    "walk kernel": walk_kernel,
    "pattern": pattern,
}
estimators = pytest.mark.parametrize("said", ESTIMATORS.values(), ids=ESTIMATORS)


def assert_same(one, other):
    if not isinstance(one, tuple):
        one, other = (one,), (other,)
    for a, b in zip(one, other, strict=True):
        if isinstance(a, str):
            assert a == b
        else:
            np.testing.assert_allclose(np.asarray(a), np.asarray(b), atol=1e-9)


@pytest.fixture(name="expected", scope="module")
def _expected():
    """What every estimator says of networkx graphs and of SMILES, worked out once."""
    known = {}

    def find(said, fitted, later):
        key = said, len(fitted)
        if key not in known:
            known[key] = said(fitted, later)
        return known[key]

    return find


def two_folders(tmp_path):
    folders = tmp_path / "fitted", tmp_path / "later"
    for folder in folders:
        folder.mkdir()
    return folders


@estimators
@pytest.mark.parametrize("form", [name for name in FORMS if name != "networkx"])
def test_every_form_of_the_same_graphs_gives_the_same(said, form, expected, tmp_path):
    first, second = two_folders(tmp_path)
    found = said(FORMS[form](FITTED, first), FORMS[form](LATER, second))
    assert_same(found, expected(said, FITTED, LATER))


@estimators
@pytest.mark.parametrize(
    ("fitted", "later"),
    [("networkx", "PyG"), ("PyG", "networkx"), ("table", "JSON lines"), ("CSV", "Batch"), ("polars", "tables")],
)
def test_later_graphs_may_come_in_another_form(said, fitted, later, expected, tmp_path):
    first, second = two_folders(tmp_path)
    found = said(FORMS[fitted](FITTED, first), FORMS[later](LATER, second))
    assert_same(found, expected(said, FITTED, LATER))


@pytest.mark.parametrize(
    "said", [own for own in ESTIMATORS.values() if own is not hashed], ids=lambda own: own.__name__
)
@pytest.mark.parametrize("form", [name for name in MOLECULE_FORMS if name != "SMILES"])
def test_every_form_of_the_same_molecules_gives_the_same(said, form, expected, tmp_path):
    pytest.importorskip("rdkit")
    first, second = two_folders(tmp_path)
    found = said(MOLECULE_FORMS[form](MOLECULES, first), MOLECULE_FORMS[form](MOLECULES[:4], second))
    assert_same(found, expected(said, MOLECULES, MOLECULES[:4]))


@pytest.mark.parametrize("fitted", MOLECULE_FORMS)
@pytest.mark.parametrize("later", MOLECULE_FORMS)
def test_later_molecules_may_come_in_another_form(fitted, later, expected, tmp_path):
    pytest.importorskip("rdkit")
    first, second = two_folders(tmp_path)
    found = features(MOLECULE_FORMS[fitted](MOLECULES, first), MOLECULE_FORMS[later](MOLECULES[:4], second))
    assert_same(found, expected(features, MOLECULES, MOLECULES[:4]))


# Attributes and weights


def measured(graphs):
    """Graphs with numbers on nodes, as PyG calls them, and weights."""
    rng = np.random.default_rng(0)
    made = []
    for graph in graphs:
        own = nx.Graph(nx.convert_node_labels_to_integers(graph).edges)
        own.add_nodes_from(range(len(graph)))
        own = nx.convert_node_labels_to_integers(own, ordering="sorted")
        nx.set_node_attributes(own, {v: (rng.integers(8) / 4, rng.integers(8) / 4) for v in own}, "x")
        nx.set_edge_attributes(own, {edge: rng.integers(1, 4) / 2 for edge in own.edges}, "edge_weight")
        made.append(own)
    return made


@pytest.mark.parametrize("form", ["table", "PyG", "Batch", "JSON lines"])
def test_attributes_and_weights_are_the_same_in_every_form(form, tmp_path):
    first, second = two_folders(tmp_path)
    tables = [GraphTable.of(measured(graphs), weight="edge_weight") for graphs in (FITTED, LATER)]
    forms = {
        "table": lambda table, folder: table,
        "PyG": lambda table, folder: table.to_pyg(),
        "Batch": lambda table, folder: Batch.from_data_list(table.to_pyg()),
        "JSON lines": lambda table, folder: GraphTable.of(
            write_json_lines(table, folder / "graphs.jsonl"), weight="edge_weight"
        ),
    }
    said = kernel(route="blocks")
    assert_same(said(*(forms[form](*own) for own in zip(tables, (first, second), strict=True))), said(*tables))


# Results speak of nodes and graphs as the user does


@pytest.mark.parametrize("form", FORMS)
def test_explanations_and_occurrences_name_nodes_and_graphs(form, tmp_path):
    own = GraphTable.of(FORMS[form](FITTED, tmp_path))
    explained = SurpriseDetector().fit(own).explain(own)
    assert list(explained[0].ids) == list(FITTED[0])
    occurrence = quick_miner().fit(own).patterns_[0].occurrences[0]
    assert occurrence.graph in {graph.graph["name"] for graph in FITTED}
    assert all(isinstance(v, str) for v in occurrence.nodes)


@pytest.mark.parametrize(
    "estimator",
    [
        RandomWalkKernel(),
        RandomWalkFeatures(),
        RandomWalkNystroem(),
        SurpriseDetector(),
        WalkKernelDetector(),
        GraphClassifier(),
        GraphRegressor(),
    ],
)
def test_nothing_is_learned_from_no_graphs(estimator):
    with pytest.raises(GraphError, match="there are no graphs"):
        estimator.fit(GraphTable.of(["CC"])[:0], [])
