"""``rwkplus mine``."""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from rwkplus.cli.console import err, out, print_json, progress
from rwkplus.cli.options import Dataset, Ignore, Json, NodeFeaturesOption, Seed
from rwkplus.errors import ParameterError


def mine(
    dataset: Dataset,
    out_folder: Annotated[
        Path, typer.Option("--out", help="Folder for report.html and patterns.json; must not exist yet.")
    ],
    patterns: Annotated[int, typer.Option(help="How many patterns at most.", min=1)] = 6,
    criterion: Annotated[str, typer.Option(help="maximal or blocks.")] = "maximal",
    size: Annotated[str, typer.Option(help="Nodes of a pattern: a number, a range such as 3-8, or auto.")] = "auto",
    controls: Annotated[int, typer.Option(help="Rewired databases to compare with.", min=0)] = 10,
    node_features: NodeFeaturesOption = "labels",
    ignore: Ignore = None,
    seed: Seed = 0,
    force: Annotated[bool, typer.Option("--force", help="Write into a folder that exists.")] = False,
    as_json: Json = False,
) -> None:
    """Mine the patterns that describe a graph database.

    [bold]maximal[/] patterns are as large as the evidence carries; [bold]blocks[/] are small building blocks that
    together explain most edges. Supports count all graphs, exactly.
    """
    from rwkplus.data import load
    from rwkplus.mining import PatternMiner
    from rwkplus.mining.files import save_patterns
    from rwkplus.viz import write_report

    if out_folder.exists() and not force:
        raise ParameterError(f"--out {out_folder} exists already; --force writes into it.")
    graphs = load(dataset, node_features=node_features)  # type: ignore[arg-type]
    miner = PatternMiner(
        patterns,
        _sizes(size),
        criterion=criterion,  # type: ignore[arg-type]
        n_controls=controls,
        ignore=tuple(ignore or ()),
        random_state=seed,
    )
    with progress("mining", total=patterns) as advance:
        miner.fit(graphs, on_pattern=advance)
    save_patterns(miner.patterns_, out_folder / "patterns.json")
    report = write_report(miner, graphs, dataset, out_folder / "report.html")
    rows = [_row(pattern) for pattern in miner.patterns_]
    if as_json:
        print_json({"dataset": dataset, "graphs": len(graphs), "threshold": miner.threshold_, "patterns": rows})
        return
    table = Table("pattern", "nodes", "graphs", "occurrences", "edges covered", "new", "score", box=None)
    for row in rows:
        table.add_row(
            row["pattern"],
            str(row["nodes"]),
            f"{row['support']} ({row['frequency']:.0%})",
            str(row["occurrences"]),
            f"{row['edge_coverage']:.0%}",
            f"{row['gain']:.0%}",
            f"{row['score']:.0f}",
        )
    out.print(table)
    out.print(
        f"\nChance alone reaches a score of {miner.threshold_:.0f}. The page to look at is {report}.", highlight=False
    )
    if not rows:
        err.print("No pattern beats chance.")


def _row(pattern: Any) -> dict[str, Any]:  # noqa: ANN401
    return {
        "pattern": pattern.short_name,
        "nodes": pattern.size,
        "support": pattern.support,
        "frequency": pattern.frequency,
        "occurrences": len(pattern.occurrences),
        "edge_coverage": pattern.edge_coverage,
        "gain": pattern.gain,
        "score": pattern.score,
    }


def _sizes(text: str) -> Any:  # noqa: ANN401
    if text == "auto":
        return text
    try:
        numbers = [int(part) for part in text.split("-")]
    except ValueError:
        numbers = []
    if len(numbers) not in (1, 2):
        raise ParameterError(f"--size must be a number, a range such as 3-8, or auto; got {text!r}.")
    return numbers[0] if len(numbers) == 1 else tuple(numbers)
