"""Rows of the paper's tables 1 to 4: what each trains, on what, and what the paper reports."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import networkx as nx

from experiments import testbeds
from rwkplus.datasets.generators import triangle_chains

LABELS, STRICT = "labels only", "strict"
WITH, WITHOUT = "GED with labels", "GED without labels"

RWNN: dict[str, Any] = {"kernel": "rwk-", "combine": "sum"}
RWKPLUS: dict[str, Any] = {"kernel": "rwk+", "combine": "last"}


@dataclass(frozen=True)
class Row:
    """One line of a table: settings of :class:`~rwkplus.descriptive.rwk_cn.DescriptiveKCN` and the paper's values.

    ``paper`` gives mean and standard deviation by measure; accuracies in percent have no standard deviation.
    """

    name: str
    settings: dict[str, Any]
    paper: dict[str, tuple[float, float | None]] = field(default_factory=dict)
    against: tuple[str, ...] = ()
    """Rows of the same testbed for paired t-tests."""

    k: int = 1


@dataclass(frozen=True)
class Testbed:
    """A database, what should be found in it, how that is measured, and the rows of the table."""

    name: str
    graphs: Callable[[int], list[nx.Graph]]
    targets: dict[str, list[nx.Graph]]
    """Named targets; each is found with any of its graphs."""

    size: int
    rows: tuple[Row, ...]
    tried: tuple[Row, ...] = ()
    """Further settings, for rows that differ from the paper."""

    distances: tuple[str, ...] = ()
    """Edit distances to measure; accuracies where there are none."""

    ours: dict[str, Any] = field(default_factory=dict)
    """Options of our miner."""


def with_settings(rows: tuple[Row, ...], note: str, **settings: Any) -> tuple[Row, ...]:  # noqa: ANN401
    """The same rows with other settings, named after them and not tested against others."""
    return tuple(replace(row, name=f"{row.name}; {note}", settings=row.settings | settings, against=()) for row in rows)


def _percent(measure: str, value: float) -> dict[str, tuple[float, float | None]]:
    return {f"{measure}, {LABELS}": (value, None)}


def _task_1_1() -> list[Testbed]:
    pattern = "butterfly or star"
    found = {
        ("RWNN", "sum", 2): 26, ("RWNN", "sum", 3): 100, ("RWNN", "last", 2): 0, ("RWNN", "last", 3): 100,
        ("RWK+CN", "last", 2): 100, ("RWK+CN", "last", 3): 100,
    }  # fmt: skip
    rows = tuple(
        Row(
            f"{method}, {combine}, {steps} steps",
            {"kernel": "rwk-" if method == "RWNN" else "rwk+", "combine": combine, "steps": steps},
            _percent(pattern, value),
        )
        for (method, combine, steps), value in found.items()
    )
    targets = {pattern: [testbeds.butterfly(), testbeds.three_star("red"), testbeds.three_star("blue")]}
    tried = (
        *with_settings(rows[:3], "500 epochs", epochs=500),
        *with_settings(rows[:3], "raw similarity", loss="raw", lr=1e-6),
        *with_settings(rows[:1], "from length 0", include_zero_step=True),
    )
    return [Testbed("bipartite graphs", lambda n: testbeds.bipartite_graphs(n), targets, 4, rows, tried)]


def _task_1_2() -> list[Testbed]:
    found = {
        (2, "RWNN"): (0, 0, 0), (2, "RWK+CN"): (82, 24, 12), (2, "RWK+CN, diversity"): (72, 66, 44),
        (3, "RWNN"): (0, 0, 0), (3, "RWK+CN"): (88, 44, 32), (3, "RWK+CN, diversity"): (76, 80, 62),
        (4, "RWNN"): (0, 0, 0), (4, "RWK+CN"): (98, 68, 66), (4, "RWK+CN, diversity"): (84, 86, 74),
    }  # fmt: skip
    rows = []
    for (k, method), values in found.items():
        settings = dict(RWNN if method == "RWNN" else RWKPLUS, steps=3)
        if "diversity" in method:
            settings["diversity"] = 0.3
        paper: dict[str, tuple[float, float | None]] = {}
        for measure, value in zip(("P1", "P2", "both"), values, strict=True):
            paper |= _percent(measure, value)
        rows.append(Row(f"k={k}, {method}", settings, paper, k=k))
    p1, p2 = testbeds.chain_patterns()
    plain, diverse = tuple(rows[1::3]), tuple(rows[2::3])
    tried = (
        *with_settings(diverse, "diversity 1", diversity=1.0),
        *with_settings(diverse, "diversity 100", diversity=100.0),
        *with_settings(diverse[1:2], "diversity 100, 1000 epochs", diversity=100.0, epochs=1000),
        *with_settings(diverse, "logarithm of diversity, weight 0.5", diversity=0.5, diversity_loss="log"),
        *with_settings(diverse, "cosine diversity, weight 3", diversity=3.0, diversity_loss="cosine"),
        *with_settings(plain[:1], "one mean over the database", average="database"),
        *with_settings(diverse[:1], "one mean over the database", average="database"),
    )
    return [
        Testbed(
            f"triangle chains, linking {linking}",
            lambda n, linking=linking: triangle_chains(n, linking),  # type: ignore[misc]
            {"P1": [p1], "P2": [p2]},
            3,
            tuple(rows),
            tried if linking == "rand" else (),
        )
        for linking in ("rand", "apexbase", "base")
    ]


def _task_2_1() -> list[Testbed]:
    values = {
        "tailed triangle": (
            testbeds.tailed_triangle(),
            ((3.35, 0.41), (3.15, 0.34), (3.25, 0.39), (2.87, 0.58), (2.82, 0.64), (2.76, 0.86)),
        ),
        "ring R-B-R-B-R-B": (
            testbeds.ring("RBRBRB"),
            ((7.08, 0.64), (7.16, 0.58), (6.92, 0.75), (5.58, 0.65), (5.59, 0.73), (5.46, 0.86)),
        ),
    }
    beds = []
    for name, (target, paper) in values.items():
        settings = [("RWNN", RWNN, t) for t in (2, 4, 6)] + [("RWK+CN", RWKPLUS, t) for t in (2, 4, 6)]
        rows = tuple(
            Row(f"{method}, {t} steps", dict(how, steps=t), {WITH: value}, ("RWK+CN, 6 steps",))
            for (method, how, t), value in zip(settings, paper, strict=True)
        )
        tried = (
            *with_settings(rows, "sparsity 1", sparsity=1.0),
            *with_settings(rows, "sigmoid features", features="sigmoid"),
            *with_settings(rows[:3], "last step only", combine="last"),
            *with_settings(rows[:3], "ReLU edges, raw features", adjacency="relu", features="raw"),
        )
        beds.append(_identical(name, target, rows, tried, (WITH,)))
    return beds


def _task_2_2() -> list[Testbed]:
    # Long training without sparsity is where identity colors help; on the labeled ring L1 on edges and features is.
    long: dict[str, Any] = {"epochs": 1000, "sparsity": 0.0}
    cubic = (
        Row("RWNN, none", RWNN | long, {WITHOUT: (4.38, 0.65)}),
        Row("RWNN, identity", RWNN | long | {"views": ("identity",)}, {WITHOUT: (4.41, 0.56)}, ("RWNN, none",)),
        Row("RWK+CN, identity", RWKPLUS | long | {"views": ("identity",)}, {WITHOUT: (3.89, 0.48)}, ("RWNN, none",)),
        Row("RWNN, SC", RWNN | long | {"views": ("gat",)}, {WITHOUT: (4.45, 0.70)}, ("RWNN, none",)),
        Row("RWK+CN, SC", RWKPLUS | long | {"views": ("gat",)}, {WITHOUT: (4.10, 0.50)}, ("RWNN, none",)),
    )
    sparse: dict[str, Any] = {"features": "raw", "sparsity": 0.5, "feature_sparsity": 1.0}
    both = ("RWNN, none", "RWK+CN, none")
    square = (
        Row("RWNN, none", RWNN | sparse, {WITHOUT: (5.25, 0.64), WITH: (7.25, 0.64)}),
        Row("RWK+CN, none", RWKPLUS | sparse, {WITHOUT: (5.02, 0.63), WITH: (6.60, 0.93)}, both[:1]),
        Row(
            "RWK+CN, identity",
            RWKPLUS | sparse | {"views": ("labels", "identity")},
            {WITHOUT: (4.81, 0.70), WITH: (6.12, 1.01)},
            both,
        ),
        Row(
            "RWK+CN, SC",
            RWKPLUS | sparse | {"views": ("labels", "gat")},
            {WITHOUT: (4.82, 0.70), WITH: (6.25, 1.01)},
            both,
        ),
    )
    default = {"epochs": 200, "sparsity": 0.1, "features": "softmax", "feature_sparsity": 0.0}
    colored = tuple(row for row in cubic if row.name.endswith("SC"))
    cubic_tried = (
        *with_settings(cubic, "defaults", **default),
        *with_settings(cubic, "raw features, L1 1 on them", features="raw", feature_sparsity=1.0),
        *with_settings(colored, "raw features", features="raw"),
        *with_settings(colored, "raw features, whitened", features="raw", whiten=True),
        *with_settings(colored, "GIN", views=("gin",)),
    )
    square_tried = (
        *with_settings(square, "defaults", **default),
        *with_settings(square, "500 epochs, softmax, sparsity 1", **default | {"epochs": 500, "sparsity": 1.0}),
        *with_settings(square[3:], "whitened", whiten=True),
    )
    beds = [
        _identical(f"3-regular, {name}", target, cubic, cubic_tried, (WITHOUT,))
        for name, target in (("prism", testbeds.prism()), ("K33", testbeds.complete_bipartite_33()))
    ]
    return [*beds, _identical("ring R-R-B-R-R-B", testbeds.ring("RRBRRB"), square, square_tried, (WITHOUT, WITH))]


def _identical(
    name: str, target: nx.Graph, rows: tuple[Row, ...], tried: tuple[Row, ...], distances: tuple[str, ...]
) -> Testbed:
    # Walks alone cannot tell some of these graphs from others; the numbers of their nodes can.
    return Testbed(
        name,
        lambda n: testbeds.copies(target, n),
        {"target": [target]},
        len(target),
        rows,
        tried,
        distances,
        {"view": "identity"},
    )


TASKS: dict[str, Callable[[], list[Testbed]]] = {
    "task-1-1": _task_1_1,
    "task-1-2": _task_1_2,
    "task-2-1": _task_2_1,
    "task-2-2": _task_2_2,
}
