"""What kernels, features, patterns and detectors say of every data set, written down for later versions to repeat.

``python -m tests.digests.record`` writes ``digests.json`` from the code at hand. Do so only where results are meant to
change, and say in the changelog why they did.

Whole numbers are kept as a digest, patterns as they are, and real numbers as sums, extremes and first entries. Nothing
here looks into a graph: how graphs are held is what may change.
"""

import hashlib
import json
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from rwkplus.datasets import REGISTRY, load_graphs
from rwkplus.datasets.catalog import find
from rwkplus.detect import Explanation, GraphDetector, PatternDetector, SurpriseDetector, WalkKernelDetector
from rwkplus.errors import RWKPlusWarning
from rwkplus.kernels import RandomWalkFeatures, RandomWalkKernel
from rwkplus.mining import Occurrence, Pattern, PatternMiner
from rwkplus.table.arrays import classes_of

Facts = Iterator[tuple[str, Any]]

FILE = Path(__file__).with_name("digests.json")
KINDS = [("rwk+", "open"), ("rwk+", "closed"), ("rwk-", "open"), ("rwk-", "closed"), ("node-centric", "open")]
STEPS = (2, 3, 4)
METHODS = ("nearest", "density", "lof", "svm", "forest")
FEW = 5  # real numbers that are kept one by one
QUICK = {"n_controls": 0, "beam_width": 10, "search_graphs": 100}
QUICKER = QUICK | {"candidates": ("grown",)}
NO_EDGE_LABELS = {"ignore": ("edge_attr",)}


@dataclass(frozen=True)
class Case:
    """A data set, and how much of it is looked at."""

    name: str
    about: str = ""
    options: dict[str, Any] = field(default_factory=dict, hash=False)  # of load_graphs
    edge_labels: bool = True
    measured: bool = False  # whether node features are real numbers
    compared: int = 60  # graphs for kernels, features and detectors
    mined: int = 40
    paired: int = 20  # for Algorithm 1 on pairs of graphs
    paired_closed: int = 2  # the same for closed walks, which is slow

    def __str__(self) -> str:
        return f"{self.name} {self.about}".strip()

    @property
    def at_hand(self) -> bool:
        """Whether the data set is embedded or lies on this machine."""
        entry = REGISTRY[self.name]
        return entry.make is not None or find(entry) is not None


EMBEDDED = {"compared": 400, "mined": 400}
PROTEINS = {"edge_labels": False, "mined": 15}
SIZES: dict[str, dict[str, Any]] = {
    "functional-groups": EMBEDDED,
    "planted-molecules": EMBEDDED,
    "planted-anomalies": EMBEDDED,
    "MUTAG": {"compared": 188},
    "NCI1": {"edge_labels": False},
    "PROTEINS": PROTEINS,
    "ENZYMES": PROTEINS,
    "DD": {"edge_labels": False, "compared": 10, "mined": 6, "paired": 4, "paired_closed": 0},
    "IMDB-BINARY": {"edge_labels": False},
    "IMDB-MULTI": {"edge_labels": False},
    "reddit10k": {"edge_labels": False, "mined": 200},
}
LATER = ("medicines", "payment-cases")
"""Sets that came after the digests were recorded."""
ATTRIBUTES = {"options": {"node_features": "attributes"}, "measured": True, "compared": 40}
CASES = [
    *(Case(name, **SIZES.get(name, {})) for name in REGISTRY if name not in LATER),
    *(Case(name, "attributes", **PROTEINS, **ATTRIBUTES) for name in ("PROTEINS", "ENZYMES")),
]


# What depends on how graphs are held


@lru_cache(maxsize=1)
def graphs_of(case: Case):
    """Load all graphs of a set."""
    return load_graphs(case.name, **case.options)


def sample(case: Case, count: int):
    """Take about ``count`` graphs from all over the set: many are sorted by class."""
    graphs = graphs_of(case)
    return graphs[:: max(1, len(graphs) // count)][:count]


def classes(graphs) -> list[Any] | None:
    """Class of every graph, if they have one."""
    return classes_of(graphs)


def occurrence_numbers(occurrence: Occurrence) -> list[int]:
    """Number of the graph, then those of its nodes."""
    return [int(occurrence.graph), *map(int, occurrence.nodes)]


def explanation_numbers(explanation: Explanation) -> list[list[int]]:
    """Numbers of the unusual nodes, and of those to look at."""
    return [list(map(int, explanation.nodes)), list(map(int, explanation.part))]


# Facts


def facts(case: Case) -> dict[str, Any]:
    """Compute what is to stay as it is, by name."""
    found = {}
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore", RWKPlusWarning)  # small samples have little to find
        for part, facts_of in PARTS.items():
            found |= {f"{part}: {name}": value for name, value in facts_of(case)}
    return found


def kernel_facts(case: Case) -> Facts:
    """Gram matrices of all kinds, among fitted graphs and of later ones with them."""
    if case.measured:
        yield from _measured_kernels(case)
        return
    graphs = sample(case, case.compared)
    half = len(graphs) // 2
    for kernel, walks in KINDS:
        name = f"{kernel} {walks}"
        for steps in STEPS:
            fitted = RandomWalkKernel(kernel, steps, walks=walks)
            yield f"{name} {steps}", exact(fitted.fit_transform(graphs))
        yield f"{name} {steps} route", fitted.route_
        fitted = RandomWalkKernel(kernel, 3, walks=walks).fit(graphs[:half])
        yield f"{name} later", exact(fitted.transform(graphs[half:]))
        fitted = RandomWalkKernel(kernel, 3, walks=walks, normalize=True).fit(graphs[:half])
        yield f"{name} normalized", numbers(fitted.transform(graphs[half:]))
        if case.edge_labels:
            fitted = RandomWalkKernel(kernel, 3, walks=walks, **NO_EDGE_LABELS)
            yield f"{name} without edge labels", exact(fitted.fit_transform(graphs))
    yield from _both_routes(case)
    dirac = RandomWalkKernel("node-centric", 3, assignment="dirac").fit_transform(graphs)
    yield "node-centric dirac", exact(dirac)
    geometric = RandomWalkKernel(steps=3, combine="geometric", decay=0.01).fit(graphs[:half])
    yield "geometric", numbers(geometric.transform(graphs[half:]))
    yield "geometric truncation", numbers([geometric.truncation_error_])


def _both_routes(case: Case) -> Facts:
    for kernel, walks in KINDS:
        count = case.paired if walks == "open" else case.paired_closed
        if kernel == "node-centric" or not count:
            continue
        graphs = sample(case, count)
        for route in ("explicit", "blocks"):
            for edges, left_out in _edge_choices(case):
                fitted = RandomWalkKernel(kernel, 3, walks=walks, route=route, **left_out)
                yield f"{kernel} {walks} {route}{edges}", exact(fitted.fit_transform(graphs))


def _measured_kernels(case: Case) -> Facts:
    graphs = sample(case, case.paired)
    for kernel in ("rwk+", "rwk-"):
        for steps in STEPS:
            yield f"{kernel} open {steps}", numbers(RandomWalkKernel(kernel, steps).fit_transform(graphs))
        normalized = RandomWalkKernel(kernel, 3, normalize=True).fit(graphs[:10])
        yield f"{kernel} normalized", numbers(normalized.transform(graphs[10:]))
        closed = RandomWalkKernel(kernel, 3, walks="closed")
        yield f"{kernel} closed", numbers(closed.fit_transform(sample(case, case.paired_closed)))
    yield "all graphs", numbers(RandomWalkKernel(steps=1).fit(graphs_of(case)).diagonal())


def feature_facts(case: Case) -> Facts:
    """Counts of walks and the names of what is counted; of single edges in the whole set."""
    yield "classes", digest(classes(graphs_of(case)))
    if case.measured:
        return
    graphs = sample(case, case.compared)
    half = len(graphs) // 2
    for kernel, walks in KINDS:
        for edges, left_out in _edge_choices(case):
            features = RandomWalkFeatures(kernel, 3, walks=walks, **left_out)
            yield f"{kernel} {walks}{edges}", exact_sparse(features.fit_transform(graphs[:half]))
            yield f"{kernel} {walks}{edges} names", _names(features)
            yield f"{kernel} {walks}{edges} later", exact_sparse(features.transform(graphs[half:]))
        hashed = RandomWalkFeatures(kernel, 3, walks=walks, hash_width=256)
        yield f"{kernel} {walks} hashed", exact_sparse(hashed.fit_transform(graphs))
    everything = RandomWalkFeatures(steps=1, include_zero_step=True)
    yield "all graphs", exact_sparse(everything.fit_transform(graphs_of(case)))
    yield "all graphs names", _names(everything)


def _names(features: RandomWalkFeatures) -> list[Any]:
    names = features.get_feature_names_out().tolist()
    return [len(names), *names[:3], digest(names)]


def pattern_facts(case: Case) -> Facts:
    """Patterns of both criteria, and what chance achieves."""
    graphs = sample(case, case.mined)
    for criterion in ("maximal", "blocks"):
        miner = PatternMiner(2, criterion=criterion, **QUICK).fit(graphs, classes(graphs))
        yield from _patterns(criterion, miner)
        if miner.patterns_:
            yield f"{criterion} transformed", numbers(miner.transform(graphs[:20]))
            yield f"{criterion} explained", rounded(miner.score(graphs[:20]))
    structural = PatternMiner(1, criterion="blocks", colors="structural", **(QUICKER | {"n_controls": 1}))
    yield from _patterns("structural", structural.fit(graphs[:10]))
    yield "structural control", numbers([*structural.control_, structural.threshold_])


def _patterns(name: str, miner: PatternMiner) -> Facts:
    yield f"{name} found", len(miner.patterns_)
    for k, pattern in enumerate(miner.patterns_):
        for about, value in _pattern(pattern):
            yield f"{name} {k} {about}", value


def _pattern(pattern: Pattern) -> Facts:
    yield "labels", list(pattern.labels)
    yield "edges", [list(edge) for edge in pattern.edges]
    yield "support", [pattern.support, pattern.num_graphs, pattern.exhaustive]
    yield "occurrences", exact(sorted(map(occurrence_numbers, pattern.occurrences)))
    yield "scores", numbers([pattern.score, pattern.node_coverage, pattern.edge_coverage, pattern.gain])
    for contrast in pattern.contrast:
        odds = (contrast.odds_ratio, contrast.p_value, contrast.corrected)
        yield f"in class {contrast.name}", [contrast.support, contrast.graphs, *map(rounded, odds)]


def detector_facts(case: Case) -> Facts:
    """Scores of fitted and of later graphs, and the nodes that explain them."""
    graphs = sample(case, case.compared)
    half = len(graphs) // 2
    miner = PatternMiner(2, criterion="blocks", **QUICKER, **NO_EDGE_LABELS)
    detectors: dict[str, GraphDetector] = {"pattern": PatternDetector(miner=miner)}
    for edges, left_out in _edge_choices(case):
        detectors[f"surprise{edges}"] = SurpriseDetector(**left_out)
        for method in ("nearest",) if left_out else METHODS:
            detectors[f"{method}{edges}"] = WalkKernelDetector(method=method, n_references=30, **left_out)
    for name, detector in detectors.items():
        yield f"{name} fitted scores", numbers(0.0 - detector.fit(graphs[:half]).fitted_scores_)
        yield f"{name} later scores", numbers(0.0 - detector.score_samples(graphs[half:]))
        if detector.explains and name not in METHODS[1:]:  # which explain as the first does
            explanations = detector.explain(graphs[half:])
            yield f"{name} explanations", digest([explanation_numbers(explanation) for explanation in explanations])
            node_scores = np.concatenate([explanation.node_scores for explanation in explanations])
            yield f"{name} node scores", numbers(node_scores)


def _edge_choices(case: Case) -> list[tuple[str, dict[str, Any]]]:
    return [("", {}), (" without edge labels", NO_EDGE_LABELS)] if case.edge_labels else [("", {})]


PARTS: dict[str, Callable[[Case], Facts]] = {
    "kernels": kernel_facts,
    "features": feature_facts,
    "patterns": pattern_facts,
    "detectors": detector_facts,
}


# How facts are written down


def exact(values) -> str:
    """Type, shape and SHA-256 of an array of whole numbers; whether they are whole shows in the type."""
    array = np.asarray(values)
    with np.errstate(invalid="ignore"):
        whole = array.astype(np.int64)
    array = np.ascontiguousarray(whole if np.array_equal(whole, array) else array)
    shape = "x".join(map(str, array.shape))
    return f"{array.dtype} {shape} {_sha256(array.tobytes())}"


def exact_sparse(matrix) -> str:
    """Shape and digest of a sparse matrix of whole numbers, by the places and values of its entries."""
    entries = matrix.tocoo()
    order = np.lexsort((entries.col, entries.row))
    order = order[entries.data[order] != 0]
    shape = "x".join(map(str, matrix.shape))
    return f"{shape} {exact([values[order] for values in (entries.row, entries.col, entries.data)])}"


def digest(value: object) -> str:
    """SHA-256 of something as JSON."""
    return _sha256(json.dumps(value).encode())


def numbers(values) -> list[int | float]:
    """Shape, sums, extremes and first entries of an array of real numbers; one sum depends on their order."""
    array = np.asarray(values, np.float64)
    flat = array.ravel()
    if flat.size <= FEW:
        return [*array.shape, *map(rounded, flat)]
    place = np.arange(1, flat.size + 1) / flat.size
    sums = (flat.sum(), flat @ flat, flat @ place, flat.min(), flat.max())
    return [*array.shape, *map(rounded, sums), *map(rounded, flat[:3])]


def rounded(value: float) -> float:
    """Nine digits, more than are compared."""
    return float(f"{value:.9g}")


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def write(path: Path = FILE) -> None:
    """Record all data sets at hand, one fact per line."""
    sets = []
    for case in CASES:
        if not case.at_hand:
            print(f"{case} is not on this machine: not recorded", file=sys.stderr)
            continue
        lines = (f"{json.dumps(name)}: {json.dumps(value)}" for name, value in facts(case).items())
        sets.append(f"{json.dumps(str(case))}: {{\n" + ",\n".join(lines) + "\n}")
    path.write_text(f'{{"commit": {json.dumps(commit())}, "facts": {{\n' + ",\n".join(sets) + "\n}}\n")


def commit() -> str:
    """The commit that the library is at, and whether it was changed since."""

    def git(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(["git", *words], cwd=FILE.parents[2], capture_output=True, text=True)

    changed = git("diff", "--quiet", "HEAD", "--", "rwkplus").returncode
    return git("rev-parse", "HEAD").stdout.strip() + (" with changes" if changed else "")


if __name__ == "__main__":
    write()
