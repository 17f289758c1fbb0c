"""What the paper claims of its miner, effect by effect, and whether the result files show it."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from experiments.mining_rows import LABELS, WITH, WITHOUT

RESTARTS_OF_THE_PAPER = 50
LEVEL = 0.05

COLOR_MATCHING = "matching every color of a walk"
DIVERSITY = "diversity regularization"
COLORS = "structural colors"
IDENTITY = "identity colors"
EFFECTS = (COLOR_MATCHING, DIVERSITY, IDENTITY, COLORS)

Record = Mapping[str, Any]
Results = Mapping[str, Record]
"""Result files by task."""


class Contrast(NamedTuple):
    """Two rows of one testbed, of which the first should be better."""

    better: str
    worse: str
    measure: str


@dataclass(frozen=True)
class Claim:
    """An effect that the paper claims on one testbed, by all contrasts that show it."""

    effect: str
    shown: str
    """Where the paper shows it, and by what."""

    task: str
    testbed: str
    contrasts: tuple[Contrast, ...]


def claims(results: Results) -> Iterator[Claim]:
    """The paper's claims about the testbeds of the result files."""
    for task, record in results.items():
        for bed in dict.fromkeys(row["testbed"] for row in record["values"]["rows"]):
            for effect, shown, contrasts in BY_TASK[task](bed):
                yield Claim(effect, shown, task, bed, contrasts)


Effects = list[tuple[str, str, tuple[Contrast, ...]]]


def _bipartite(_: str) -> Effects:
    found = f"butterfly or star, {LABELS}"
    return [
        (
            COLOR_MATCHING,
            "table 1, last of 2 steps",
            (Contrast("RWK+CN, last, 2 steps", "RWNN, last, 2 steps", found),),
        )
    ]


def _chains(_: str) -> Effects:
    both, sizes = f"both, {LABELS}", (2, 3, 4)
    plain = tuple(Contrast(f"k={k}, RWK+CN", f"k={k}, RWNN", f"P1, {LABELS}") for k in sizes)
    diverse = tuple(Contrast(f"k={k}, RWK+CN, diversity", f"k={k}, RWK+CN", both) for k in sizes)
    return [
        (COLOR_MATCHING, "table 2, P1, k = 2, 3, 4", plain),
        (DIVERSITY, "table 2, both patterns, k = 2, 3, 4", diverse),
    ]


def _labeled(bed: str) -> Effects:
    figure = "figure 2" if "triangle" in bed else "figure 3"
    steps = tuple(Contrast("RWK+CN, 6 steps", f"RWNN, {t} steps", WITH) for t in (2, 4, 6))
    return [(COLOR_MATCHING, f"{figure}, RWNN of 2, 4, 6 steps", steps)]


def _colored(bed: str) -> Effects:
    if bed.startswith("3-regular"):
        return [
            (IDENTITY, "table 3", (Contrast("RWK+CN, identity", "RWNN, none", WITHOUT),)),
            (COLORS, "table 3", (Contrast("RWK+CN, SC", "RWNN, none", WITHOUT),)),
        ]

    def both(better: str, worse: str) -> tuple[Contrast, ...]:
        return tuple(Contrast(better, worse, measure) for measure in (WITHOUT, WITH))

    return [
        (COLOR_MATCHING, "table 4, without and with labels", both("RWK+CN, none", "RWNN, none")),
        (IDENTITY, "table 4, without and with labels", both("RWK+CN, identity", "RWK+CN, none")),
        (COLORS, "table 4, without and with labels", both("RWK+CN, SC", "RWK+CN, none")),
    ]


BY_TASK = {"task-1-1": _bipartite, "task-1-2": _chains, "task-2-1": _labeled, "task-2-2": _colored}


PRESENT = "present"


def verdict(outcomes: Sequence[bool]) -> str:
    """Present, absent, or how often of all contrasts.

    >>> verdict([True, True]), verdict([True, False]), verdict([False])
    ('present', 'in 1 of 2', 'absent')
    """
    if all(outcomes):
        return PRESENT
    return f"in {sum(outcomes)} of {len(outcomes)}" if any(outcomes) else "absent"


def outcome(claim: Claim, results: Results) -> str:
    """Whether the result files show a claim."""
    rows = rows_by_name(results[claim.task], claim.testbed)
    return verdict(
        [shows(rows[a]["faithful"][part], rows[b]["faithful"][part], part)[0] for a, b, part in claim.contrasts]
    )


def rows_by_name(record: Record, testbed: str) -> dict[str, dict[str, Any]]:
    """The paper's rows of a testbed."""
    rows = record["values"]["rows"]
    return {row["row"]: row for row in rows if row["testbed"] == testbed and not row["tried"]}


def shows(better: Sequence[float], worse: Sequence[float], measure: str) -> tuple[bool, float]:
    """Whether the first is better beyond chance, and p of the difference, paired by initialization.

    >>> shows([1, 1, 1, 1, 1, 1, 1], [0, 0, 0, 0, 0, 0, 1], "P1")
    (True, 0.03125)
    """
    p = p_value(better, worse, measure)
    gain = float(np.mean(better) - np.mean(worse)) * (1 if is_share(measure) else -1)
    return gain > 0 and p < LEVEL, p


def p_value(first: Sequence[float], second: Sequence[float], measure: str) -> float:
    """Of shares by McNemar's exact test, of distances by the paired t-test."""
    difference = np.subtract(first, second)
    if is_share(measure):
        changed = int((difference != 0).sum())
        return float(stats.binomtest(int((difference > 0).sum()), changed).pvalue) if changed else 1.0
    return float(stats.ttest_rel(first, second).pvalue) if difference.any() else 1.0


def is_share(measure: str) -> bool:
    """Whether a measure counts what was found; otherwise it is a distance."""
    return not measure.startswith("GED")


def compared(record: Record) -> list[bool]:
    """Of every value of the paper, whether ours differs from it."""
    rows = (row for row in record["values"]["rows"] if not row["tried"])
    return [differs(row["faithful"][measure], *paper) for row in rows for measure, paper in row["paper"].items()]


def differs(values: Sequence[float], mean: float, deviation: float | None) -> bool:
    """Whether values of single initializations are more than two combined standard errors from the paper's mean.

    Args:
        values: Distances, or 0 and 1 for accuracies.
        mean: The paper's mean; a percentage for accuracies.
        deviation: The paper's standard deviation over its initializations; None for accuracies.
    """
    if deviation is None:
        hits, size = float(np.sum(values)), len(values)
        theirs = mean / 100 * RESTARTS_OF_THE_PAPER
        # One success and one failure more keep the error above zero where all or none were found.
        errors = [_share_error(hits, size), _share_error(theirs, RESTARTS_OF_THE_PAPER)]
        return bool(abs(hits / size - mean / 100) > 2 * math.hypot(*errors))
    return bool(abs(np.mean(values) - mean) > 2 * math.hypot(standard_error(values), paper_error(deviation)))


def _share_error(hits: float, size: int) -> float:
    share = (hits + 1) / (size + 2)
    return math.sqrt(share * (1 - share) / (size + 2))


def paper_error(deviation: float) -> float:
    """Standard error of a mean of the paper."""
    return deviation / math.sqrt(RESTARTS_OF_THE_PAPER)


def standard_error(values: Sequence[float]) -> float:
    """Standard error of a mean of ours."""
    return float(np.std(values, ddof=1) / math.sqrt(len(values))) if len(values) > 1 else math.nan
