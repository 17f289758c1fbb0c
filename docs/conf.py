"""How Sphinx builds these pages: ``make docs``.

Nothing is fetched while they are built. Two environment variables change that, both for a published build:
``RWKPLUS_DOCS_ONLINE=1`` links types of other projects to their documentation, and ``RWKPLUS_DOCS_VERSIONS`` is the
address of the JSON file that lists the published versions, which adds a menu of them.
"""

import os
import re
import subprocess
import sys
import warnings
from pathlib import Path

from sphinx.application import Sphinx

import rwkplus

ROOT = Path(__file__).parent.parent
USES = Path(__file__).parent / "gallery" / "uses"
"""Which examples use what, as sphinx-gallery writes it."""

project, author, release = "rwkplus", "The rwkplus authors", rwkplus.__version__
version = release
copyright = author  # noqa: A001
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx.ext.intersphinx",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build"]
myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 3

html_theme, html_title = "pydata_sphinx_theme", f"rwkplus {release}"
html_static_path, html_css_files = ["_static"], ["site.css"]
html_logo = html_favicon = "_static/logo.svg"
html_show_sphinx = False
html_copy_source = False
versions = os.environ.get("RWKPLUS_DOCS_VERSIONS")
html_theme_options = {
    "logo": {"text": f"rwkplus <small>{release}</small>", "alt_text": "rwkplus: the first page"},
    "header_links_before_dropdown": 7,
    "navbar_align": "left",
    "navbar_end": [*(["version-switcher"] if versions else []), "theme-switcher"],
    "show_toc_level": 2,
    "secondary_sidebar_items": {"[!g]**": ["page-toc"], "g[!a]**": ["page-toc"]},  # code in the gallery needs the width
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
    **({"switcher": {"json_url": versions, "version_match": release}} if versions else {}),
}
html_sidebars = {"index": [], "changelog": [], "data": ["sidebar-nav-bs"]}

intersphinx_mapping = {
    "python": ("https://docs.python.org/3", None),
    "numpy": ("https://numpy.org/doc/stable", None),
    "scipy": ("https://docs.scipy.org/doc/scipy", None),
    "sklearn": ("https://scikit-learn.org/stable", None),
    "networkx": ("https://networkx.org/documentation/stable", None),
    "pandas": ("https://pandas.pydata.org/docs", None),
    "torch": ("https://docs.pytorch.org/docs/stable", None),
    "torch_geometric": ("https://pytorch-geometric.readthedocs.io/en/latest", None),
}
if not os.environ.get("RWKPLUS_DOCS_ONLINE"):
    intersphinx_mapping = {}

autosummary_generate = False
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True, "imported-members": True, "show-inheritance": True}
autodoc_typehints_format = "fully-qualified"
python_use_unqualified_type_names = True
copybutton_exclude = ".linenos, .gp, .go"

warnings.formatwarning = lambda message, category, *_: f"{category.__name__}: {message}\n"
"""Warnings in the output of examples do not name files of the machine that builds these pages."""

SECTIONS = ("kernels", "mining", "detection", "networks", "scale")
"""Folders of examples, in the order of the gallery."""


sphinx_gallery_conf = {
    "examples_dirs": ["../examples"],
    "gallery_dirs": ["gallery"],
    "subsection_order": [f"../examples/{section}" for section in SECTIONS],
    "within_subsection_order": "FileNameSortKey",
    "filename_pattern": r"\.py$",
    "backreferences_dir": "gallery/uses",
    "doc_module": ("rwkplus",),
    "reset_modules": ("matplotlib",),
    "image_scrapers": ("matplotlib",),
    "thumbnail_size": (400, 280),
    "download_all_examples": False,
    "show_memory": False,
    "write_computation_times": False,
    "show_signature": False,
    "remove_config_comments": True,
}


def _commands() -> str:
    """The help texts of all commands."""
    command = [sys.executable, "-m", "typer", "rwkplus.cli.main", "utils", "docs", "--name", "rwkplus"]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    text = re.sub(r"<span[^>]*>(.*?)</span>", r"**\1**", text, flags=re.DOTALL)
    return text.replace("# `rwkplus`\n", "# Command line reference\n", 1)


def _generate(app: Sphinx, docname: str, source: list[str]) -> None:
    if docname == "commands":
        source[0] = _commands()


def _skip(app: Sphinx, what: str, name: str, member: object, skip: bool, options: object) -> bool:
    """Leave out what scikit-learn adds to every estimator for metadata routing."""
    return skip or name == "get_metadata_routing" or re.fullmatch(r"set_\w+_request", name) is not None


def _complete(app: Sphinx, what: str, name: str, member: object, options: object, lines: list[str]) -> None:
    """Begin modules with a list of what is in them, and end classes with the examples that use them."""
    uses = [path for own in (name, f"rwkplus.{name.rsplit('.', 1)[-1]}") if (path := USES / f"{own}.examples").exists()]
    shown = [path.stem for path in uses if path.stat().st_size]
    if what == "module" and hasattr(member, "__all__"):
        named = [f"   {own}" for own in member.__all__ if callable(getattr(member, own))]
        lines[:] = [line for line in lines if not line.startswith("May import")]  # for developers
        lines += ["", ".. autosummary::", "   :nosignatures:", "", *named, ""]
    elif what == "class" and shown:
        lines += ["", ".. rubric:: In the gallery", "", f".. minigallery:: {' '.join(shown)}", ""]
    elif lines and lines[0].startswith("Alias for field number"):
        lines.clear()
    elif what == "attribute" and lines and lines[-1].startswith(":type: "):  # napoleon's reading of "one thing: more"
        lines[:] = [f"{lines.pop().removeprefix(':type: ')}: {lines[0]}", *lines[1:]]


def setup(app: Sphinx) -> None:
    """Fill in the pages whose text is elsewhere."""
    app.connect("source-read", _generate)
    app.connect("autodoc-skip-member", _skip)
    app.connect("autodoc-process-docstring", _complete)
