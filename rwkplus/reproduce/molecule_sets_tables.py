"""The page about molecules with graph convolutions."""

from pathlib import Path
from typing import Any

import numpy as np

from rwkplus.reproduce.markdown import mean_and_deviation, table
from rwkplus.reproduce.molecule_sets import EXPERIMENTS, ROWS, VARIANTS, result_name
from rwkplus.reproduce.results import exists, ran
from rwkplus.result_files import RESULTS, read_result

TITLES = {
    "zinc": "ZINC: mean absolute error, smaller is better",
    "molhiv": "ogbg-molhiv: ROC-AUC, larger is better",
    "molpcba": "ogbg-molpcba: average precision, larger is better",
}
BACKBONES = {
    "": "",
    VARIANTS[True]: "; with a linear layer after each convolution",
    VARIANTS[False]: "; nothing but BatchNorm and ReLU after each convolution",
}
CLOSED_WALKS = (
    "*Closed walks*: networks also read how likely walks of up to 20 edges return to each atom, both convolutions in "
    "the same way."
)
NOTES = {
    "zinc": "Validation and test molecules are the published ones. The 10,000 training molecules are not: they are "
    "another draw from the same pool. With PyG's download you get the published ones.",
    "molhiv": "Features were computed anew from the published SMILES; labels and split are the published ones.",
}


def molecule_sets_page(folder: Path = RESULTS) -> str | None:
    """All sets that have been run."""
    variants = ((name, variant) for name in EXPERIMENTS for variant in ("", *VARIANTS.values()))
    found = [(name, variant) for name, variant in variants if exists(result_name(name, variant), folder)]
    if not found:
        return None
    return (
        "# Molecules: one backbone for every graph convolution\n\n"
        "Embedded atoms; convolutions with BatchNorm, ReLU and residual; sum or mean over atoms; MLP of two layers. "
        "With *feed_forward*, BatchNorm, ReLU and a linear layer stand behind each convolution. Nothing but the "
        "convolution differs between rows; GCN has no self-loops. Bonds are embedded for GINE and matched as edge "
        "colors by RWK+Conv. RWK+Conv adds up neighbors without normalizing, returns the sum of its steps and begins "
        "with a quarter of its usual parameters: chosen on validation molecules of ZINC in runs of 12 epochs, a choice "
        "that the other convolutions did not have; the linear layer and the mean over atoms were chosen for RWK+Conv, "
        "too, and used for all. The epoch that is best on the validation molecules is reported on the test molecules: "
        "mean ± standard deviation over seeds.\n\n"
        "Guards see no structure: a constant, and linear models of the numbers of atoms and bonds of each kind, with "
        "the penalty chosen on the validation molecules.\n\n" + "\n".join(_section(*one, folder) for one in found)
    )


def _section(name: str, variant: str, folder: Path) -> str:
    record = read_result(result_name(name, variant), folder)
    config, settings = record["config"], record["config"]["settings"]
    network = ", ".join(f"{key} {value}" for key, value in config["backbone"].items())
    scores = record["values"]["scores"]
    notes = [NOTES.get(name, ""), CLOSED_WALKS if any("closed walks" in row for row in scores) else ""]
    return (
        f"## {TITLES[name]}{BACKBONES[variant]}\n\n{molecule_table(name, variant, folder)}\n"
        f"{' '.join(filter(None, notes))}\n\n"
        f"Network: {network}; {config['steps']} steps. {settings['epochs']} epochs, batches of "
        f"{settings['batch_size']}, learning rate {settings['lr']}, falling to zero along a cosine.\n\n"
        f"{ran(record | {'config': config | {'command': _command(config['command'], scores)}})}"
    )


def _command(command: str, scores: dict[str, Any]) -> str:
    """The command of what was run, which may be less than it would run by itself."""
    done = [row for row in ROWS if row in scores]
    seeds = max(len(scores[row]) for row in done)
    return f"{command} --seeds {seeds}" + "".join(f" --rows '{row}'" for row in done if len(done) < len(ROWS))


def molecule_table(name: str, variant: str = "", folder: Path = RESULTS) -> str:
    """One row per convolution: paper, ours on test and validation molecules; then the guards."""
    record, paper = read_result(result_name(name, variant), folder), EXPERIMENTS[name].paper
    scores, cpu = record["values"]["scores"], record["environment"]["cpu"]
    lines = [
        [row, f"{paper[row]:.4f}" if row in paper else "", *_row(scores[row], cpu)] for row in ROWS if row in scores
    ]
    lines += [[f"guard: {guard}", "", f"{score:.4f}", "", "", ""] for guard, score in scores.get("guards", {}).items()]
    return table(["", "paper", "test", "validation", "seeds", "s / epoch"], lines)


def _row(runs: list[dict[str, Any]], cpu: str) -> list[str]:
    means = [mean_and_deviation([run[part] for run in runs], 4) for part in ("test", "validation")]
    # Runs may be spread over machines, and seconds of one say nothing about those of another.
    seconds = [run["s_per_epoch"] for run in runs if run["cpu"] == cpu and run["s_per_epoch"]]
    return [*means, str(len(runs)), f"{np.mean(seconds):.1f}" if seconds else ""]
