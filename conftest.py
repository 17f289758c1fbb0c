"""Shared by the tests, the doctests and the README."""

import pytest


@pytest.fixture(autouse=True)
def _readme_writes_elsewhere(request, monkeypatch, tmp_path_factory):
    """The README's examples save files: not into the repository."""
    if request.node.name == "README.md":
        monkeypatch.chdir(tmp_path_factory.mktemp("readme"))
