"""The architecture is a test: imports point one way, the library never prints, and randomness has a seed."""

import ast
import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

import rwkplus

ROOT = Path(rwkplus.__file__).parent
LAYERS = [
    "errors", "tensors", "files", "types", "progress", "saving", "hub", "loops", "table", "io", "datasets", "drawing",
    "kernels", "mining", "detect", "functional", "nn", "models", "large", "training", "descriptive", "reports", "cli",
]  # fmt: skip
LATER = {("table", "io"), ("mining", "descriptive")}
"""What a layer may import from a higher one, in a function: ``GraphTable.of``, and candidates that need PyTorch."""
WITHOUT_TORCH = (
    "rwkplus", "rwkplus.table", "rwkplus.io", "rwkplus.kernels", "rwkplus.mining", "rwkplus.detect", "rwkplus.datasets",
    "rwkplus.reports", "rwkplus.drawing", "rwkplus.progress", "rwkplus.saving", "rwkplus.hub", "rwkplus.cli.main",
)  # fmt: skip
FILES = [pytest.param(path, id=path.relative_to(ROOT).as_posix()) for path in sorted(ROOT.rglob("*.py"))]
GLOBAL_SEEDS = ("torch.manual_seed", "np.random.seed", "numpy.random.seed", "random.seed", "torch.cuda.manual_seed")


def layer_of(path):
    return path.relative_to(ROOT).with_suffix("").parts[0]


def imported_layers(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"line {node.lineno}: relative import"
            modules = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        else:
            continue
        for module in modules:
            if module.startswith("rwkplus."):
                yield module.split(".")[1]


def is_for_types(node):
    """Whether a statement is no import at run time: a function, a class with methods, or ``if TYPE_CHECKING``."""
    return isinstance(node, ast.FunctionDef | ast.ClassDef | ast.If)


def called(tree):
    return {ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}


@pytest.mark.parametrize("path", FILES)
def test_imports_follow_the_layers(path):
    layer = layer_of(path)
    if layer in ("__init__", "__main__"):
        return
    assert layer in LAYERS, f"{layer} has no place in the layers"
    tree = ast.parse(path.read_text())
    at_once = set(imported_layers(ast.Module([node for node in tree.body if not is_for_types(node)], [])))
    for used in imported_layers(tree):
        if not used.startswith("__"):  # from rwkplus import __version__
            later = (layer, used) in LATER and used not in at_once
            assert later or LAYERS.index(used) <= LAYERS.index(layer), f"{layer} must not import {used}"


@pytest.mark.slow
@pytest.mark.parametrize("module", WITHOUT_TORCH)
def test_the_array_wing_leaves_torch_out(module):
    code = f"import sys, {module}; sys.exit(bool({{'torch', 'torch_geometric'}} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


NO_TORCH = """
import sys

class Absent:
    def find_spec(name, *_):
        if name.partition(".")[0] in ("torch", "torch_geometric", "torchmetrics", "lightning_fabric"):
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Absent)
from rwkplus.cli.main import run
run()
"""
COMMANDS = [
    ["mine", "planted-molecules", "--patterns", "1", "--controls", "0", "--out", "mined"],
    ["detect", "--out", "detected"],
    ["kernel", "functional-groups", "--steps", "2", "--out", "gram.npz"],
    ["classify", "functional-groups", "--kernel", "rwk+", "--steps", "1", "--folds", "2", "--inner-folds", "2"],
    ["datasets"],
]


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_commands_without_networks_run_where_there_is_no_torch(command, tmp_path):
    done = subprocess.run([sys.executable, "-c", NO_TORCH, *command], cwd=tmp_path, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("room", ["nn", "models", "training", "functional", "large", "descriptive"])
def test_the_tensor_wing_says_what_it_needs(room):
    code = f"import sys; sys.modules['torch'] = None; import rwkplus.{room}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "MissingExtraError" in done.stderr
    assert "pip install 'rwkplus[nn]'" in done.stderr


@pytest.mark.parametrize("path", FILES)
def test_the_library_does_not_print(path):
    writers = (
        {"print", "pprint"} if layer_of(path) == "cli" else {"print", "pprint", "sys.stdout.write", "sys.stderr.write"}
    )
    assert not writers & called(ast.parse(path.read_text()))


@pytest.mark.slow
@pytest.mark.parametrize("path", FILES)
def test_global_seeds_are_set_only_by_commands(path):
    if layer_of(path) != "cli":
        assert not set(GLOBAL_SEEDS) & called(ast.parse(path.read_text()))


def test_errors_import_nothing():
    tree = ast.parse((ROOT / "errors.py").read_text())
    assert not any(isinstance(node, ast.Import | ast.ImportFrom) for node in ast.walk(tree))


@pytest.fixture(scope="module")
def architecture():
    spec = spec_from_file_location("architecture", ROOT.parent / "docs" / "architecture.py")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_about_the_architecture_has_every_room(architecture):
    assert architecture.rooms_table() in architecture.PAGE.read_text(), "run python docs/architecture.py"
    drawn = {room for _, rooms in architecture.LAYERS for room in rooms}
    assert drawn == set(architecture.rooms())
    assert architecture.picture() == architecture.PICTURE.read_text()
    assert [room for room, about in architecture.rooms().items() if not about.endswith(".")] == []


def test_the_picture_has_the_wings_apart(architecture):
    array_wing = {room.removeprefix("rwkplus.").partition(".")[0] for room in WITHOUT_TORCH}
    assert not architecture.TENSORS & array_wing


def test_imports_point_down_in_the_picture(architecture):
    row = {room: i for i, (_, rooms) in enumerate(architecture.LAYERS) for room in rooms}
    for path in ROOT.rglob("*/*.py"):
        room = layer_of(path)
        for used in set(imported_layers(ast.parse(path.read_text()))) & row.keys():
            assert (room, used) in LATER or row[used] >= row[room], f"{room} imports {used}, which is above it"


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_data_flow_as_the_page_says(architecture):
    calls = architecture.example_calls()
    for name, said in architecture.paths().items():
        reached = iter(architecture.files_behind(calls[name]))
        assert all(file in reached for file in said), f"{name} does not pass through {said} in this order"


@pytest.mark.parametrize(
    "source", ["from rwkplus.cli import main", "import rwkplus.cli.main", "from rwkplus import cli"]
)
def test_every_way_of_importing_is_seen(source):
    assert list(imported_layers(ast.parse(source))) == ["cli"]


@pytest.mark.parametrize("path", FILES)
def test_the_library_knows_nothing_of_experiments_and_benchmarks(path):
    text = path.read_text()
    assert "from experiments" not in text
    assert "import experiments" not in text
    assert "benchmarks import" not in text
