import json
import pickle
import struct
from dataclasses import replace

import pytest
import torch
from rwkplus.models.files import ModelFile, read_model, write_model
from safetensors.torch import save_file

from rwkplus.errors import DataError
from rwkplus.files import HEADER
from rwkplus.models.gnn import GIN

PARAMS = {"hidden_channels": 3, "layers": 1}


@pytest.fixture
def file():
    return ModelFile(GIN(2, 4, **PARAMS).eval(), "gin", 2, 4, PARAMS, {"classes": ["a", "b", "c", "d"]})


@pytest.fixture
def path(tmp_path, file):
    return write_model(tmp_path / "new folder" / "model.safetensors", file)


def rewrite(path, change):
    """Change the JSON in the header by hand."""
    raw = path.read_bytes()
    (length,) = struct.unpack("<Q", raw[:8])
    header = json.loads(raw[8 : 8 + length])
    record = json.loads(header["__metadata__"][HEADER])
    change(record)
    header["__metadata__"][HEADER] = json.dumps(record)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + raw[8 + length :])


def test_a_network_survives_the_way_through_a_file(path, file):
    loaded = read_model(path)
    assert (loaded.name, loaded.in_channels, loaded.out_channels) == ("gin", 2, 4)
    assert (loaded.params, loaded.about) == (PARAMS, file.about)
    assert not loaded.model.training
    for name, value in file.model.state_dict().items():
        assert torch.equal(loaded.model.state_dict()[name], value)
    assert [p.name for p in path.parent.iterdir()] == ["model.safetensors"]


def test_the_precision_is_kept(tmp_path, file):
    write_model(tmp_path / "model.safetensors", replace(file, model=file.model.double()))
    parameters = read_model(tmp_path / "model.safetensors").model.parameters()
    assert all(parameter.dtype == torch.float64 for parameter in parameters)


def test_reading_leaves_the_generator_alone(path):
    before = torch.get_rng_state()
    read_model(path)
    assert torch.equal(torch.get_rng_state(), before)


def test_every_truncation_is_noticed(path):
    whole = path.read_bytes()
    for length in [*range(0, 200, 7), *range(200, len(whole), 97), len(whole) - 1]:
        path.write_bytes(whole[:length])
        with pytest.raises(DataError, match="not complete"):
            read_model(path)


@pytest.mark.parametrize("protocol", [2, 4, 5])
def test_a_pickle_is_refused_unopened(tmp_path, protocol):
    path = tmp_path / "model.pkl"

    class Bomb:
        def __reduce__(self):
            return (pytest.fail, ("the pickle was opened",))

    path.write_bytes(pickle.dumps(Bomb(), protocol))
    with pytest.raises(DataError, match="is a pickle"):
        read_model(path)


def test_a_header_whose_length_begins_like_a_pickle_is_read(path, file):
    for padding in range(256):
        write_model(path, replace(file, about={"classes": "x" * padding}))
        if path.read_bytes()[0] == 0x80:
            break
    assert path.read_bytes()[0] == 0x80
    assert read_model(path).about == {"classes": "x" * padding}


def test_torch_files_are_refused(tmp_path, file):
    torch.save(file.model.state_dict(), tmp_path / "model.pt")
    with pytest.raises(DataError, match="is a pickle"):
        read_model(tmp_path / "model.pt")


def test_other_safetensors_are_refused(tmp_path):
    save_file({"weight": torch.ones(2)}, tmp_path / "model.safetensors")
    with pytest.raises(DataError, match="does not hold a model"):
        read_model(tmp_path / "model.safetensors")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda r: r.update(format="rwkplus model, version 9"), "version 9"),
        (lambda r: r.update(name="kernelnet"), "'kernelnet', which is not known"),
        (lambda r: r.update(params={"hidden_channels": 5}), "weights do not fit"),
        (lambda r: r.update(params={"kernel": "rwk+"}), "weights do not fit"),
        (lambda r: r.update(params={"layers": -3}), "weights do not fit"),
        (lambda r: r.update(in_channels="two"), "weights do not fit"),
        (lambda r: r.update(name="rwnn"), "weights do not fit"),
        (lambda r: r.pop("params"), "description is incomplete"),
        (lambda r: r.update(about=7), "description is incomplete"),
        (lambda r: r.pop("format"), "does not hold a model"),
    ],
)
def test_changes_by_hand_are_noticed(path, change, message):
    rewrite(path, change)
    with pytest.raises(DataError, match=message):
        read_model(path)


def test_a_missing_file_and_a_folder(tmp_path, file):
    with pytest.raises(DataError, match="No such file"):
        read_model(tmp_path / "model.safetensors")
    with pytest.raises(DataError, match="holds no model"):
        read_model(tmp_path)
    with pytest.raises(DataError, match="is a folder"):
        write_model(tmp_path, file)


def test_parameters_must_be_json(tmp_path, file):
    odd = ModelFile(file.model, "gin", 2, 4, {"layers": torch.tensor(1)}, {})
    with pytest.raises(DataError, match="cannot be written as JSON"):
        write_model(tmp_path / "model.safetensors", odd)
    assert list(tmp_path.iterdir()) == []
