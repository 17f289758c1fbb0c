"""The slow twin of the compressed database: every node, edge and graph by itself."""

from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from rwkplus.descriptive.views import (
    WalkDatabase,
    _combined,
    _joins,
    _row_scale,
    _WalkFeatures,
    _written,
    canonical_cycles,
)
from rwkplus.functional.kernels import rwk_plus
from rwkplus.functional.objectives import sequence_closed_walks
from rwkplus.kernels.walk_sequences import count_walks


def closed_walks_of_nodes(graphs, closed):
    """Per length, the nodes of all closed walks up to rotation and reversal, and how often each is walked."""
    if not closed:
        return []
    arrays = graphs.arrays
    numbered = replace(arrays, label=np.arange(arrays.num_nodes), num_labels=arrays.num_nodes)
    returning = count_walks(numbered, max(closed), closed=True)
    found = []
    for length in closed:
        distinct, place = canonical_cycles(_written(returning.tree, length)[:, :-1])
        counts = np.asarray((returning.counts[length] @ _joins(place, len(distinct))).sum(0)).ravel()
        found.append((torch.from_numpy(distinct), torch.from_numpy(counts)))
    return found


@dataclass(frozen=True)
class PlainWalks(WalkDatabase):
    x: Tensor  # (N, D)
    edge_index: Tensor
    edge_weight: Tensor | None
    batch: Tensor
    returns: tuple  # per length, nodes of closed walks up to rotation and reversal (S, L), and how often each is walked
    scale: Tensor  # (terms, B): root of the share of each graph in the mean, over the root of its norm

    @classmethod
    def of(cls, graphs, steps, closed):
        compressed, arrays = WalkDatabase.of(graphs, steps, closed), graphs.arrays
        norms = _WalkFeatures.of(graphs, steps, closed).norms
        return cls(
            **vars(compressed),
            x=graphs.colors[torch.from_numpy(arrays.label)],
            edge_index=torch.from_numpy(np.stack([arrays.source, arrays.target])),
            edge_weight=None if arrays.weight is None else torch.from_numpy(arrays.weight),
            batch=torch.from_numpy(arrays.graph),
            returns=closed_walks_of_nodes(graphs, closed),
            scale=torch.from_numpy(np.stack([_row_scale(norms, term) for term in compressed.terms])),
        )

    def loadings(self, hidden_x, hidden_adj):
        num_graphs = self.scale.size(1)
        kinds = [
            *rwk_plus(
                self.x,
                self.edge_index,
                self.batch,
                hidden_x,
                hidden_adj,
                steps=self.steps,
                edge_weight=self.edge_weight,
                include_zero_step=True,
                num_graphs=num_graphs,
            )
        ]
        y0 = torch.einsum("nd,kmd->nkm", self.x, hidden_x)
        for cycles, count in self.returns:
            walked = sequence_closed_walks(y0, hidden_adj, cycles) * count.unsqueeze(1)
            kinds.append(walked.new_zeros(num_graphs, walked.size(1)).index_add(0, self.batch[cycles[:, 0]], walked))
        return [_combined(kinds, term) * scale.unsqueeze(1) for term, scale in zip(self.terms, self.scale, strict=True)]

    def to(self, dtype):
        return replace(
            self,
            colors=self.colors.to(dtype),
            x=self.x.to(dtype),
            edge_weight=None if self.edge_weight is None else self.edge_weight.to(dtype),
            returns=[(cycles, count.to(dtype)) for cycles, count in self.returns],
            scale=self.scale.to(dtype),
        )

    @property
    def cost(self):
        return self.edge_index.size(1) + self.x.size(0)
