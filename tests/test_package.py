import ast
import re
import subprocess
import sys
import tarfile
import tomllib
from email import message_from_bytes
from importlib.metadata import distributions
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from pkgutil import resolve_name
from zipfile import ZipFile

import pytest
import yaml

import rwkplus
from tests import release


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


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Wheel and sdist, as ``make release`` builds them, but with the backend that is installed."""
    pytest.importorskip("hatchling")
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "hatchling", "build", "--directory", str(folder)]
    subprocess.run(command, check=True, cwd=ROOT, capture_output=True)
    (wheel,), (sdist,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    return wheel, sdist


def source_files(*folders):
    found = (path for folder in folders for path in (ROOT / folder).rglob("*") if path.is_file())
    return {path.relative_to(ROOT).as_posix() for path in found if not set(path.parts) & {"__pycache__", "_build"}}


@pytest.mark.slow
def test_the_wheel_has_the_package_and_nothing_else(built):
    with ZipFile(built[0]) as wheel:
        names = set(wheel.namelist())
        about = message_from_bytes(wheel.read(f"rwkplus-{rwkplus.__version__}.dist-info/METADATA"))
    inside = {name for name in names if ".dist-info/" not in name}
    assert inside == source_files("rwkplus")
    assert "rwkplus/py.typed" in inside
    assert {name.partition("/")[2] for name in names - inside} == {
        "METADATA", "RECORD", "WHEEL", "entry_points.txt", "licenses/LICENSE",
    }  # fmt: skip
    assert about["License-Expression"] == "MIT"
    assert about["Requires-Python"] == ">=3.11"
    assert about["Description-Content-Type"] == "text/markdown"
    assert about.get_payload().startswith("# rwkplus\n")
    assert re.findall(r"\]\((?!https:)|!\[|docs/_static", about.get_payload()) == []  # leads nowhere on an index
    versions = {line.rpartition(" ")[2] for line in about.get_all("Classifier") if "Python :: 3." in line}
    assert versions == {"3.11", "3.12", "3.13", "3.14"}


@pytest.mark.slow
def test_the_sdist_has_all_that_tests_read(built):
    with tarfile.open(built[1]) as sdist:
        names = {name.partition("/")[2] for name in sdist.getnames()}
    kept = source_files("benchmarks", "examples", "experiments", "rwkplus", "tests")
    ignored = {name for name in kept if name.endswith((".npy", ".npz"))}
    assert kept - ignored <= names
    assert {"conftest.py", "constraints.txt", "CITATION.cff", "CHANGELOG.md", "Makefile", "docs/data.md"} <= names
    assert not any(name.startswith((".ci", ".venv", "dist")) for name in names)


def test_every_extra_is_tried_before_a_release():
    assert set(release.TRIALS) == set(release.extras())


def test_the_citation_is_of_this_version():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["version"] == rwkplus.__version__
    assert citation["cff-version"] == "1.2.0"
    assert {"title", "message", "authors", "license", "preferred-citation"} <= set(citation)
    assert citation["license"] == tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["license"]


@pytest.fixture(scope="module")
def licenses():
    spec = spec_from_file_location("licenses", ROOT / "docs" / "licenses.py")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_licenses_of_all_dependencies_are_told(licenses):
    rows = re.findall(r"^\| ([\w.-]+) \| ([^|]+) \|(?: ([^|]+) \|)?$", licenses.PAGE.read_text(), re.MULTILINE)
    told = {
        name: extras.split(", ") if extras else []
        for name, told, extras in rows
        if "---" not in name and told != "license"
    }
    assert told == licenses.needed(), "run python docs/licenses.py"


@pytest.mark.slow
def test_the_licenses_are_those_of_the_packages(licenses):
    pinned = dict(line.split("==") for line in (ROOT / "constraints.txt").read_text().splitlines() if "==" in line)
    installed = {found.metadata["Name"].lower(): found.version for found in distributions()}
    for name, told in re.findall(r"^\| ([\w.-]+) \| ([^|]+) \|", licenses.PAGE.read_text(), re.MULTILINE):
        if name in pinned and installed.get(name, "").partition("+")[0] == pinned[name]:
            assert told == licenses.license_of(name), "run python docs/licenses.py"
