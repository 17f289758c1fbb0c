"""Gradient-trained mining: restarts one after the other, side by side, and side by side on the compressed database."""

from unittest.mock import patch

import numpy as np
import torch

from benchmarks.measure import cpu_seconds, record
from rwkplus.datasets.generators import triangle_chains
from rwkplus.descriptive.gradient import _initial_logits, adjacency, explained_patterns
from rwkplus.descriptive.views import WalkDatabase, paint
from rwkplus.io.pyg import as_batch
from tests.descriptive.plain_walks import PlainWalks

RESTARTS, PATTERNS, SIZE = 50, 2, 3
SETTINGS = {"epochs": 150, "kicks": 0}


def check_objective(graphs):
    """The compressed objective and its gradients are the plain ones, to rounding, for all restarts."""
    painted = paint(as_batch(graphs))
    generators = [np.random.default_rng((0, number)) for number in range(RESTARTS)]
    logits = _initial_logits(generators, PATTERNS, SIZE, len(painted.colors))
    edges, colors = (part.double().requires_grad_() for part in logits)
    values = []
    for kind in (WalkDatabase, PlainWalks):
        bank = torch.softmax(colors, -1) @ painted.colors, adjacency(torch.sigmoid(edges), SIZE)
        score = kind.of(painted, 3, (3,)).objective(*bank)
        values.append((score.detach(), *torch.autograd.grad(score.sum(), (edges, colors))))
    for compressed, plain in zip(*values, strict=True):
        torch.testing.assert_close(compressed, plain)


def main():
    """Check that all ways give the same, then compare their times."""
    torch.set_num_threads(1)
    graphs = triangle_chains(100, "rand", random_state=0)
    check_objective(graphs)

    def mine(kind, n_restarts=RESTARTS, first_restart=0):
        with patch("rwkplus.descriptive.gradient.WalkDatabase", kind):
            return explained_patterns(
                graphs, PATTERNS, SIZE, n_restarts=n_restarts, first_restart=first_restart, **SETTINGS
            )

    mine(WalkDatabase, 2)  # compile and warm up
    ways = {
        "one after the other": lambda: [mine(PlainWalks, 1, r) for r in range(RESTARTS)],
        "side by side": lambda: [mine(PlainWalks)],
        "one after the other, compressed": lambda: [mine(WalkDatabase, 1, r) for r in range(RESTARTS)],
        "side by side, compressed": lambda: [mine(WalkDatabase)],
    }
    seconds, explained = {}, {}
    for name, way in ways.items():
        seconds[name], found = cpu_seconds(way, repeats=1 if name == "one after the other" else 3)
        explained[name] = np.concatenate([part.explained for part in found])
    first = next(iter(ways))
    agree = {name: float(np.mean(np.abs(explained[name] - explained[first]) < 1e-9)) for name in ways}
    best = {float(values.max().round(9)) for values in explained.values()}
    assert len(best) == 1, f"the best restart differs: {best}"
    assert min(agree.values()) >= 0.95, f"restarts end elsewhere: {agree}"
    assert seconds[first] >= 5 * seconds["side by side"], seconds
    assert seconds[first] >= 20 * seconds["side by side, compressed"], seconds
    record(
        "mining_restarts",
        "Fifty restarts of gradient-trained mining",
        f"100 triangle chains, {PATTERNS} patterns of {SIZE} nodes, {RESTARTS} restarts, {SETTINGS['epochs']} "
        "epochs, decoding and ascent over single changes (without kicks, whose candidates are scored side by side even "
        "within one restart). Objective and gradients of the compressed database equal the "
        "plain ones to rounding. The last column tells which share of the restarts ends with the same objective, to "
        "1e-9, as one after the other: training in float32 rounds differently in tensors of another shape. "
        "CPU time on one thread, from networkx graphs to patterns.",
        [
            {
                "restarts": name,
                "seconds": seconds[name],
                "times faster": seconds[first] / seconds[name],
                "same result": agree[name],
            }
            for name in ways
        ],
    )


if __name__ == "__main__":
    main()
