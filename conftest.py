"""Shared by the tests, the doctests and the pages with examples."""

import pytest

PAGES = ("README.md", "data.md")
"""Pages whose examples save files."""


@pytest.fixture(autouse=True)
def _pages_write_elsewhere(request, monkeypatch, tmp_path_factory):
    """Run the examples of pages in a temporary folder, not in the repository."""
    if request.node.name in PAGES:
        monkeypatch.chdir(tmp_path_factory.mktemp("page"))
