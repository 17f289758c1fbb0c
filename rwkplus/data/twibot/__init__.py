"""TwiBot-22's raw files as a graph on disk."""

from rwkplus.data.twibot.encoders import make_encoder
from rwkplus.data.twibot.preprocess import preprocess

__all__ = ["make_encoder", "preprocess"]
