"""``rwkplus mine``."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer
from rich.table import Table

from rwkplus.cli.console import check_output, err, out, print_json, title_of
from rwkplus.cli.options import Dataset, Jobs, Json, Reading, Seed, reads_graphs
from rwkplus.errors import ParameterError
from rwkplus.files import write_atomic
from rwkplus.progress import progress_bars
from rwkplus.types import Coloring, Criterion

if TYPE_CHECKING:
    import networkx as nx

    from rwkplus.mining import Pattern


LEGEND = (
    "times: occurrences; edges: share of all edges covered; new: share not covered by earlier patterns; score: "
    "evidence that the pattern is not a coincidence, in nats."
)


@reads_graphs
def mine(
    dataset: Dataset,
    out_folder: Annotated[Path, typer.Option("--out", help="Folder for report.html and patterns.json.")],
    patterns: Annotated[str, typer.Option(help="Number of patterns, a range such as 2-8, or auto.")] = "6",
    criterion: Annotated[Criterion, typer.Option(help="Which patterns to find; see above.")] = "maximal",
    size: Annotated[str, typer.Option(help="Nodes per pattern: a number, a range such as 3-8, or auto.")] = "auto",
    colors: Annotated[Coloring, typer.Option(help="structural: label nodes by their position in the graph.")] = "auto",
    gradient: Annotated[bool, typer.Option(help="Also search by gradient descent; needs rwkplus\\[nn].")] = False,
    controls: Annotated[
        int, typer.Option(help="Randomized copies of the data to compare with, at most; 0 skips the test.", min=0)
    ] = 10,
    max_seconds: Annotated[
        float | None, typer.Option(help="Stop after this time and keep the patterns found so far.")
    ] = None,
    jobs: Jobs = 1,
    seed: Seed = 0,
    force: Annotated[bool, typer.Option("--force", help="Write into an existing folder.")] = False,
    as_json: Json = False,
    *,
    reading: Reading,
) -> None:
    """Find patterns: subgraphs that occur more often than expected by chance.

    [bold]maximal[/] patterns are as large as the data support; [bold]blocks[/] are small building blocks that together
    cover most edges; [bold]contrast[/] finds what one class has more often than others, or what goes with a high or low
    target. Supports are exact. Patterns can have directed edges and conditions on numbers, such as amount >= 4000.
    """
    from rwkplus.mining import PatternMiner, save_patterns
    from rwkplus.reports import mining_report
    from rwkplus.reports.mining import what_chance_reaches

    check_output(out_folder, None if force else "use --force to write into it", folder=True)
    graphs, how = _load(dataset, reading)
    miner = PatternMiner(
        _range("--patterns", patterns),
        _range("--size", size),
        criterion=criterion,
        colors=colors,
        candidates=("grown", "sampled", "gradient") if gradient else ("grown", "sampled"),
        n_controls=controls,
        max_seconds=max_seconds,
        ignore=reading.ignore,
        random_state=seed,
        n_jobs=jobs,
    )
    with progress_bars(err) as show:
        miner.fit(graphs, _targets(graphs, criterion), callback=show)
    page = mining_report(miner, graphs, title_of(dataset))  # takes longest: before it, nothing is written
    save_patterns(miner.patterns_, out_folder / "patterns.json")
    reading.keep(dataset, out_folder, **how)
    report = write_atomic(out_folder / "report.html", page)
    if as_json:
        facts = {"dataset": dataset, "graphs": len(graphs), "threshold": miner.threshold_}
        print_json(facts | {"patterns": [_row(pattern) for pattern in miner.patterns_]})
        return
    if miner.patterns_:
        out.print(_table(miner.patterns_))
        out.print(f"\n{LEGEND} {what_chance_reaches(miner)}")
    _tell_planted(dataset, miner.patterns_)
    out.print(f"The report is {report}.", soft_wrap=True)


def _load(dataset: str, reading: Reading) -> tuple[Any, dict[str, Any]]:
    """The graphs, and how they were read: nodes go by their degree only where nothing describes nodes or edges."""
    from rwkplus.table import Text

    how = {"without_labels": "nothing"}
    table = reading.load(dataset, **how)
    described = any(not isinstance(column, Text) for side in (table.nodes, table.edges) for column in side.values())
    return (table, how) if described else (table.with_degrees(), {})


def _table(patterns: list[Any]) -> Table:
    classes = bool(patterns and patterns[0].contrast)
    means = bool(patterns and patterns[0].difference)
    table = Table(box=None)
    table.add_column("")
    table.add_column("pattern", overflow="fold", min_width=14)
    of_one = bool(patterns and patterns[0].mni is not None)
    for column in ("nodes", "min. image" if of_one else "graphs", "times", "edges", "new", "score"):
        table.add_column(column, justify="right", no_wrap=True)
    if classes:
        table.add_column("most frequent in", overflow="fold")
    if means:
        table.add_column("mean target with, without", justify="right")
    for k, pattern in enumerate(patterns, start=1):
        more = "" if pattern.exhaustive else ">"
        cells = [
            str(k),
            pattern.short_name,
            str(pattern.size),
            f"{pattern.support} ({pattern.frequency:.0%})" if pattern.mni is None else str(pattern.mni),
            f"{more}{_times(pattern)}",
            f"{pattern.edge_coverage:.0%}",
            f"{pattern.gain:.0%}",
            f"{pattern.score:.0f}",
        ]
        table.add_row(*cells, *([_preferred(pattern)] if classes else []), *([_means(pattern)] if means else []))
    return table


def _times(pattern: Any) -> int:  # noqa: ANN401
    return len(pattern.occurrences) if pattern.num_occurrences is None else pattern.num_occurrences


def _preferred(pattern: Any) -> str:  # noqa: ANN401
    """The class with the highest odds ratio, where it differs from the others by more than chance."""
    from rwkplus.reports.mining import odds

    best = max(pattern.contrast, key=lambda contrast: contrast.odds_ratio)
    if best.corrected is not None and best.corrected > 0.05:
        return "-"
    return f"{best.name} (odds ratio {odds(best)})"


def _means(pattern: Any) -> str:  # noqa: ANN401
    """Mean targets of graphs with the pattern and of the others, where they differ by more than chance."""
    with_pattern, without, _, corrected = pattern.difference
    if with_pattern is None or without is None or (corrected is not None and corrected > 0.05):
        return "-"
    return f"{with_pattern:.3g}, {without:.3g}"


def _tell_planted(dataset: str, patterns: list[Any]) -> None:
    """For data sets made with known groups: say which were found."""
    from rwkplus.datasets import REGISTRY

    entry = REGISTRY.get(dataset)
    if entry is None or entry.planted is None:
        return
    findings = find_known(patterns, entry.planted())
    found = sum(finding is not None for finding in findings.values())
    out.print(f"\n{found} of the {len(findings)} groups planted in this data set were found:")
    for name, finding in findings.items():
        if finding is None:
            out.print(f"  {name}: not found")
        else:
            more = f", with {finding.further_nodes} more nodes" if finding.further_nodes else ""
            place = f"pattern {finding.pattern + 1}{more}"
            out.print(f"  {name}: {place} ({patterns[finding.pattern].short_name})")
    out.print()


def _targets(table: Any, criterion: str) -> Any:  # noqa: ANN401
    """Classes of the graphs, where there are a few of them, or a single real target."""
    from rwkplus.table.arrays import classes_of

    classes = classes_of(table)
    if classes is not None:
        return classes if criterion == "contrast" or 2 <= len(set(classes) - {None}) <= 20 else None
    return table.y if table.y is not None and table.y.ndim == 1 else None


def _row(pattern: Any) -> dict[str, Any]:  # noqa: ANN401
    return {
        "pattern": pattern.short_name,
        "nodes": pattern.size,
        "support": pattern.support,
        "frequency": pattern.frequency,
        "occurrences": _times(pattern),
        "mni": pattern.mni,
        "exhaustive": pattern.exhaustive,
        "edge_coverage": pattern.edge_coverage,
        "gain": pattern.gain,
        "score": pattern.score,
        "contrast": [contrast._asdict() for contrast in pattern.contrast],
        "difference": None if pattern.difference is None else pattern.difference._asdict(),
    }


def _range(option: str, text: str) -> Any:  # noqa: ANN401
    if text == "auto":
        return text
    try:
        numbers = [int(part) for part in text.split("-")]
    except ValueError:
        numbers = []
    if len(numbers) not in (1, 2):
        raise ParameterError(f"{option} must be a number, a range such as 3-8, or auto; got {text!r}.")
    return numbers[0] if len(numbers) == 1 else tuple(numbers)


class Finding(NamedTuple):
    """Where a known group turned up."""

    pattern: int  # index of the smallest pattern that contains it
    further_nodes: int  # nodes that this pattern has beyond the group


def find_known(patterns: "Sequence[Pattern]", groups: "Mapping[str, nx.Graph]") -> dict[str, Finding | None]:
    """Look for known groups, as graphs with attribute ``label``, among mined patterns; None where none has it."""
    from networkx.algorithms.isomorphism import GraphMatcher, categorical_edge_match, categorical_node_match

    nodes, edges = categorical_node_match("label", None), categorical_edge_match("label", None)
    findings = {}
    for name, group in groups.items():
        found = [
            Finding(k, pattern.size - len(group))
            for k, pattern in enumerate(patterns)
            if GraphMatcher(pattern.to_networkx(), group, nodes, edges).subgraph_is_monomorphic()
        ]
        findings[name] = min(found, key=lambda finding: finding.further_nodes, default=None)
    return findings
