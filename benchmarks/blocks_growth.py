"""The blocks route: time grows linearly with steps and with edges."""

import numpy as np
import torch
from torch_geometric.data import Data

from benchmarks.measure import cpu_seconds, record
from rwkplus.kernels import RandomWalkKernel


def random_graphs(count, nodes, edges, seed=0):
    """Graphs with continuous colors and a given number of directed edges."""
    generator = torch.Generator().manual_seed(seed)
    return [
        Data(
            x=torch.rand(nodes, 8, generator=generator) / 8,
            edge_index=torch.randint(nodes, (2, edges), generator=generator),
        )
        for _ in range(count)
    ]


def main():
    """Vary one thing at a time; report the exponent of growth over the range."""
    RandomWalkKernel(route="blocks").fit_transform(random_graphs(2, 5, 10))  # compile first
    rows = []
    cases = {
        "steps": [(40, 40, 200, steps) for steps in (2, 4, 8, 16)],
        "edges": [(40, 40, edges, 4) for edges in (200, 400, 800, 1600)],
        "nodes and edges": [(40, nodes, 5 * nodes, 4) for nodes in (20, 40, 80, 160)],
    }
    for varied, settings in cases.items():
        times = []
        for count, nodes, edges, steps in settings:
            graphs = random_graphs(count, nodes, edges)
            seconds, _ = cpu_seconds(
                lambda g=graphs, s=steps: RandomWalkKernel("rwk+", s, route="blocks").fit_transform(g)
            )
            times.append(seconds)
            rows.append({"varied": varied, "nodes": nodes, "edges": edges, "steps": steps, "seconds": seconds})
        slope = np.polyfit(np.log([2.0**i for i in range(len(times))]), np.log(times), 1)[0]
        rows[-1]["exponent"] = float(slope)
    for row in rows:
        row.setdefault("exponent", "")
    record(
        "blocks_growth",
        "Growth of Algorithm 1 on pairs",
        "Gram matrix of 40 random graphs with 8 continuous features; each series doubles one quantity, the exponent "
        "is fitted over the series. A pair costs steps x (nodes x edges of the other), "
        "so nodes and edges together grow with exponent 2, "
        "steps and edges alone with 1 or, over fixed costs, less. CPU time.",
        rows,
    )


if __name__ == "__main__":
    main()
