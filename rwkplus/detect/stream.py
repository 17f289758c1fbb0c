"""Scores for graphs that arrive one by one: JSON lines in, JSON lines out, memory constant."""

import gc
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, BinaryIO, NamedTuple, TextIO

import msgspec
import numpy as np

from rwkplus.detect.graph_detector import GraphDetector
from rwkplus.errors import RWKPlusError
from rwkplus.io.json_records import BadLine, parse_lines
from rwkplus.table import GraphTable

CHUNK = 1 << 19
"""Most bytes read at a time. What has arrived is scored at once: one graph of a slow source, hundreds of a file."""
LONGEST_LINE = 1 << 24
encode = msgspec.json.encode


Line = tuple[int, bytes | None]
"""Its number, counted from 1, and its text, or None where it was too long."""


class Counts(NamedTuple):
    """What went through a stream."""

    scored: int
    flagged: int
    errors: int


def score_stream(
    detector: GraphDetector,
    source: BinaryIO,
    sink: TextIO,
    *,
    explain: bool = False,
    tell: Callable[[RWKPlusError | str], str] = str,
) -> Counts:
    """Score one graph per line of ``source``; write one record per line to ``sink``, in the same order.

    A record has ``line``, the graph's ``id`` if it has one, ``score`` and ``anomaly``, or ``error`` where a line is not
    a graph that the detector can judge; the stream goes on after those. For people who read it, ``score`` is *higher*
    for anomalies: the negative of :meth:`GraphDetector.score_samples`. With ``explain``, anomalies also have ``nodes``,
    the ids of the unusual ones, from detectors that can tell. ``tell`` puts errors into the reader's words.

    >>> import io
    >>> from rwkplus.detect import SurpriseDetector
    >>> detector, sink = SurpriseDetector(ignore=("edges.label",)).fit(["CCO", "CCC", "OCO"]), io.StringIO()
    >>> line = b'{"id": "g", "nodes": [{"id": 0, "label": "Xe"}], "edges": []}'
    >>> score_stream(detector, io.BytesIO(line), sink)
    Counts(scored=1, flagged=1, errors=0)
    """
    scored = flagged = errors = 0
    with _garbage_of_the_stream_alone():
        for lines in _arrivals(source):
            for record in _score_lines(detector, lines, explain=explain):
                failed = "error" in record
                if failed:
                    record["error"] = tell(record["error"]).removeprefix("graph 0: ")
                errors += failed
                scored += not failed
                flagged += bool(record.get("anomaly"))
                sink.write(_written(record) + "\n")
            sink.flush()
    return Counts(scored, flagged, errors)


@contextmanager
def _garbage_of_the_stream_alone() -> Iterator[None]:
    """Let Python look for garbage among what the stream makes, not among all that was there before: this is faster."""
    frozen = gc.get_freeze_count()  # somebody else's, who will not want it back
    if not frozen:
        gc.freeze()
    try:
        yield
    finally:
        if not frozen:
            gc.unfreeze()


def _score_lines(detector: GraphDetector, lines: Sequence[Line], *, explain: bool = False) -> Iterator[dict[str, Any]]:
    """Yield a record for every line that is not blank; its ``error``, if any, is what was raised or a text."""
    lines = [(number, text) for number, text in lines if text is None or text.strip()]
    parsed = parse_lines([text for _, text in lines if text is not None])
    judged = [_judged(detector, table, explain=explain) for table in parsed.tables]
    found = iter(parsed.lines)
    for number, text in lines:
        place = BadLine(f"the line is longer than {LONGEST_LINE:,} bytes.") if text is None else next(found)
        answer = {"error": place.error} if isinstance(place, BadLine) else judged[place.table][place.row]
        yield {"line": number, **({} if place.name is None else {"id": place.name}), **answer}


def _judged(detector: GraphDetector, table: GraphTable, *, explain: bool) -> list[dict[str, Any]]:
    """Judge graphs together and, where that fails, one by one, so that each error stays with its graph."""
    unnamed = replace(table, graphs={})  # an error is told beside the name
    try:
        judged = detector.judge(unnamed)
    except RWKPlusError as error:
        if len(table) == 1:
            return [{"error": error}]
        return [record for graph in table for record in _judged(detector, graph, explain=explain)]
    odd = judged.flagged
    records: list[dict[str, Any]] = [
        {"score": 0.0 - score, "anomaly": flagged}
        for score, flagged in zip(judged.scores.tolist(), odd.tolist(), strict=True)
    ]
    if explain and detector.explains and odd.any():
        for i, why in zip(np.flatnonzero(odd).tolist(), detector.explain(unnamed[odd]), strict=True):
            records[i]["nodes"] = list(why.nodes)
    return records


def _written(record: dict[str, Any]) -> str:
    """A line of JSON, which any terminal can take."""
    text = encode(record).decode()
    return text if text.isascii() else json.dumps(record)


def _arrivals(source: BinaryIO) -> Iterator[list[Line]]:
    """Yield the lines that have arrived, without waiting for more; of longer ones than allowed nothing is kept."""
    number, begun, skipping = 1, b"", False
    while chunk := source.read1(CHUNK):  # type: ignore[attr-defined]
        *whole, begun = (begun + chunk).split(b"\n")
        lines = []
        for text in whole:
            lines.append((number, None if skipping or len(text) > LONGEST_LINE else text))
            number, skipping = number + 1, False
        if len(begun) > LONGEST_LINE:
            skipping, begun = True, b""
        if lines:
            yield lines
    if begun or skipping:
        yield [(number, None if skipping else begun)]
