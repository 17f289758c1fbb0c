import sys

import numpy as np
import pytest

from experiments.twibot_graph import make_encoder
from rwkplus.errors import DataError, MissingExtraError

TEXTS = ["a cat sat", "the kitten sat", "earnings beat forecasts"]
WORDS = {"[UNK]": (0, 0), "cat": (1, 0), "kitten": (0.9, 0.1), "sat": (0.5, 0), "earnings": (0, 1), "forecasts": (0, 1)}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A sentence encoder of six words, as sentence-transformers saves it."""
    library = pytest.importorskip("sentence_transformers")
    from sentence_transformers.models import StaticEmbedding
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import Whitespace

    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    tokenizer = Tokenizer(WordLevel({word: i for i, word in enumerate(WORDS)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()
    weights = np.array([*WORDS.values()], np.float32)
    model = library.SentenceTransformer(modules=[StaticEmbedding(tokenizer, embedding_weights=weights)], device="cpu")
    model.save(str(tmp_path / "words"))
    return tmp_path / "words"


@pytest.mark.filterwarnings("ignore")
def test_an_encoder_in_a_folder_works_offline(folder, capfd):
    capfd.readouterr()
    encoder = make_encoder(str(folder))
    vectors = encoder(TEXTS)
    assert vectors.shape == (3, encoder.width) == (3, 2)
    assert vectors.dtype == np.float32
    assert vectors[0] @ vectors[1] > vectors[0] @ vectors[2]
    assert capfd.readouterr() == ("", "")
    with pytest.raises(DataError, match=r"no sentence encoder '\./nowhere'"):
        make_encoder("./nowhere")


def test_hashing_is_for_those_who_ask():
    vectors = make_encoder("hashing")([*TEXTS, ""])
    assert vectors.shape == (4, 384)
    assert not vectors[3].any()
    assert np.array_equal(make_encoder("hashing")(TEXTS), vectors[:3])


def test_a_missing_package_is_named(monkeypatch):
    pytest.importorskip("sentence_transformers")
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(MissingExtraError, match=r"rwkplus\[text\]"):
        make_encoder()
