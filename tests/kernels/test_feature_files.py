import numpy as np
import pytest

from rwkplus.datasets import functional_groups
from rwkplus.errors import DataError
from rwkplus.kernels import RandomWalkFeatures, explicit_features, open_features


@pytest.fixture
def written(tmp_path, monkeypatch):
    monkeypatch.setattr(explicit_features, "BLOCK_NODES", 200)
    graphs = functional_groups(40)
    features = RandomWalkFeatures(steps=2).fit(graphs)
    return features.transform(graphs, out=tmp_path / "features"), features.transform(graphs), tmp_path / "features"


def test_features_on_disk_are_those_in_memory(written):
    on_disk, in_memory, folder = written
    assert isinstance(on_disk.data, np.memmap)
    assert (on_disk != in_memory).nnz == 0
    assert (open_features(folder) != in_memory).nnz == 0
    assert sorted(file.name for file in folder.iterdir()) == ["about.json", "data.npy", "indices.npy", "indptr.npy"]
    assert [path.name for path in folder.parent.iterdir()] == ["features"]


def test_a_folder_that_exists_is_not_written_over(written):
    features = RandomWalkFeatures(steps=1).fit(functional_groups(4))
    with pytest.raises(DataError, match="give the name of a new folder"):
        features.transform(functional_groups(4), out=written[2])


@pytest.mark.parametrize("name", ["data.npy", "indices.npy", "indptr.npy", "about.json"])
def test_damaged_features_are_refused(written, name):
    path = written[2] / name
    path.write_bytes(path.read_bytes()[:-8])
    with pytest.raises(DataError):
        open_features(written[2])


def test_a_folder_of_other_files_holds_no_features(tmp_path):
    with pytest.raises(DataError, match="holds no features"):
        open_features(tmp_path)
