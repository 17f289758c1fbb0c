import numpy as np
import pytest
from typer.testing import CliRunner

from experiments import molecules
from experiments.molecules import (
    EXPERIMENTS,
    ROWS,
    Plan,
    counts,
    molecule_guards,
    molecule_sets_page,
    molecule_table,
    run_molecules,
)
from experiments.records import RESULTS, read_result, save_result
from rwkplus.datasets.molecule_sets import load_molhiv, load_zinc
from rwkplus.errors import DataError, ParameterError
from tests.datasets.molecule_files import ogb_tables, write_ogb, zinc_arrays

SMALL = {"epochs": 2, "layers": 1, "hidden": 4}


@pytest.fixture(name="files")
def _files(tmp_path, monkeypatch):
    """Small data of every set, and a folder of our own for results."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RWKPLUS_DATA", str(tmp_path))
    (tmp_path / "ZINC").mkdir()
    np.savez(tmp_path / "ZINC" / "zinc12k.npz", **zinc_arrays())
    write_ogb(tmp_path / "ogbg-molhiv" / "ogbg_molhiv", ogb_tables())
    write_ogb(tmp_path / "ogbg_molpcba", ogb_tables(num_labels=128))
    return tmp_path


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_row_runs_on_every_set(files, name):
    scores = run_molecules(Plan(EXPERIMENTS[name], **SMALL), seeds=[0])
    assert list(scores) == [*ROWS, "guards"]
    assert all(np.isfinite(scores[row][0]["test"]) for row in ROWS)
    stored = read_result(f"molecules/{name}")
    assert stored["values"]["scores"] == scores
    assert stored["config"]["command"].startswith(f"python -m experiments {name} --epochs 2")


def test_a_command_goes_on_where_it_stopped(files, monkeypatch):
    runs, run = [], Plan.run

    def counted(self, row, seed):
        runs.append((row, seed))
        return run(self, row, seed)

    monkeypatch.setattr(Plan, "run", counted)
    plan = Plan(EXPERIMENTS["zinc"], **SMALL)
    first = run_molecules(plan, seeds=[0], rows=["GCN"])
    both = run_molecules(plan, seeds=[0, 1], rows=["GCN", "GIN"])
    assert runs == [("GCN", 0), ("GIN", 0), ("GCN", 1), ("GIN", 1)]
    assert both["GCN"][0] == first["GCN"][0]
    assert [entry["seed"] for entry in both["GCN"]] == [0, 1]
    (files / RESULTS / "molecules" / "zinc.json").unlink()
    again = run_molecules(plan, seeds=[0], rows=["GCN"])  # from the network that was kept
    assert again["GCN"][0]["test"] == pytest.approx(first["GCN"][0]["test"])
    assert first["GCN"][0]["s_per_epoch"] > 0
    assert again["GCN"][0]["s_per_epoch"] is None  # nothing was trained


def test_other_settings_and_other_molecules_are_refused(files, monkeypatch):
    scores = run_molecules(Plan(EXPERIMENTS["zinc"], **SMALL), seeds=[0], rows=["GCN"])
    monkeypatch.setattr(Plan, "run", None)  # refused before anything is trained
    with pytest.raises(DataError, match=r"molecules/zinc\.json .* settings\.epochs \(2 there, 1 now\)"):
        run_molecules(Plan(EXPERIMENTS["zinc"], **SMALL | {"epochs": 1}), seeds=[0], rows=["GIN"])
    arrays = zinc_arrays()
    arrays["test_y"] = arrays["test_y"] + 1
    np.savez(files / "other.npz", **arrays)
    with pytest.raises(DataError, match=r"molecules/zinc\.json .* data\.digest"):
        run_molecules(Plan(EXPERIMENTS["zinc"], **SMALL, data=files / "other.npz"), seeds=[0], rows=["GIN"])
    assert read_result("molecules/zinc")["values"]["scores"] == scores


def test_the_configuration_names_the_molecules(files):
    facts = Plan(EXPERIMENTS["zinc"], **SMALL).config["data"]
    molecules = load_zinc()
    parts = {"train": molecules.train, "validation": molecules.validation, "test": molecules.test}
    assert {name: facts[name] for name in parts} == {name: len(part) for name, part in parts.items()}
    assert load_zinc(files / "ZINC" / "zinc12k.npz").facts == facts
    changed = load_zinc()
    changed.graphs[3].edge_attr[0] ^= 1
    assert changed.facts["digest"] != facts["digest"]


def test_a_learning_rate_of_zero_is_refused(files):
    with pytest.raises(ParameterError, match="lr must be a number of more than 0, got 0"):
        run_molecules(Plan(EXPERIMENTS["zinc"], **SMALL, lr=0.0), seeds=[0], rows=["GCN"])


def test_only_rows_with_bonds_see_bonds(files):
    plan = Plan(EXPERIMENTS["zinc"], **SMALL)
    assert [row for row in ROWS if "edge_categories" in plan.params(row)] == [row for row in ROWS if "bonds" in row]
    assert not plan.plain.inputs.reader.edges.exists
    layer = {"conv", "edge_categories", "combine", "normalize", "initial_scale", "closed_walks"}
    backbones = [{k: v for k, v in plan.params(row).items() if k not in layer} for row in ROWS]
    assert all(backbone == backbones[0] for backbone in backbones)
    walks = [plan.params(row)["closed_walks"] for row in ROWS if "closed walks" in row]
    assert walks == [20, 20]


def test_runs_of_a_layer_with_other_parameters_are_not_taken_over(files, monkeypatch):
    plan, row = Plan(EXPERIMENTS["zinc"], **SMALL), "RWK+Conv"
    first = run_molecules(plan, seeds=[0], rows=[row])[row]
    assert run_molecules(plan, seeds=[0], rows=[row])[row] == first
    monkeypatch.setitem(ROWS, row, ROWS[row] | {"initial_scale": 0.5})
    (second,) = run_molecules(plan, seeds=[0], rows=[row])[row]
    assert second["layer"]["initial_scale"] == 0.5


def test_unknown_rows_are_refused(files):
    with pytest.raises(ParameterError, match="no row 'GAT'; known are GCN; GCN, not normalized; GIN"):
        run_molecules(Plan(EXPERIMENTS["zinc"], **SMALL), rows=["GAT"])


def test_guards_count_atoms_and_bonds(files):
    molecules = load_zinc()
    atoms = counts(molecules, "x")
    assert atoms.sum(1).tolist() == [graph.num_nodes for graph in molecules.graphs]
    assert atoms[0].tolist() == np.bincount(molecules.graphs[0].x.flatten(), minlength=3).tolist()
    guards = molecule_guards(molecules, "mae")
    test = np.array([float(molecules.graphs[i].y) for i in molecules.test])
    train = np.array([float(molecules.graphs[i].y) for i in molecules.train])
    assert guards["constant"] == pytest.approx(np.abs(test - np.median(train)).mean(), rel=1e-5)
    assert guards["atoms"] < guards["constant"]


def test_a_constant_ranks_nothing_and_oxygen_is_counted(files):
    many = write_ogb(files / "many", ogb_tables(num_graphs=90))
    guards = molecule_guards(load_molhiv(many), "roc_auc")
    assert guards["constant"] == 0.5
    assert guards["atoms"] == 1.0


def test_the_page_shows_paper_ours_and_guards(files):
    assert molecule_sets_page() is None
    run_molecules(Plan(EXPERIMENTS["zinc"], **SMALL), seeds=[0, 1], rows=["RWK+Conv"])
    page, table = molecule_sets_page(), molecule_table("zinc")
    assert table in page
    assert "| RWK+Conv | 0.2082 | " in table
    assert "guard: atoms and bonds" in table
    assert "another draw from the same pool" in page
    assert "--seeds 2 --rows 'RWK+Conv'`" in page
    assert "Closed walks" not in page


@pytest.mark.parametrize(
    ("tests", "told"),
    [
        ([0.2, 0.22], "0.2100 ± 0.0100 (2 seeds), within two standard errors of the paper's 0.2082."),
        ([0.1, 0.11], "0.1050 ± 0.0050 (2 seeds), better than the paper's 0.2082."),
        ([0.3], "0.3000 (1 seed), worse than the paper's 0.2082."),
    ],
)
def test_the_headline_weighs_both_errors(tests, told):
    headline = molecules._headline("zinc", {"RWK+Conv": [{"test": value} for value in tests]})
    assert headline == f". RWK+Conv reaches {told}"


def test_the_other_backbone_has_its_own_file_and_section(files):
    usual, other = (Plan(EXPERIMENTS["zinc"], **SMALL, feed_forward=given) for given in (True, False))
    assert usual.config == Plan(EXPERIMENTS["zinc"], **SMALL).config
    for plan in (usual, other):
        run_molecules(plan, seeds=[0], rows=["GIN"])
    assert (usual.params("GIN")["feed_forward"], other.params("GIN")["feed_forward"]) == (True, False)
    page = molecule_sets_page()
    assert molecule_table("zinc") in page
    assert molecule_table("zinc", "--no-feed-forward") in page
    assert "nothing but BatchNorm and ReLU" in page
    assert "--hidden 4 --no-feed-forward --lr" in page


def test_seconds_are_of_the_machine_that_is_named(files):
    plan = Plan(EXPERIMENTS["zinc"], **SMALL)
    runs = run_molecules(plan, seeds=[0], rows=["GIN"])["GIN"]
    assert f"| {runs[0]['s_per_epoch']:.1f} |" in molecule_table("zinc")
    elsewhere = {"GIN": [*runs, {**runs[0], "seed": 1, "s_per_epoch": 99.0, "cpu": "another"}]}
    save_result(plan.result, plan.config, {"scores": elsewhere})
    assert f"| 2 | {runs[0]['s_per_epoch']:.1f} |" in molecule_table("zinc")


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_set_is_a_command(files, name, monkeypatch):
    import typer

    app, asked = typer.Typer(), []
    app.command()(getattr(molecules, name))

    def run(plan, **options):
        asked.append((plan, options))

    monkeypatch.setattr("experiments.molecules.run_molecules", run)
    monkeypatch.setattr("experiments.molecules.molecule_table", lambda name, variant: "table")
    result = CliRunner().invoke(
        app, ["--seeds", "2", "--first-seed", "5", "--rows", "GIN", "--hidden", "8", "--lr", "0.5"]
    )
    assert result.exit_code == 0, result.output
    ((plan, options),) = asked
    assert (plan.experiment.name, plan.hidden, plan.epochs, plan.layers) == (name, 8, 100, None)
    assert (plan.settings(0).lr, "--lr 0.5" in plan.config["command"]) == (0.5, True)
    assert (list(options["seeds"]), options["rows"]) == ([5, 6], ["GIN"])
