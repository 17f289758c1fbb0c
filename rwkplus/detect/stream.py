"""Scores for graphs that arrive one by one: JSON lines in, JSON lines out, memory constant."""

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any, BinaryIO, NamedTuple, TextIO

import networkx as nx

from rwkplus.detect.base import GraphDetector
from rwkplus.errors import GraphError, RWKPlusError
from rwkplus.graphs.json_lines import JsonGraph, parse_graph

CHUNK = 1 << 18
"""Most bytes read at a time. What has arrived is scored at once: one graph of a slow source, hundreds of a file."""
LONGEST_LINE = 1 << 24


class Line(NamedTuple):
    """One line and its number, counted from 1; no text where it was too long."""

    number: int
    text: bytes | None


class Refused(NamedTuple):
    """What is wrong with a line, and the name of its graph if it can be told."""

    error: str
    name: object = None


class Counts(NamedTuple):
    """What went through a stream."""

    scored: int
    flagged: int
    errors: int


def score_stream(
    detector: GraphDetector, source: BinaryIO, sink: TextIO, *, explain: bool = False, tell: Callable[[str], str] = str
) -> Counts:
    """Score one graph per line of ``source``; write one record per line to ``sink``, in the same order.

    A record has ``line``, the graph's ``id`` if it has one, ``score`` and ``anomaly``, or ``error`` where a line is not
    a graph that the detector can judge; the stream goes on after those. With ``explain``, anomalies also have
    ``nodes``, the ids of the unusual ones, from detectors that can tell. ``tell`` puts errors into the reader's words.
    """
    scored = flagged = errors = 0
    for lines in _arrivals(source):
        for record in score_lines(detector, lines, explain=explain):
            failed = "error" in record
            if failed:
                record["error"] = tell(record["error"])
            errors += failed
            scored += not failed
            flagged += bool(record.get("anomaly"))
            sink.write(json.dumps(record) + "\n")
        sink.flush()
    return Counts(scored, flagged, errors)


def score_lines(detector: GraphDetector, lines: Sequence[Line], *, explain: bool = False) -> Iterator[dict[str, Any]]:
    """Yield a record for every line that is not blank."""
    parsed = [(line.number, _parsed(line.text)) for line in lines if line.text is None or line.text.strip()]
    good = [item for _, item in parsed if isinstance(item, JsonGraph)]
    judged = iter(_judged(detector, good, explain=explain))
    for number, item in parsed:
        name = {} if item.name is None else {"id": item.name}
        yield {"line": number, **name, **(next(judged) if isinstance(item, JsonGraph) else {"error": item.error})}


def _judged(detector: GraphDetector, items: Sequence[JsonGraph], *, explain: bool) -> list[dict[str, Any]]:
    """Judge graphs together and, where that fails, one by one, so that each error stays with its graph."""
    if not items:
        return []
    try:
        scores = detector.anomaly_scores([item.graph for item in items])
    except RWKPlusError as error:
        if len(items) == 1:
            return [{"error": str(error).removeprefix("graph 0: ")}]
        return [record for item in items for record in _judged(detector, [item], explain=explain)]
    records: list[dict[str, Any]] = [
        {"score": float(score), "anomaly": bool(score > detector.threshold_)} for score in scores
    ]
    if explain and detector.explains:
        _explain(detector, [(item.graph, record) for item, record in zip(items, records, strict=True)])
    return records


def _explain(detector: GraphDetector, judged: Sequence[tuple[nx.Graph, dict[str, Any]]]) -> None:
    """Add the ids of unusual nodes to the records of anomalies."""
    odd = [(graph, record) for graph, record in judged if record["anomaly"]]
    if not odd:
        return
    for (_, record), why in zip(odd, detector.explain([graph for graph, _ in odd]), strict=True):
        record["nodes"] = list(why.nodes)


def _parsed(text: bytes | None) -> JsonGraph | Refused:
    if text is None:
        return Refused(f"the line is longer than {LONGEST_LINE:,} bytes.")
    try:
        return parse_graph(text)
    except GraphError as error:
        return Refused(str(error), _name_anyway(text))


def _name_anyway(text: bytes) -> object:
    try:
        record = json.loads(text)
    except (ValueError, RecursionError):
        return None
    name = record.get("id") if isinstance(record, dict) else None
    return name if isinstance(name, str | int) else None


def _arrivals(source: BinaryIO) -> Iterator[list[Line]]:
    """Yield the lines that have arrived, without waiting for more; of longer ones than allowed nothing is kept."""
    number, begun, skipping = 1, b"", False
    while chunk := source.read1(CHUNK):  # type: ignore[attr-defined]
        *whole, begun = (begun + chunk).split(b"\n")
        lines = []
        for text in whole:
            lines.append(Line(number, None if skipping or len(text) > LONGEST_LINE else text))
            number, skipping = number + 1, False
        if len(begun) > LONGEST_LINE:
            skipping, begun = True, b""
        if lines:
            yield lines
    if begun or skipping:
        yield [Line(number, None if skipping else begun)]
