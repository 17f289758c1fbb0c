"""The commands as a user meets them: exit codes, files, no tracebacks."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
from scipy import sparse
from typer.main import get_command

from rwkplus.cli.console import RUNNING, title_of, told, write
from rwkplus.cli.main import EXAMPLES, app
from rwkplus.cli.options import GRAPHS
from rwkplus.cli.server import Server
from rwkplus.datasets import load_graphs
from rwkplus.errors import DataError, GraphError, ParameterError, Remedy
from rwkplus.io import sources
from rwkplus.kernels import RandomWalkFeatures, RandomWalkKernel
from rwkplus.mining import load_patterns
from tests.cli.program import invoke


def commands(command, path=()):
    """A command and all below it, with the words that call them."""
    yield path, command
    for name, part in getattr(command, "commands", {}).items():
        yield from commands(part, (*path, name))


COMMANDS = dict(commands(get_command(app)))
EVERY_COMMAND = pytest.mark.parametrize("path", COMMANDS, ids=lambda path: " ".join(("rwkplus", *path)))


def test_the_commands_are_those_of_the_program():
    assert {(), ("mine",), ("classify",), ("train",)} <= COMMANDS.keys()


@EVERY_COMMAND
def test_every_command_has_help(path):
    assert "Usage:" in invoke(*path, "--help")


@pytest.mark.parametrize("name", sorted(name for name, *_ in filter(None, COMMANDS)))
def test_every_command_prints_json_where_programs_read_along(name):
    assert "--json" in {flag for option in COMMANDS[name,].params for flag in option.opts}


def test_every_command_has_an_example_that_it_understands():
    assert [command.__name__ for command in EXAMPLES] == [name for name, *_ in filter(None, COMMANDS)]
    for command, arguments in EXAMPLES.items():
        COMMANDS[command.__name__,].make_context(command.__name__, arguments.split())


def interrupted(*_, **__):
    raise KeyboardInterrupt


@pytest.mark.slow
def test_the_examples_run_one_after_the_other(rwkplus, tmp_path, monkeypatch):
    pytest.importorskip("optuna")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Server, "serve_forever", interrupted)
    names = [command.__name__ for command in EXAMPLES]
    codes = {name: rwkplus(name, *own.split())[::2] for name, own in zip(names, EXAMPLES.values(), strict=True)}
    assert {name: code for name, (code, _) in codes.items()} == dict.fromkeys(names, 0), codes


def test_choices_are_shown_as_choices(monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    shown = invoke("kernel", "--help") + invoke("classify", "--help") + invoke("train", "--help")
    for choices in ("rwk+|rwk-|node-centric", "explicit|blocks", "halve|cosine", "element|charge"):
        assert choices in shown


def test_the_help_names_every_format():
    assert [end for end in sources.FILES if end not in GRAPHS] == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("kernel",), "rwkplus kernel --help."),
        (("kernel", "x", "--stps", "2"), "error: No such option: --stps"),
        (("kernel", "x", "--out", "y", "--kernel", "rw"), "'rw' is not one of 'rwk+', 'rwk-', 'node-centric'."),
        (("kernel", "x", "--out", "y", "--steps", "0"), "'--steps'"),
        (("minee",), "error: No such command 'minee'."),
    ],
)
def test_usage_errors_are_one_line(rwkplus, arguments, message):
    code, stdout, stderr = rwkplus(*arguments)
    assert (code, stdout, stderr.count("\n")) == (2, "", 1)
    assert message in stderr


def test_shells_complete_commands_and_data_sets():
    words = {"rwkplus mi": "mine", "rwkplus mine planted-m": "planted-molecules", "rwkplus kernel --wal": "--walks"}
    code = "import sys; sys.argv[0] = 'rwkplus'; from rwkplus.cli.main import run; run()"
    for typed, wanted in words.items():
        asked = {"_RWKPLUS_COMPLETE": "complete_bash", "COMP_WORDS": typed, "COMP_CWORD": str(typed.count(" "))}
        done = subprocess.run(
            [sys.executable, "-c", code], env=os.environ | asked, capture_output=True, text=True, check=False
        )
        assert wanted in done.stdout.split(), done.stderr


@EVERY_COMMAND
def test_every_command_and_option_says_what_it_does(path):
    command = COMMANDS[path]
    assert (command.help or "").strip()
    assert [option.name for option in command.params if not (option.help or "").strip()] == []


def test_datasets_lists_the_embedded_one():
    rows = json.loads(invoke("datasets", "--json"))["datasets"]
    assert {"functional-groups": "embedded"}.items() <= {row["name"]: row["where"] for row in rows}.items()
    assert "functional-groups" in invoke("datasets")


def test_kernel_writes_the_matrix_of_the_estimator(tmp_path):
    out = tmp_path / "gram.npz"
    facts = json.loads(
        invoke("kernel", "functional-groups", "--steps", "2", "--normalize", "--out", str(out), "--json")
    )
    graphs = load_graphs("functional-groups")
    stored = np.load(out)
    np.testing.assert_array_equal(stored["gram"], RandomWalkKernel(steps=2, normalize=True).fit_transform(graphs))
    np.testing.assert_array_equal(stored["y"], graphs.y.tolist())
    assert facts["graphs"] == 200
    assert facts["route"] == "explicit"


def test_kernel_writes_features_that_scipy_reads(tmp_path):
    out = tmp_path / "features.npz"
    invoke("kernel", "functional-groups", "--steps", "2", "--features", "--out", str(out))
    estimator = RandomWalkFeatures(steps=2)
    expected = estimator.fit_transform(load_graphs("functional-groups"))
    assert (sparse.load_npz(out) != expected).nnz == 0
    assert np.load(out)["names"].tolist() == estimator.get_feature_names_out().tolist()


def test_kernel_writes_a_memory_map_for_npy(tmp_path):
    out = tmp_path / "gram.npy"
    invoke("kernel", "functional-groups", "--steps", "1", "--route", "blocks", "--out", str(out))
    expected = RandomWalkKernel(steps=1).fit_transform(load_graphs("functional-groups"))
    np.testing.assert_array_equal(np.load(out), expected)
    assert [path.name for path in tmp_path.iterdir()] == ["gram.npy"]


@pytest.mark.slow
def test_classify_prints_baselines_beside_the_kernel():
    arguments = (
        "classify",
        "functional-groups",
        "--kernel",
        "rwk+",
        "--steps",
        "2",
        "--folds",
        "3",
        "--inner-folds",
        "2",
    )
    rows = {row["model"]: row["mean"] for row in json.loads(invoke(*arguments, "--json"))["rows"]}
    assert rows["rwk+"] > 95
    assert max(rows["baseline: majority"], rows["baseline: size"], rows["baseline: histogram"]) < 70
    assert "baseline: histogram" in invoke(*arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("classify", "functional-group"), "functional-groups"),
        (("classify", "functional-groups", "--steps", "two"), "--steps"),
        (("classify", "functional-groups", "--kernel", "rwk"), "kernel"),
        (("kernel", "functional-groups", "--out", "gram.txt"), ".npz"),
        (("kernel", "functional-groups", "--out", "no/such/folder/gram.npz"), "no folder"),
        (("kernel", "functional-groups", "--out", "gram.npz", "--decay", "0.5"), "--combine geometric"),
        (("kernel", "functional-groups", "--out", "gram.npz", "--ignore", "edge_atr"), "--ignore edge_attr?"),
        (
            ("kernel", "functional-groups", "--out", "gram.npz", "--node-features", "both"),
            "says nothing about",
        ),
        (
            ("kernel", "functional-groups", "--out", "gram.npz", "--directed"),
            "--directed says nothing about",
        ),
        (("train", "functional-groups", "--out", "run", "--multigraph"), "--multigraph says nothing about"),
        (("train", "functional-groups", "--out", "run", "--jobs", "0"), "0 processes"),
        (("explain", "run", "functional-groups", "--out", "page.txt"), ".html"),
        (("detect", "functional-groups", "--stream"), "--train functional-groups --stream"),
    ],
)
def test_wrong_input_ends_with_code_2_and_one_clear_line(rwkplus, arguments, message):
    code, stdout, stderr = rwkplus(*arguments)
    assert code == 2
    assert message in stderr
    assert "Traceback" not in stderr
    assert stdout == ""


def test_the_module_runs_as_a_program():
    result = subprocess.run([sys.executable, "-m", "rwkplus", "--version"], capture_output=True, text=True, check=True)
    assert result.stdout.startswith("rwkplus ")


def test_an_existing_file_is_not_overwritten_without_force(rwkplus, tmp_path):
    out = tmp_path / "gram.npz"
    out.write_text("precious")
    code, _, stderr = rwkplus("kernel", "functional-groups", "--steps", "1", "--out", str(out))
    assert code == 2
    assert "--force" in stderr
    assert out.read_text() == "precious"
    invoke("kernel", "functional-groups", "--steps", "1", "--out", str(out), "--force")
    assert np.load(out)["gram"].shape == (200, 200)


@pytest.mark.slow
def test_mine_prints_the_patterns_and_stores_their_occurrences(rwkplus, tmp_path):
    folder = tmp_path / "patterns"
    arguments = ("mine", "functional-groups", "--criterion", "blocks", "--patterns", "1", "--controls", "0")
    facts = json.loads(invoke(*arguments, "--out", str(folder), "--json"))
    (ring,) = load_patterns(folder / "patterns.json")
    assert facts["patterns"][0]["support"] == ring.support == 200
    assert ring.labels == ("C",) * 6
    code, _, stderr = rwkplus(*arguments, "--out", str(folder))
    assert code == 2
    assert "--force" in stderr
    assert "6-ring" in invoke(*arguments, "--out", str(folder), "--force")


@pytest.mark.parametrize("name", ["rwkplus[chem]", "C1CC[nH]C(", "functional[/groups]"])
def test_square_brackets_survive(rwkplus, tmp_path, name):
    code, _, stderr = rwkplus("kernel", name + ".smi", "--out", str(tmp_path / "gram.npz"))
    assert code == 2
    assert name in stderr


def test_square_brackets_in_names_of_files(tmp_path):
    assert "g[x].npz" in invoke("kernel", "functional-groups", "--steps", "1", "--out", str(tmp_path / "g[x].npz"))


@pytest.mark.parametrize("command", ["train", "tune", "classify"])
def test_help_tells_defaults(command):
    assert "[default: " in invoke(command, "--help")


def test_json_has_no_nan(tmp_path):
    (tmp_path / "two.smi").write_text("CCO 0\nCCN 1\n" * 2)
    quick = ("--model", "gin", "--ignore", "edge_attr", "--epochs", "1", "--folds", "0", "--validation", "0.25")
    out = invoke("train", str(tmp_path / "two.smi"), *quick, "--json", "--out", str(tmp_path / "run"))
    json.loads(out, parse_constant=pytest.fail)
    json.loads((tmp_path / "run" / "result.json").read_text(), parse_constant=pytest.fail)


def test_labels_behind_smiles_are_classes(tmp_path):
    pytest.importorskip("rdkit", reason="RDKit is the extra 'chem'")
    path = tmp_path / "molecules.smi"
    path.write_text("".join(f"{'C' * n}O yes\n{'C' * n}N no\n" for n in range(1, 7)))
    rows = json.loads(invoke("classify", str(path), "--steps", "1", "--folds", "2", "--inner-folds", "2", "--json"))
    assert rows["graphs"] == 12
    invoke("kernel", str(path), "--steps", "1", "--out", str(tmp_path / "gram.npz"))
    assert set(np.load(tmp_path / "gram.npz")["y"]) == {"yes", "no"}


@pytest.mark.parametrize("in_compiled_code", [False, True])
def test_ctrl_c_is_acknowledged(rwkplus, monkeypatch, in_compiled_code):
    def interrupt(*_, **__):
        if in_compiled_code:
            raise SystemError("CPUDispatcher returned a result with an exception set") from KeyboardInterrupt()
        raise KeyboardInterrupt

    monkeypatch.setattr("rwkplus.datasets.load_graphs", interrupt)
    code, _, err = rwkplus("classify", "functional-groups")
    assert code == 130
    assert err.strip() == "interrupted"


def test_measurements_are_classified_by_the_kernels_that_know_them(tmp_path):
    path = tmp_path / "measured.jsonl"
    edges = [{"source": 0, "target": 1}]
    graphs = [{"nodes": [{"id": v, "x": [v + i / 10]} for v in (0, 1)], "edges": edges, "y": i % 2} for i in range(12)]
    path.write_text("".join(json.dumps(graph) + "\n" for graph in graphs))
    facts = json.loads(invoke("classify", str(path), "--steps", "1", "--folds", "2", "--inner-folds", "2", "--json"))
    assert [row["model"] for row in facts["rows"]][:3] == ["rwk+", "rwk-", "baseline: majority"]


@pytest.mark.parametrize(
    ("command", "more"),
    [
        ("kernel", ("--steps", "1", "--out", "{}/gram.npz")),
        ("classify", ("--steps", "1", "--folds", "2", "--inner-folds", "2")),
        ("mine", ("--out", "{}/patterns", "--patterns", "1", "--controls", "0")),
        ("detect", ()),
        ("train", ("--folds", "0", "--epochs", "1", "--ignore", "edge_attr", "--out", "{}/run")),
    ],
)
def test_commands_read_tables_in_which_every_line_is_an_edge(rwkplus, tmp_path, command, more):
    lines = [f"{i},{u},{v},{how}" for i in range(12) for u, v, how in (("a", "b", "card"), ("a", "b", "cash"), "bca")]
    (tmp_path / "edges.csv").write_text("\n".join(["graph,source,target,label", *lines]))
    targets = [f"{i},{'odd' if i % 2 else 'even'}" for i in range(12)]
    (tmp_path / "graphs.csv").write_text("\n".join(["graph,y", *targets]))
    options = [option.format(tmp_path) for option in more]
    code, _, stderr = rwkplus(command, tmp_path, *options)
    assert code == 2
    assert "line 3: the edge between 'a' and 'b'" in stderr
    assert "--multigraph" in stderr
    invoke(command, str(tmp_path), *options, "--multigraph")


def test_pages_call_the_folder_where_the_user_is_by_its_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert [title_of(name) for name in (".", "./", "MUTAG", "data/edges.csv")] == [
        tmp_path.name,
        tmp_path.name,
        "MUTAG",
        "data/edges.csv",
    ]


MINE, TRAIN, DATASETS = COMMANDS["mine",].params, COMMANDS["train",].params, COMMANDS["datasets",].params
LEAVE_OUT = Remedy("Leave it out: {ignore}.", ignore=("age",))


@pytest.mark.parametrize(
    ("running", "error", "shell"),
    [
        (MINE, ParameterError("n_patterns must be at least 1."), "--patterns must be at least 1."),
        (MINE, ParameterError("patience must be at least 1."), "patience must be at least 1."),
        (MINE, GraphError("no age.", LEAVE_OUT), "no age. Leave it out: --ignore age."),
        (DATASETS, GraphError("no age.", LEAVE_OUT), "no age."),
        (MINE, GraphError("twice.", Remedy("{multigraph}, or {directed}.", multigraph=True, directed=True)),
         "twice. --multigraph, or --directed."),
        (MINE, GraphError("bad.", Remedy("{on_error} goes on.", on_error="skip")), "bad. --skip-bad goes on."),
        (MINE, GraphError("two.", Remedy("{ignore}", ignore=("a b", "c"))), "two. --ignore 'a b' --ignore c"),
        (MINE, GraphError("which?", Remedy("Say {smiles}.", smiles=...)), "which? Say --smiles-column NAME."),
        (TRAIN, GraphError("width.", Remedy("{model_params}", model_params={"d": 2})), "width. --param d=2"),
        (MINE, DataError("gone.", "Fit it again."), "gone. Fit it again."),
    ],
)  # fmt: skip
def test_remedies_are_options_of_the_running_command(running, error, shell):
    token = RUNNING.set(running)
    try:
        assert told(error) == shell
    finally:
        RUNNING.reset(token)


def test_labels_cannot_command_the_terminal(tmp_path):
    edges = [f"{i},{u},{v}" for i in range(20) for u, v in ("ab", "bc", "ca")]
    nodes = [f"{i},{v},\x1b[2J\u202e" for i in range(20) for v in "abc"]
    (tmp_path / "edges.csv").write_text("\n".join(["graph,source,target", *edges]))
    (tmp_path / "nodes.csv").write_text("\n".join(["graph,node,label", *nodes]))
    printed = invoke("mine", str(tmp_path), "--out", str(tmp_path / "out"), "--controls", "0")
    assert r"\x1b[2J\u202e" in printed
    assert not {"\x1b", "\u202e"} & set(printed)


def test_marks_that_turn_the_direction_of_writing_are_spelled_out(tmp_path):
    (tmp_path / "edges.csv").write_text("source,target,label\na,b,pay\u202eee\n", encoding="utf-8")
    shown = invoke("describe", tmp_path / "edges.csv")
    assert r"\u202e" in shown
    assert "\u202e" not in shown


def test_tables_for_programs_are_as_they_are_but_on_terminals(monkeypatch, capsys):
    write("red\x1b[31m,1\n")
    assert capsys.readouterr().out == "red\x1b[31m,1\n"
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    write("red\x1b[31m,1\n")
    assert capsys.readouterr().out == "red\\x1b[31m,1\n"


def test_a_column_of_ids_is_told(rwkplus, tmp_path):
    lines = [f"{i // 3},a{i % 3},b{i % 3},card,tx{i}" for i in range(60)]
    (tmp_path / "pay.csv").write_text("\n".join(["graph,source,target,channel,transfer", *lines]))
    code, _, stderr = rwkplus("detect", tmp_path / "pay.csv")
    assert code == 0
    message = " ".join(stderr.split())
    assert "column 'transfer' of the edges has a different value in nearly every row" in message
    assert "Use --label transfer to compare it. Use --ignore transfer to leave it out." in message
    assert "nearly every row" not in rwkplus("detect", tmp_path / "pay.csv", "--ignore", "transfer")[2]


@pytest.mark.slow
def test_names_of_files_that_are_no_text_are_printed(tmp_path):
    path = tmp_path / os.fsdecode(b"caf\xe9.csv")
    path.write_text("graph,source,target,label\n" + "".join(f"{i},a,b,card\n" for i in range(9)))
    command = [sys.executable, "-m", "rwkplus", "detect", os.fsencode(path)]
    strict = os.environ | {"PYTHONIOENCODING": "utf-8:strict"}
    done = subprocess.run(command, capture_output=True, check=False, env=strict)
    assert done.returncode == 0, done.stderr
