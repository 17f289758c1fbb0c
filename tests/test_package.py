import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from pkgutil import resolve_name

import pytest

import rwkplus


@pytest.mark.parametrize("name", dir(rwkplus))
def test_every_public_name_is_reached_from_the_package(name):
    if name != "__version__":
        assert getattr(rwkplus, name).__name__ in (f"rwkplus.{name}", name)


@pytest.mark.slow
def test_the_names_people_type_are_at_the_top():
    assert len(rwkplus.__all__) <= 15
    code = "import sys; from rwkplus import *; sys.exit(not callable(load))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_editors_see_the_same_names():
    tree = ast.parse(Path(rwkplus.__file__).read_text())
    (block,) = (node for node in tree.body if isinstance(node, ast.If))
    typed = [alias.name for node in block.body for alias in node.names]
    assert sorted(typed, key=str.lower) == sorted(rwkplus.__all__, key=str.lower)


def test_unknown_names_are_attribute_errors():
    with pytest.raises(AttributeError, match="kernel_of_truth"):
        _ = rwkplus.kernel_of_truth


def test_importing_the_package_does_not_import_torch():
    code = "import sys, rwkplus; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize(
    "page",
    ["README.md", "CONTRIBUTING.md", "docs/design.md", "docs/paper.md", "docs/architecture.md", "docs/glossary.md"],
)
def test_links_between_pages_lead_somewhere(page):
    targets = re.findall(r"\]\((?!https?:|#|\[)([^)#]+)", (ROOT / page).read_text())
    assert [target for target in targets if not ((ROOT / page).parent / target).exists()] == []


PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
SUBPACKAGES = {path.parent.name for path in (ROOT / "rwkplus").glob("*/__init__.py")}
FILE_TYPES = {
    "arrow",
    "csv",
    "html",
    "json",
    "jsonl",
    "md",
    "npy",
    "npz",
    "parquet",
    "py",
    "pt",
    "sdf",
    "safetensors",
    "smi",
    "toml",
    "txt",
}


def names_in(page):
    """Dotted names in a page's inline code; pages right in docs/ may leave out the first ``rwkplus.``."""
    short = page.parent.name == "docs"
    for code in re.findall(r"`([^`\n]+)`", page.read_text()):
        for name in re.findall(r"[\w./-]+", code):
            first, *others = name.split(".")
            if not others or not all(map(str.isidentifier, others)) or others[-1] in FILE_TYPES:
                continue
            if first == "rwkplus":
                yield name
            elif short and first in SUBPACKAGES:
                yield f"rwkplus.{name}"


NAMES = sorted({(name, page.relative_to(ROOT).as_posix()) for page in PAGES for name in names_in(page)})


@pytest.mark.parametrize(("name", "page"), NAMES)
def test_names_in_the_documentation_exist(name, page):
    room, _, own = name.rpartition(".")
    if room == "rwkplus.table" and hasattr(rwkplus.GraphTable, own):  # pages call a table by that name
        return
    assert resolve_name(name) is not None


@pytest.mark.slow
def test_names_in_the_guide_are_reached_from_the_package():
    names = [name for name, page in NAMES if page.startswith(("docs/guide", "docs/start")) and name.count(".") <= 2]
    assert "rwkplus.reports.write_network_report" in names
    code = "import sys, operator, rwkplus\nfor name in sys.argv[1:]: operator.attrgetter(name)(rwkplus)"
    relative = [name.removeprefix("rwkplus.") for name in names]
    result = subprocess.run([sys.executable, "-c", code, *relative], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr


def test_the_sdist_has_all_that_tests_read():
    sdist = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["sdist"]
    needed = {"benchmarks", "conftest.py", "docs", "examples", "experiments", "README.md", "rwkplus", "tests"}
    assert needed <= set(sdist.get("include", needed))
    assert not needed & set(sdist.get("exclude", ()))
