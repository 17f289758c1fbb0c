import os
import tarfile

import pytest

from experiments.runtime import pubmed_topology
from rwkplus.errors import DataError


def test_an_archive_that_holds_something_else_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("RWKPLUS_DATA", str(tmp_path))
    (tmp_path / "PubMed_topology").mkdir()
    (tmp_path / "readme.txt").write_text("nothing")
    with tarfile.open(tmp_path / "PubMed_topology" / "PubMed_raw.tar.xz", "w:xz") as archive:
        archive.add(tmp_path / "readme.txt", "PubMed/raw/readme.txt")
    with pytest.raises(DataError, match=r"PubMed_raw.tar.xz does not hold"):
        pubmed_topology()


@pytest.mark.skipif("RWKPLUS_DATA" not in os.environ, reason="needs the data sets in RWKPLUS_DATA")
def test_pubmed_has_its_published_edges():
    data = pubmed_topology()
    assert (data.num_nodes, data.num_edges) == (19717, 88648)
    assert data.is_undirected()
