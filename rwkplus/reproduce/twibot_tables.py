"""The page about bot detection."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from rwkplus.reproduce.markdown import mean_and_deviation, table
from rwkplus.reproduce.results import ran
from rwkplus.reproduce.twibot import CONVS, GUARD_NODES, PAPER, SCORES
from rwkplus.result_files import RESULTS, read_result

CUTS = {"clusters": "clusters of nodes", "neighbors": "sampled neighborhoods", "full": "the whole graph at once"}


def twibot_page(folder: Path = RESULTS) -> str | None:
    """All graphs that have been run."""
    names = sorted(f"twibot/{path.stem}" for path in (folder / "twibot").glob("*.json"))
    if not names:
        return None
    return (
        "# Bot detection\n\n"
        "The layers stand in the same backbone and see the same batches; an error about a bot counts "
        "five times. The epoch with the best F1 score of bots on validation users is kept and judged on test users, "
        "all scores in percent, mean ± standard deviation over seeds.\n\n"
        "TwiBot-22 itself cannot be redistributed: "
        "`rwkplus twibot` makes a graph of its raw files for whoever has them. The generated graph of the same size "
        "stands in for it to show that the command trains to the end, and what it costs. **The paper's scores are of "
        "the real data and not comparable with those of a generated graph.**\n\n"
        + "\n".join(_section(read_result(name, folder)) for name in names)
    )


def twibot_table(record: Mapping[str, Any]) -> str:
    """One row per method and guard."""
    real = record["config"]["graph"].get("source") == "TwiBot-22"
    head = ["", *(name.replace("_", "-").upper() for name in SCORES), "paper's F1", "epoch s", "of it validation s"]
    lines = []
    for method in CONVS:
        rows = [row for row in record["values"]["rows"] if row["method"] == method]
        if rows:
            paper = f"{PAPER[method]:.1f}" + ("" if real else " (other data)") if method in PAPER else ""
            seconds = [_median([row[key] for row in rows]) for key in ("epoch_s", "of_it_validation_s")]
            lines.append([method, *_means(rows), paper, *seconds, f"{max(row['peak_gb'] for row in rows):.1f}"])
    for guard, scores in record["values"]["guards"].items():
        lines.append([f"guard: {guard}", *(f"{100 * scores[name]:.1f}" for name in SCORES), "", "", "", ""])
    return table([*head, "peak GB"], lines)


def _section(record: Mapping[str, Any]) -> str:
    config = record["config"]
    graph, settings, backbone = config["graph"], config["settings"], config["backbone"]
    rows = record["values"]["rows"]
    seeds, done = len({row["seed"] for row in rows}), [name for name in CONVS if any(r["method"] == name for r in rows)]
    command = f"{config['command']} --seeds {seeds}" + "".join(f" --layer {n}" for n in done if len(done) < len(CONVS))
    title = graph.get("source") or "Generated graph"
    return (
        f"## {title}: {graph['nodes']:,} users, {graph['directed_edges']:,} directed edges; "
        f"{CUTS[config['cutting']['cut']]}\n\n"
        f"{twibot_table(record)}\n"
        f"{backbone['layers']} layers of {backbone['hidden_channels']} channels, {backbone['steps']} steps, dropout "
        f"{backbone['dropout']}; {settings['epochs']} epochs, learning rate {settings['lr']} halved every "
        f"{settings['halve_lr_every']}, batches of {settings['batch_size']:,} nodes; "
        f"{seeds} seed{'s' * (seeds != 1)}. Linear guards learn from up to {GUARD_NODES:,} users.\n\n"
        f"{ran({**record, 'config': config | {'command': command}})}"
    )


def _median(seconds: list[float | None]) -> str:
    """Of the rows that trained an epoch: one that was killed after its last one has nothing to measure."""
    known = [value for value in seconds if value is not None]
    return f"{np.median(known):.1f}" if known else ""


def _means(rows: list[dict[str, Any]]) -> list[str]:
    return [mean_and_deviation([100 * row["test"][name] for row in rows]) for name in SCORES]
