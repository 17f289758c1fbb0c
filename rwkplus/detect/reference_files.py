"""Reference graphs as JSON values and arrays; models are fitted to them anew, so that no pickle is needed."""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch_geometric.data import Batch, Data

from rwkplus.errors import RWKPlusWarning
from rwkplus.graphs import as_batch
from rwkplus.graphs.arrays import Floats
from rwkplus.graphs.convert import graph_list
from rwkplus.graphs.labelled import NAMES_OF

FIELDS = ("x", "edge_index", "edge_attr", "edge_weight", "ptr")


def pack_graphs(graphs: Sequence[Data]) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return what :func:`unpack_graphs` needs."""
    batch = as_batch(graphs)
    header = {"names": {names: batch.get(names) for names in NAMES_OF.values()}}
    return header, {f"graphs.{name}": batch[name].numpy() for name in FIELDS if batch.get(name) is not None}


def unpack_graphs(header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> list[Data]:
    """Read what :func:`pack_graphs` returned."""
    fields = {name: torch.from_numpy(arrays[f"graphs.{name}"]) for name in FIELDS if f"graphs.{name}" in arrays}
    sizes = fields["ptr"].diff()
    if fields["ptr"][0] != 0 or bool((sizes < 0).any()) or int(fields["ptr"][-1]) != len(fields["x"]):
        raise ValueError("its graphs do not fit together")
    names = {name: tuple(value) for name, value in header["names"].items() if value is not None}
    batch = Batch(**fields, **names, batch=torch.arange(len(sizes)).repeat_interleave(sizes))
    return graph_list(as_batch(batch))


def check_same_scores(now: Floats, then: Floats) -> None:
    """Warn where a model that was fitted anew differs from the one that was saved."""
    if now.shape != then.shape:
        raise ValueError("its scores do not fit its graphs")
    if not np.allclose(now, then, rtol=1e-6, atol=1e-9):
        warnings.warn(
            "the model was fitted anew and scores its own graphs differently than when it was saved, probably by "
            "another version of scikit-learn. Fit and save it again for scores that can be compared.",
            RWKPlusWarning,
            stacklevel=5,
        )
