"""Normalize the adjacency once while a network works on a single graph."""

from collections.abc import Iterator
from contextlib import contextmanager

from torch import nn
from torch_geometric.nn import GCNConv

from rwkplus.nn.rwk_plus_conv import RWKPlusConv

CACHES = ("_cached", "_cached_edge_index", "_cached_adj_t")
"""Where ``RWKPlusConv`` and ``GCNConv`` keep a normalized adjacency."""


@contextmanager
def one_graph(model: nn.Module) -> Iterator[None]:
    """Let the convolutions inside a network cache the adjacency of the one graph they see in this block.

    Afterwards it is forgotten: a cache that lived on would be used for the next graph of the same size, silently.
    """
    convs = [part for part in model.modules() if isinstance(part, RWKPlusConv | GCNConv)]
    before = [conv.cached for conv in convs]
    try:
        for conv in convs:
            conv.cached = True
            _forget(conv)
        yield
    finally:
        for conv, cached in zip(convs, before, strict=True):
            conv.cached = cached
            _forget(conv)


def _forget(conv: nn.Module) -> None:
    for cache in CACHES:
        if hasattr(conv, cache):
            setattr(conv, cache, None)
