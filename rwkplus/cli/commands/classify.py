"""``rwkplus classify``."""

from collections.abc import Sequence
from statistics import mean, pstdev
from typing import Annotated, Any, cast, get_args

import typer
from rich.table import Table

from rwkplus.cli.console import err, out, print_error, print_json
from rwkplus.cli.options import Dataset, Jobs, Json, Reading, Seed, reads_graphs, several
from rwkplus.errors import DataError, ParameterError
from rwkplus.progress import progress_bars
from rwkplus.types import Callback, KernelName

Kernels = Annotated[
    list[str] | None,
    typer.Option(
        "--kernel", metavar=several(KernelName), help="Can be repeated; node-centric needs labels. \\[default: all]"
    ),
]


@reads_graphs
def classify(
    dataset: Dataset,
    kernels: Kernels = None,
    steps: Annotated[str, typer.Option(help="Walk lengths to choose from, separated by commas.")] = "1,2,3,4,5",
    folds: Annotated[int, typer.Option(help="Number of outer folds.", min=2)] = 10,
    inner_folds: Annotated[int, typer.Option(help="Number of folds within each training part.", min=2)] = 5,
    seed: Seed = 0,
    jobs: Jobs = 1,
    as_json: Json = False,
    *,
    reading: Reading,
) -> None:
    """Measure how well walk kernels and an SVM classify graphs, compared with simple baselines.

    Uses nested cross-validation: the walk length and the SVM's cost are chosen within the training folds.
    """
    import numpy as np

    from rwkplus.kernels import RandomWalkKernel
    from rwkplus.kernels.evaluation import baseline_scores, nested_cross_validation
    from rwkplus.table import Reader
    from rwkplus.table.arrays import classes_of

    lengths, left_out = _numbers(steps), reading.ignore
    graphs = reading.load(dataset)
    classes = classes_of(graphs)
    if classes is None:
        raise DataError(f"{dataset} has no classes to predict: every graph needs a target, a whole number or a name.")
    known = [i for i, name in enumerate(classes) if name is not None]
    if len(known) < len(classes):
        left = f"{len(classes) - len(known)} of {len(classes)} graphs have no class and are left out."
        print_error(left, "warning")
        graphs = graphs[known]
    y = np.array([classes[i] for i in known])
    labelled = Reader.fit(graphs, left_out).discrete
    usual = [name for name in get_args(KernelName) if labelled or name != "node-centric"]
    names = cast(Sequence[KernelName], kernels or usual)
    rows: list[dict[str, Any]] = []
    how: dict[str, Any] = {"folds": folds, "inner_folds": inner_folds, "random_state": seed}
    with progress_bars(err) as show:
        for name in names:
            kernel = RandomWalkKernel(name, normalize=True, ignore=left_out, n_jobs=jobs)
            grams = {length: kernel.set_params(steps=length).fit_transform(graphs) for length in lengths}
            told = _under(name, show)
            scores = nested_cross_validation(grams, y, **how, n_jobs=jobs, callback=told)
            rows.append(_row(name, scores.accuracy) | {"chosen": [list(choice) for choice in scores.chosen]})
    baselines = baseline_scores(graphs, y, **how, ignore=left_out)
    rows += [_row(f"baseline: {name}", accuracy) for name, accuracy in baselines.items()]
    if as_json:
        facts = {"folds": folds, "inner_folds": inner_folds, "seed": seed}
        print_json({"dataset": dataset, "graphs": len(graphs), **facts, "rows": rows})
    else:
        title = f"{dataset}: {len(graphs)} graphs, {folds}-fold nested cross-validation, seed {seed}"
        _show(rows, title)


def _show(rows: Sequence[dict[str, Any]], title: str) -> None:
    table = Table("model", "accuracy", "steps chosen", title=title, box=None, title_justify="left")
    for row in rows:
        chosen = " ".join(map(str, sorted({choice[0] for choice in row["chosen"]}))) if "chosen" in row else ""
        table.add_row(row["model"], f"{row['mean']:5.1f} ± {row['std']:.1f}", chosen)
    out.print(table)
    out.print(
        "\naccuracy in % ± standard deviation over folds; baselines do not use the structure, "
        "only class frequencies, sizes and label counts."
    )


def _row(model: str, accuracy: list[float]) -> dict[str, Any]:
    return {"model": model, "mean": 100 * mean(accuracy), "std": 100 * pstdev(accuracy), "accuracy": accuracy}


def _under(name: str, show: Callback) -> Callback:
    """Progress of folds as progress of a kernel."""
    return lambda now: show(now._replace(phase=name))


def _numbers(text: str) -> list[int]:
    try:
        numbers = [int(part) for part in text.split(",")]
    except ValueError:
        numbers = []
    if not numbers or min(numbers) < 1:
        raise ParameterError(
            f"--steps must be whole numbers of at least 1, separated by commas, such as 1,2,4; got {text!r}."
        )
    return numbers
