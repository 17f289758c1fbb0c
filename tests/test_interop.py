"""Other libraries' ways of using estimators, layers and networks; docs/interop.md shows them."""

import csv
import doctest
from pathlib import Path

import numpy as np
import pytest
import sklearn
import torch
import torch_geometric.transforms as transforms
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC
from torch_geometric.data import Batch, Data
from torch_geometric.explain import Explainer, GNNExplainer

from rwkplus import GraphClassifier, RandomWalkKernel
from rwkplus.models import GNN, RWNN, KerGNN
from rwkplus.nn import ClosedWalks, EgoNets
from rwkplus.training import GraphDataset, Place, Settings, log_to, train

DOCS = Path(__file__).parents[1] / "docs"
X, Y = ["CCC", "CCO", "CCN", "OCC", "CCCC"] * 4, np.array([0, 1, 1, 1, 0] * 4)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("library", ["gpytorch", "huggingface_hub", "lightning"])
def test_the_page_about_other_libraries_runs(library):
    pytest.importorskip(library)
    if library != "lightning":  # one run for all
        return
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    found = doctest.testfile(str(DOCS / "interop.md"), module_relative=False, optionflags=flags)
    assert found.attempted > 40
    assert found.failed == 0


def test_weights_are_routed_past_a_kernel_to_what_learns_from_it():
    with sklearn.config_context(enable_metadata_routing=True):
        svm = SVC(kernel="precomputed").set_fit_request(sample_weight=True)
        weighted = make_pipeline(RandomWalkKernel(steps=2, normalize=True), svm)
        ones = weighted.fit(X, Y, sample_weight=np.ones(20)).decision_function(X)
        others = weighted.fit(X, Y, sample_weight=np.where(Y, 9.0, 0.1)).decision_function(X)
    assert not np.allclose(ones, others)


def test_a_callback_is_routed_to_networks_in_a_search():
    seen = []
    network = GraphClassifier("gin", epochs=2, ignore=("edge_attr",))
    with sklearn.config_context(enable_metadata_routing=True):
        search = GridSearchCV(network.set_fit_request(callback=True), {"lr": [0.1, 0.01]}, cv=2)
        search.fit(X, Y, callback=seen.append)
    assert len(seen) == (2 * 2 + 1) * 2


def test_transforms_compose_with_those_of_pyg():
    path = Data(x=torch.eye(3), edge_index=torch.tensor([[0, 1], [1, 2]]))
    both = transforms.Compose([transforms.ToUndirected(), EgoNets(hops=1, max_nodes=10), ClosedWalks(steps=2)])
    data = both(path)
    assert data.ego_size.tolist() == [2, 3, 2]
    assert data.closed_walks[:, 1].tolist() == [0.5, 1, 0.5]
    batch = Batch.from_data_list([data, both(path.clone())])
    network = KerGNN(3, 2).eval()
    torch.testing.assert_close(network(batch), network(data).expand(2, 2))
    assert "EgoNets(hops=1, max_nodes=10)" in repr(both)


class Tensors(torch.nn.Module):
    def __init__(self, network):
        super().__init__()
        self.network = network

    def forward(self, x, edge_index):
        return self.network(Data(x=x, edge_index=edge_index))


NETWORKS = {
    "KerGNN": lambda: KerGNN(3, 2, steps=2),
    "RWNN": lambda: RWNN(3, 2, steps=2),
    "GNN": lambda: GNN(3, 2, conv="RWKPlusConv"),
}


@pytest.mark.parametrize("name", NETWORKS)
def test_explanations_point_at_the_nodes_that_count(name):
    """Two components, of which the read-out is told to be about one alone by zero features in the other."""
    torch.manual_seed(0)
    x = torch.tensor([[1.0, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 0], [0, 0, 0]])
    edges = torch.tensor([[0, 1, 1, 2, 3, 4], [1, 0, 2, 1, 4, 3]])
    explainer = Explainer(
        Tensors(NETWORKS[name]().eval()),
        GNNExplainer(epochs=5),
        explanation_type="model",
        node_mask_type="attributes",
        edge_mask_type="object" if name == "GNN" else None,
        model_config={"mode": "multiclass_classification", "task_level": "graph", "return_type": "raw"},
    )
    found = explainer(x, edges)
    assert found.node_mask.shape == x.shape
    assert bool((found.node_mask[:3] * x[:3]).sum() > 0)
    assert not found.node_mask[3:].any()
    if name == "GNN":
        assert found.edge_mask.shape == (6,)


def test_every_epoch_reaches_all_loggers_and_the_callback(tmp_path):
    loggers = pytest.importorskip("lightning_fabric.loggers")
    first, second = (loggers.CSVLogger(tmp_path, name=name, version="") for name in "ab")
    seen = []
    network = GraphClassifier("gin", epochs=3, ignore=("edge_attr",))
    network.fit(X, Y, callback=log_to(first, second, then=seen.append))
    for name in "ab":
        (path,) = (tmp_path / name).rglob("metrics.csv")
        rows = list(csv.DictReader(path.open()))
        assert [int(row["step"]) for row in rows] == [0, 1, 2]
        for row, epoch in zip(rows, network.history_, strict=True):
            assert float(row["train_loss"]) == pytest.approx(epoch["train_loss"], rel=1e-6)
    assert [progress.done for progress in seen] == [1, 2, 3]


def test_tensorboard_and_a_logger_of_ones_own_are_fed_together(tmp_path):
    pytest.importorskip("tensorboard")
    written = []

    class Own:
        def log_metrics(self, metrics, step):
            written.append((step, sorted(metrics)))

        def save(self):
            written.append("saved")

    data = GraphDataset(X, Y, ignore=("edge_attr",))
    place = Place(tmp_path, tensorboard=True)
    train("gin", data, settings=Settings(epochs=1), place=place, callback=log_to(Own()))
    assert written == [(0, ["train_loss", "val_loss", "val_score"]), "saved"]
    assert list(tmp_path.glob("events.out.tfevents.*"))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_lightning_trainer_stops_and_goes_on_with_our_network(tmp_path):
    lightning = pytest.importorskip("lightning")
    from torch_geometric.loader import DataLoader

    from rwkplus.io.pyg import to_pyg
    from rwkplus.table import GraphTable

    class Module(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.network = KerGNN(3, 2, steps=2, step_norm="propagate")

        def training_step(self, batch):
            return torch.nn.functional.cross_entropy(self.network(batch), batch.y)

        def configure_optimizers(self):
            return torch.optim.Adam(self.parameters(), lr=0.01)

    graphs = to_pyg(GraphTable.of(X))
    for graph, label in zip(graphs, Y.tolist(), strict=True):
        graph.y = torch.tensor([label])
    options = {"accelerator": "cpu", "logger": False, "enable_progress_bar": False, "default_root_dir": tmp_path}

    def run(epochs, checkpoint=None):
        lightning.seed_everything(0)
        module, trainer = Module(), lightning.Trainer(max_epochs=epochs, **options)
        trainer.fit(module, DataLoader(graphs, batch_size=10), ckpt_path=checkpoint)
        trainer.save_checkpoint(tmp_path / f"{epochs}.ckpt")
        return module.state_dict()

    whole = run(4)
    run(2)
    torch.testing.assert_close(run(4, tmp_path / "2.ckpt"), whole)
