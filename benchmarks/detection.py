"""Detectors: graphs scored per second, and the memory of a stream. ``python -m benchmarks.detection [STREAMED]``."""

import io
import itertools
import resource
import sys
import time
from pathlib import Path

import numpy as np

from benchmarks.measure import cpu_seconds, record
from rwkplus.datasets import load_graphs
from rwkplus.detect import PatternDetector, SurpriseDetector, WalkKernelDetector
from rwkplus.detect.stream import CHUNK, score_stream
from rwkplus.io.json_lines import graph_to_json

BULK = 20_000
STREAMED = 1_000_000
DETECTORS = {
    "SurpriseDetector": SurpriseDetector,
    "WalkKernelDetector, nearest": WalkKernelDetector,
    "PatternDetector": PatternDetector,
}


class Repeated(io.RawIOBase):
    """A source that repeats the same lines without ever holding more than one round of them."""

    def __init__(self, lines, count):
        self.left = itertools.islice(itertools.cycle(lines), count)
        self.done = 0
        self.curve = []

    def read1(self, _=-1):
        """Hand out some lines, and look at the memory now and then."""
        lines = list(itertools.islice(self.left, CHUNK // 2048))
        if self.done % 50_000 < len(lines):
            self.curve.append((self.done, resident_megabytes()))
        self.done += len(lines)
        return b"".join(lines)


class Nowhere(io.TextIOBase):
    """A sink that forgets."""

    def write(self, text):
        """Take it."""
        return len(text)


def resident_megabytes():
    """Memory of this process now; where the system does not tell, the most it ever had."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() / 1e6
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


def bulk_rows(graphs):
    """Time every detector on many graphs at once."""
    many = graphs[np.arange(BULK) % len(graphs)]
    rows = []
    for name, make in DETECTORS.items():
        detector = make().fit(graphs)
        detector.score_samples(graphs)  # compile
        seconds, scores = cpu_seconds(lambda fitted=detector: fitted.score_samples(many), repeats=3)
        assert np.allclose(scores[: len(graphs)], detector.score_samples(graphs))
        rows.append({"detector": name, "graphs": BULK, "s": seconds, "graphs per second": BULK / seconds})
    return rows


def stream_row(graphs, count, *, explain=False):
    """Send JSON lines through a stream; tell the speed, and the memory early, in the middle and at the end."""
    detector = SurpriseDetector().fit(graphs)
    source = Repeated([graph_to_json(graph).encode() + b"\n" for graph in graphs], count)
    begin = time.process_time()
    counts = score_stream(detector, source, Nowhere(), explain=explain)
    seconds = time.process_time() - begin
    assert counts.scored == count
    memory = [megabytes for done, megabytes in source.curve if done > 0] or [resident_megabytes()]
    return {
        "detector": "SurpriseDetector, stream",
        "graphs": count,
        "s": seconds,
        "graphs per second": count / seconds,
        "MB early": memory[0],
        "MB in the middle": memory[len(memory) // 2],
        "MB at the end": memory[-1],
        "end / early": memory[-1] / memory[0],
    }


def main():
    """Measure and record."""
    graphs = load_graphs("MUTAG")
    streamed = int(sys.argv[1]) if len(sys.argv) > 1 else STREAMED
    record(
        "detection",
        "Scoring MUTAG's graphs with fitted detectors",
        "CPU time of one core. In bulk: a table in, scores out, all checks of the input included. Stream: JSON "
        "lines in and out, parsing included, a chunk at a time; resident memory early (after 50,000 graphs), in the "
        "middle and at the end.",
        [*bulk_rows(graphs), stream_row(graphs, streamed)],
    )


if __name__ == "__main__":
    main()
