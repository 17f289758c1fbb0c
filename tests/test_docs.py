"""The documentation builds, and everything in it leads somewhere."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import rwkplus

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]


INTERNAL = {"cli", "files", "loops", "types"}
"""Rooms that nobody imports from: the commands have a page of their own."""


def test_every_public_room_and_the_package_have_a_page():
    pages = {page.stem for page in (ROOT / "docs" / "api").glob("*.md")} - {"index"}
    assert pages == {"rwkplus", *dir(rwkplus)} - {*rwkplus.__all__, "__version__"} - INTERNAL


def test_the_documentation_builds_without_a_warning(tmp_path):
    """From a copy, as pages of the gallery are written beside the others; examples run in tests of their own."""
    for folder in ("docs", "examples"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("_build", "gallery"))
    shutil.copy(ROOT / "CHANGELOG.md", tmp_path)
    site = tmp_path / "site"
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-D", "plot_gallery=0", "docs", site]
    result = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert 'id="rwkplus-mine"' in (site / "commands.html").read_text()
    assert "unknown_label" in (site / "api" / "kernels.html").read_text()
    assert "confusion matrix" in (site / "gallery" / "kernels" / "1_svm.html").read_text()
