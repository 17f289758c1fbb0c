"""The documentation builds, and everything in it leads somewhere."""

import subprocess
import sys
from pathlib import Path

import pytest

import rwkplus

pytestmark = pytest.mark.slow

DOCS = Path(__file__).parents[1] / "docs"


INTERNAL = {"cli", "files", "loops", "types"}
"""Rooms that nobody imports from: the commands have a page of their own."""


def test_every_public_room_and_the_package_have_a_page():
    pages = {page.stem for page in (DOCS / "api").glob("*.md")} - {"index"}
    assert pages == {"rwkplus", *dir(rwkplus)} - {*rwkplus.__all__, "__version__"} - INTERNAL


def test_the_documentation_builds_without_a_warning(tmp_path):
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", DOCS, tmp_path]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert 'id="rwkplus-mine"' in (tmp_path / "commands.html").read_text()
    assert "unknown_label" in (tmp_path / "api" / "kernels.html").read_text()
    assert "Pattern mining" in (tmp_path / "guide.html").read_text()
