"""How Sphinx builds these pages: ``make docs``."""

import re
import subprocess
import sys
from pathlib import Path

from sphinx.application import Sphinx

import rwkplus

ROOT = Path(__file__).parent.parent

project, author, release = "rwkplus", "The rwkplus authors", rwkplus.__version__
copyright = author  # noqa: A001
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_copybutton"]
html_theme, html_title = "furo", f"rwkplus {release}"
html_static_path, html_css_files = ["_static"], ["wide.css"]
exclude_patterns = ["_build"]
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True, "imported-members": True, "show-inheritance": True}
autodoc_typehints_format = "fully-qualified"
python_use_unqualified_type_names = True
copybutton_exclude = ".linenos, .gp, .go"


def _readme() -> str:
    """The README, with links to the pages of this site where they exist."""
    text = (ROOT / "README.md").read_text()
    text = text.replace("](docs/", "](").replace("](CHANGELOG.md)", "](changelog.md)")
    text = re.sub(r"\]\(examples/\w+\.py\)", "](examples.md)", text)
    text = re.sub(r"\[([^\]]+)\]\((?:CITATION\.cff|experiments/results/)\)", r"`\1`", text)
    return text.replace("# rwkplus\n", "# Guide\n", 1)


def _commands() -> str:
    """The help texts of all commands."""
    command = [sys.executable, "-m", "typer", "rwkplus.cli.main", "utils", "docs", "--name", "rwkplus"]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    text = re.sub(r"<span[^>]*>(.*?)</span>", r"**\1**", text, flags=re.DOTALL)
    return text.replace("# `rwkplus`\n", "# Command line\n", 1)


GENERATED = {"guide": _readme, "commands": _commands}


def _generate(app: Sphinx, docname: str, source: list[str]) -> None:
    if docname in GENERATED:
        source[0] = GENERATED[docname]()


def _skip(app: Sphinx, what: str, name: str, member: object, skip: bool, options: object) -> bool:
    """Leave out what scikit-learn adds to every estimator for metadata routing."""
    return skip or name == "get_metadata_routing" or re.fullmatch(r"set_\w+_request", name) is not None


def setup(app: Sphinx) -> None:
    """Fill in the pages whose text is elsewhere."""
    app.connect("source-read", _generate)
    app.connect("autodoc-skip-member", _skip)
