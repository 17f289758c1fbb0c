"""A graph of 100,000 nodes against 1,000 small ones, with continuous colors."""

import torch

from benchmarks.blocks_growth import random_graphs
from benchmarks.measure import cpu_seconds, record
from experiments.speed import peak_gigabytes
from rwkplus.kernels import RandomWalkKernel


def main():
    """One row of the matrix; nothing dense of the large graph's size squared may appear."""
    torch.set_num_threads(1)
    small = random_graphs(1_000, 20, 60, seed=1)
    large = random_graphs(1, 100_000, 500_000, seed=2)
    kernel = RandomWalkKernel("rwk+", 3, route="blocks").fit(small)
    before = peak_gigabytes()
    seconds, gram = cpu_seconds(lambda: kernel.transform(large), repeats=1)
    record(
        "blocks_large",
        "One graph of 100,000 nodes against 1,000 of 20 nodes",
        f"500,000 edges, 8 continuous features, walks of up to 3 edges, blocks route; matrix {gram.shape}. "
        "A dense adjacency of the large graph alone would take 80 GB.",
        [{"CPU seconds": seconds, "peak GB": peak_gigabytes(), "peak GB before": before}],
    )


if __name__ == "__main__":
    main()
