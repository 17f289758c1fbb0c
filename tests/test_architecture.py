"""The architecture is a test: imports point one way, the library never prints, and randomness has a seed."""

import ast
from pathlib import Path

import pytest

import rwkplus

ROOT = Path(rwkplus.__file__).parent
LAYERS = [
    "errors", "files", "result_files", "types", "ops", "functional", "graphs", "data", "loader", "kernels", "nn",
    "models", "tasks", "viz", "mining", "detect", "reports", "evaluate", "reproduce", "cli",
]  # fmt: skip
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


def called(tree):
    return {ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}


@pytest.mark.parametrize("path", FILES)
def test_imports_follow_the_layers(path):
    layer = layer_of(path)
    if layer in ("__init__", "__main__"):
        return
    assert layer in LAYERS, f"{layer} has no place in the layers"
    for used in imported_layers(ast.parse(path.read_text())):
        if not used.startswith("__"):  # from rwkplus import __version__
            assert LAYERS.index(used) <= LAYERS.index(layer), f"{layer} must not import {used}"


@pytest.mark.parametrize("path", FILES)
def test_the_library_does_not_print(path):
    writers = (
        {"print", "pprint"} if layer_of(path) == "cli" else {"print", "pprint", "sys.stdout.write", "sys.stderr.write"}
    )
    assert not writers & called(ast.parse(path.read_text()))


@pytest.mark.parametrize("path", FILES)
def test_global_seeds_are_set_only_by_commands(path):
    if layer_of(path) != "cli":
        assert not set(GLOBAL_SEEDS) & called(ast.parse(path.read_text()))


def test_errors_import_nothing():
    tree = ast.parse((ROOT / "errors.py").read_text())
    assert not any(isinstance(node, ast.Import | ast.ImportFrom) for node in ast.walk(tree))


@pytest.mark.parametrize(
    "source", ["from rwkplus.cli import main", "import rwkplus.cli.main", "from rwkplus import cli"]
)
def test_every_way_of_importing_is_seen(source):
    assert list(imported_layers(ast.parse(source))) == ["cli"]
