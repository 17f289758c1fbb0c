"""Shared by the tests, the doctests and the pages with examples."""

import os

import pytest

os.environ.pop("COLUMNS", None)  # consoles keep the width they find here; tests that need one set it


@pytest.fixture(autouse=True)
def _pages_write_elsewhere(request, monkeypatch, tmp_path_factory):
    """Run the examples of pages in a temporary folder, not in the repository."""
    if request.path.suffix == ".md":
        monkeypatch.chdir(tmp_path_factory.mktemp("page"))
