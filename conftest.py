"""Shared by the tests, the doctests and the pages with examples."""

import pytest


@pytest.fixture(autouse=True)
def _pages_write_elsewhere(request, monkeypatch, tmp_path_factory):
    """Run the examples of pages in a temporary folder, not in the repository."""
    if request.path.suffix == ".md":
        monkeypatch.chdir(tmp_path_factory.mktemp("page"))
