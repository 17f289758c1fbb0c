"""``rwkplus detect``."""

import json
import sys
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import typer
from rich.table import Table

from rwkplus.cli.console import check_output, err, out, print_json, title_of, told
from rwkplus.cli.options import CHOICES, GRAPHS, Json, Reading, Seed, dataset_names, reads_graphs
from rwkplus.errors import ParameterError
from rwkplus.files import write_atomic
from rwkplus.types import OutlierMethod

DEMO = "planted-anomalies"
SHOWN = 20
NO_REPORT = "No report was written: graphs with attributes, or without labels, are scored as a whole, without a reason."
CONTAMINATION = 0.05
Kind = Literal["surprise", "kernel", "pattern"]


class Judged(NamedTuple):
    """A detector and what it found."""

    detector: Any
    graphs: Any  # a table
    name: str
    found: Any  # scores and flags
    usual: Any  # what else to compare with
    known: dict[int, str] | None  # what was planted, where that is known
    flagged: list[int]  # the most anomalous first
    why: dict[int, Any]  # explanations of those that are to be told, if the detector can

    def score(self, i: int) -> float:
        """How anomalous a graph is: higher is more so, other than in Python."""
        return 0.0 - float(self.found.scores[i])

    def facts(self) -> dict[str, Any]:
        """What is printed for programs."""
        rows = [{"graph": i, **_named(self.graphs, i), "score": self.score(i), **self.unusual(i)} for i in self.flagged]
        threshold = 0.0 - self.detector.offset_
        return {"dataset": self.name, "graphs": len(self.graphs), "threshold": threshold, "flagged": rows}

    def unusual(self, i: int) -> dict[str, Any]:
        """The unusual nodes of a graph, as their users call them."""
        return {"nodes": list(self.why[i].nodes)} if i in self.why else {}


@reads_graphs
def detect(
    dataset: Annotated[
        str | None,
        typer.Argument(help=GRAPHS, show_default=DEMO, autocompletion=dataset_names),
    ] = None,
    out_folder: Annotated[
        Path | None, typer.Option("--out", help="Folder for report.html, scores.jsonl and detector.safetensors.")
    ] = None,
    train: Annotated[str | None, typer.Option(help="Learn from these graphs what is usual.")] = None,
    score: Annotated[str | None, typer.Option(help="Score these graphs; with --train or --model.")] = None,
    model: Annotated[Path | None, typer.Option(help="Use a saved detector, such as detector.safetensors.")] = None,
    stream: Annotated[
        bool, typer.Option("--stream", help="Score graphs from stdin as they arrive; with --train or --model.")
    ] = False,
    detector: Annotated[Kind, typer.Option(help="What makes a graph an outlier; see above.")] = "surprise",
    method: Annotated[OutlierMethod, typer.Option(help="How --detector kernel compares graphs.")] = "nearest",
    contamination: Annotated[float, typer.Option(help="Expected share of outliers, at most 0.5.")] = CONTAMINATION,
    seed: Seed = 0,
    force: Annotated[bool, typer.Option("--force", help="Write into an existing folder.")] = False,
    as_json: Json = False,
    *,
    reading: Reading,
) -> None:
    """Find graphs that do not fit, and show why.

    By default, each graph is compared with all others of the data set. With --train and --score, the graphs of one
    data set are compared with those of another. With --stream, each line of JSON is answered with a line of JSON.
    [bold]surprise[/] finds graphs with improbable neighborhoods, [bold]kernel[/] graphs unlike all others, and
    [bold]pattern[/] graphs with edges that no mined pattern explains. Higher scores are more anomalous.
    """
    _check_sources(dataset, train, score, model, stream=stream)
    filed = out_folder is not None or as_json
    _check_options(detector, method, contamination, seed, model, reading, stream=stream, filed=filed)
    if out_folder is not None:
        check_output(out_folder, None if force else "use --force to write into it", folder=True)
    fitted = _detector(detector, method, contamination, reading.ignore, seed, model)
    left_out = reading.ignore + (fitted.ignored if model else ())
    # Graphs of a stream come without degrees as labels, so must those of files.
    how = {"without_labels": "nothing", "ignore": left_out}
    usual = None
    if train:
        learned = reading.load(train, **how)
        usual = learned[~fitted.fit_judge(learned).flagged]
    if stream:
        _stream(fitted)
        return
    name = score or dataset or DEMO
    graphs = reading.load(name, **how)
    found = fitted.judge(graphs) if score else fitted.fit_judge(graphs)
    judged = _judged(fitted, graphs, name, found, usual, most=None if filed else SHOWN)
    page = None
    if out_folder is not None:
        page = _write(judged, out_folder)
        reading.keep(name, out_folder, **how)
    if as_json:
        print_json(judged.facts())
        return
    _show(judged)
    if out_folder is not None:
        out.print(NO_REPORT if page is None else f"The report is {page}.", soft_wrap=True)


def _check_sources(
    dataset: str | None, train: str | None, score: str | None, model: Path | None, *, stream: bool
) -> None:
    learned = train is not None or model is not None
    if train is not None and model is not None:
        raise ParameterError("--train fits a new detector and --model loads a saved one: give only one of them.")
    if dataset is not None and (learned or stream):
        learning = "" if learned else f" To score stdin with it instead: --train {dataset} --stream."
        raise ParameterError(
            f"DATASET is not used with --train, --model or --stream: name the graphs to score with --score.{learning}"
        )
    if stream and score is not None:
        raise ParameterError("--stream scores graphs from stdin and --score those of a file: give only one of them.")
    if learned != (stream or score is not None):
        raise ParameterError(
            "--train or --model say what is usual, and --score or --stream what to score: give one of each."
        )


def _check_options(
    detector: str,
    method: str,
    contamination: float,
    seed: int,
    model: Path | None,
    reading: Reading,
    *,
    stream: bool,
    filed: bool,
) -> None:
    """Refuse options that would do nothing."""
    if stream and filed:
        raise ParameterError("--stream writes one line of JSON per graph to stdout: leave out --out and --json.")
    if method != "nearest" and detector != "kernel":
        raise ParameterError("--method only applies to --detector kernel: add it, or leave out --method.")
    if model is not None and stream and reading.ignore:
        raise ParameterError(
            "--model already leaves out the columns ignored in training: give --ignore when training instead."
        )
    if model is not None and stream and reading.given:
        option = CHOICES[next(iter(reading.given))][1]
        raise ParameterError(f"{option} only applies to files, and --stream reads JSON lines: leave it out.")
    if model is not None and (detector, method, contamination, seed) != ("surprise", "nearest", CONTAMINATION, 0):
        raise ParameterError(
            "--model has its own settings: leave out --detector, --method, --contamination and --seed."
        )


def _detector(
    kind: Kind,
    method: OutlierMethod,
    contamination: float,
    ignore: tuple[str, ...],
    seed: int,
    model: Path | None,
) -> Any:  # noqa: ANN401
    from rwkplus.detect import GraphDetector, PatternDetector, SurpriseDetector, WalkKernelDetector
    from rwkplus.mining import PatternMiner

    if model is not None:
        return GraphDetector.load(model)
    if kind == "surprise":
        return SurpriseDetector(contamination, ignore=ignore, random_state=seed)
    if kind == "kernel":
        return WalkKernelDetector(contamination, method, ignore=ignore, random_state=seed)
    miner = PatternMiner("auto", criterion="blocks", n_controls=3, ignore=ignore, random_state=seed)
    return PatternDetector(contamination, miner)


def _judged(detector: Any, graphs: Any, name: str, found: Any, usual: Any, most: int | None) -> Judged:  # noqa: ANN401
    """What was found, with explanations of at most so many flagged graphs."""
    from rwkplus.datasets import anomalous_molecules
    from rwkplus.reports.detection import flagged_graphs

    flagged, known, why = flagged_graphs(found), None, {}
    if name == DEMO:
        known = {i: odd.kind for i, odd in enumerate(anomalous_molecules().anomalies) if odd is not None}
    if flagged and detector.explains:
        why = dict(zip(flagged[:most], detector.explain(graphs[flagged[:most]]), strict=True))
    return Judged(detector, graphs, name, found, usual, known, flagged, why)


def _stream(detector: Any) -> None:  # noqa: ANN401
    from rwkplus.detect.stream import score_stream

    if sys.stdin is None:
        raise ParameterError("--stream reads graphs from stdin, which is closed.")
    counts = score_stream(detector, sys.stdin.buffer, sys.stdout, explain=True, tell=told)
    err.print(f"{counts.scored} scored, {counts.flagged} flagged, {counts.errors} errors")


def _write(judged: Judged, folder: Path) -> Path | None:
    """Write model, scores and, for graphs with labels, a page, each whole or not at all."""
    from rwkplus.reports import write_detection_report

    rows = (
        {"graph": i, **_named(judged.graphs, i), "score": judged.score(i), "anomaly": odd, **judged.unusual(i)}
        for i, odd in enumerate(judged.found.flagged.tolist())
    )
    page = folder / "report.html"
    if judged.detector.explains:
        graphs, name, found = judged.graphs, title_of(judged.name), judged.found
        write_detection_report(page, judged.detector, graphs, name, found, judged.usual, judged.known, judged.why)
    else:
        page.unlink(missing_ok=True)  # that of an earlier run
    judged.detector.save(folder / "detector.safetensors")
    write_atomic(folder / "scores.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    return page if judged.detector.explains else None


def _named(graphs: Any, i: int) -> dict[str, Any]:  # noqa: ANN401
    """The user's own name of a graph, if it has one."""
    return {"id": graphs.graph_id(i)} if "name" in graphs.graphs else {}


def _show(judged: Judged) -> None:
    from rwkplus.reports.detection import why_none

    table = Table(box=None)
    for column in ("", "graph", "score"):
        table.add_column(column, justify="right")
    table.add_column("unusual nodes", overflow="fold")
    if judged.known is not None:
        table.add_column("planted")
    shown = judged.flagged[:SHOWN]
    reasons = _reasons(judged, shown)
    for k, (i, reason) in enumerate(zip(shown, reasons, strict=True), start=1):
        truth = [] if judged.known is None else [judged.known.get(i, "-")]
        table.add_row(str(k), str(judged.graphs.graph_id(i)), f"{judged.score(i):.3g}", reason, *truth)
    out.print(table)
    left = f", the first {SHOWN} shown" if len(judged.flagged) > SHOWN else ""
    out.print(
        f"\n{len(judged.flagged)} of {len(judged.graphs)} graphs flagged{left}: "
        f"{judged.detector.which_are_flagged(judged.found)}.",
    )
    if not judged.flagged:
        out.print(why_none(judged.detector, judged.found))
    elif len(judged.flagged) == len(judged.graphs):
        out.print("Every graph was flagged: are these graphs of the same kind as those that the detector learned from?")
    if judged.known is not None:
        found = sum(i in judged.known for i in judged.flagged)
        out.print(f"Outliers planted in this data set: {found} of {len(judged.known)} flagged.")


def _reasons(judged: Judged, shown: list[int]) -> list[str]:
    from rwkplus.reports.detection import unusual_nodes

    if not judged.why:
        return [""] * len(shown)
    drawn = judged.detector.labelled(judged.graphs[shown])
    return [unusual_nodes(graph, judged.why[i]) for graph, i in zip(drawn, shown, strict=True)]
