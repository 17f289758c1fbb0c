"""Planted patterns: our miner beside gSpan, which lists every frequent subgraph; same databases, one run.

gSpan has no notion of a best pattern. As people use it, its answer is the largest subgraph that at least half of the
graphs have; it is right if the planted pattern is among the largest.
"""

import contextlib
import io
import signal
import tempfile
import warnings
from pathlib import Path

import networkx as nx
import numpy as np

from benchmarks.measure import cpu_seconds, record
from experiments.testbeds import planted_database, random_pattern
from rwkplus.errors import RWKPlusWarning
from rwkplus.mining import PatternMiner

DATABASES = 10
FIRST_SEED = 7_000_000
PATIENCE = 60
"""Seconds that gSpan gets per database."""


def main():
    """Compare recovery and time, cell by cell."""
    warnings.simplefilter("ignore", RWKPlusWarning)
    rows = []
    for cyclic in (True, False):
        for size in (4, 6, 8, 10):
            for distortion in (0.0, 0.1, 0.2):
                rows.append(compare(cyclic, size, distortion))
                record(
                    "mining_gspan",
                    "Planted patterns: recovery and time beside gSpan",
                    f"{DATABASES} databases of 100 graphs per row, one planted pattern, size not told; gSpan "
                    "(gspan-mining, pure Python) with support of at least half, its largest subgraphs taken as the "
                    f"answer, given up after {PATIENCE} s. Mean seconds per database on one core, given-up ones "
                    "included.",
                    rows,
                )


def compare(cyclic, size, distortion):
    """One cell: the same databases for both."""
    found, seconds, given_up = {"ours": 0, "gspan": 0}, {"ours": 0.0, "gspan": 0.0}, 0
    for i in range(DATABASES):
        rng = np.random.default_rng(FIRST_SEED + i)
        target = random_pattern(size, rng, cyclic=cyclic)
        graphs = planted_database([target], rng, distortion=distortion)
        for name, mine in (("ours", ours), ("gspan", gspan)):
            spent, answers = cpu_seconds(lambda mine=mine, graphs=graphs: mine(graphs), repeats=1)
            seconds[name] += spent / DATABASES
            given_up += answers is None
            found[name] += any(same_graph(answer, target) for answer in answers or [])
    return {
        "shape": "cyclic" if cyclic else "tree",
        "nodes": size,
        "distortion": f"{distortion:.0%}",
        "ours": f"{found['ours']} of {DATABASES}",
        "gSpan": f"{found['gspan']} of {DATABASES}",
        "gSpan gave up": given_up,
        "ours, s": seconds["ours"],
        "gSpan, s": seconds["gspan"],
    }


def same_graph(found, target):
    """Whether two graphs agree node for node and edge for edge; labels are compared as text."""
    return nx.is_isomorphic(found, target, node_match=lambda one, other: str(one["label"]) == str(other["label"]))


def ours(graphs):
    """The first pattern."""
    return [p.to_networkx() for p in PatternMiner(1, n_controls=0, random_state=0).fit(graphs).patterns_]


def gspan(graphs):
    """The largest subgraphs that half of the graphs have; None if that takes too long."""
    from gspan_mining.gspan import gSpan

    class Collecting(gSpan):
        """Keeps codes instead of printing them: the report of the released version needs an old pandas."""

        def _report(self, projected):
            self._frequent_subgraphs.append([(e.frm, e.to, e.vevlb) for e in self._DFScode])

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "graphs.txt"
        path.write_text(as_text(graphs))
        miner = Collecting(str(path), min_support=len(graphs) // 2, min_num_vertices=2)
        signal.signal(signal.SIGALRM, too_long)
        signal.alarm(PATIENCE)
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                miner.run()
        except TimeoutError:
            return None
        finally:
            signal.alarm(0)
    codes = [code for code in miner._frequent_subgraphs if isinstance(code, list)]
    largest = max(map(len, codes), default=0)
    return [as_graph(code) for code in codes if len(code) == largest]


def too_long(*_):
    """End a run."""
    raise TimeoutError


def as_text(graphs):
    """Graphs in gSpan's format."""
    lines = []
    for i, graph in enumerate(graphs):
        lines.append(f"t # {i}")
        lines += [f"v {v} {label}" for v, label in graph.nodes(data="label")]
        lines += [f"e {u} {v} 0" for u, v in graph.edges]
    return "\n".join([*lines, "t # -1\n"])


def as_graph(code):
    """A DFS code as a labelled graph."""
    graph = nx.Graph()
    for start, end, (first, _, second) in code:
        for v, label in ((start, first), (end, second)):
            if label != "-1" and label != -1:
                graph.add_node(v, label=str(label))
        graph.add_edge(start, end)
    return graph


if __name__ == "__main__":
    main()
