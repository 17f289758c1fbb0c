"""``rwkplus classify``."""

from collections.abc import Sequence
from functools import partial
from statistics import mean, pstdev
from typing import Annotated, Any, cast, get_args

import typer
from rich.table import Table

from rwkplus.cli.console import out, print_json, progress
from rwkplus.cli.options import Dataset, Directed, Ignore, Jobs, Json, Multigraph, NodeFeaturesOption, Seed
from rwkplus.errors import DataError, ParameterError
from rwkplus.types import KernelName


def classify(
    dataset: Dataset,
    kernels: Annotated[
        list[str] | None,
        typer.Option("--kernel", help="rwk+, rwk- or, for labels, node-centric; may be repeated. \\[default: all]"),
    ] = None,
    steps: Annotated[str, typer.Option(help="Walk lengths to choose from, such as 1,2,4.")] = "1,2,3,4,5",
    folds: Annotated[int, typer.Option(help="Outer folds.", min=2)] = 10,
    inner_folds: Annotated[int, typer.Option(help="Folds inside each training part.", min=2)] = 5,
    node_features: NodeFeaturesOption = "labels",
    ignore: Ignore = None,
    directed: Directed = False,
    multigraph: Multigraph = False,
    seed: Seed = 0,
    jobs: Jobs = 1,
    as_json: Json = False,
) -> None:
    """Classify graphs with walk kernels and an SVM, trivial guards beside.

    Nested cross-validation: walk length and cost are chosen inside the training folds, never on test folds.
    """
    import numpy as np

    from rwkplus.data import load
    from rwkplus.evaluate import guard_scores, nested_cross_validation
    from rwkplus.graphs import Schema, as_batch, classes_of
    from rwkplus.kernels import RandomWalkKernel

    lengths, left_out = _numbers(steps), tuple(ignore or ())
    reading = {"node_features": node_features, "directed": directed, "multigraph": multigraph}
    graphs = load(dataset, **reading, ignore=left_out)  # type: ignore[arg-type]
    classes = classes_of(graphs)
    if classes is None:
        raise DataError(f"{dataset} has no classes to predict: every graph needs a y, a whole number or a name.")
    y = np.array(classes)
    labelled = Schema.of(as_batch(graphs, ignore=left_out)).discrete
    known = [name for name in get_args(KernelName) if labelled or name != "node-centric"]
    names = cast(Sequence[KernelName], kernels or known)
    rows: list[dict[str, Any]] = []
    with progress("classifying", total=len(names) * folds + 1) as advance:
        for name in names:
            kernel = RandomWalkKernel(name, normalize=True, ignore=left_out, n_jobs=jobs)
            grams = {length: kernel.set_params(steps=length).fit_transform(graphs) for length in lengths}
            scores = nested_cross_validation(
                grams,
                y,
                folds=folds,
                inner_folds=inner_folds,
                seed=seed,
                n_jobs=jobs,
                on_fold=partial(advance, name),
            )
            rows.append(_row(name, scores.accuracy) | {"chosen": [list(choice) for choice in scores.chosen]})
        guards = guard_scores(graphs, y, folds=folds, inner_folds=inner_folds, seed=seed, ignore=left_out)
        for guard, accuracy in guards.items():
            rows.append(_row(f"guard: {guard}", accuracy))
        advance()
    facts = {
        "dataset": dataset,
        "graphs": len(graphs),
        "folds": folds,
        "inner_folds": inner_folds,
        "seed": seed,
        "rows": rows,
    }
    if as_json:
        print_json(facts)
        return
    table = Table(
        "model",
        "accuracy",
        "steps chosen",
        title=f"{dataset}: {len(graphs)} graphs, {folds}-fold nested cross-validation, seed {seed}",
        box=None,
        title_justify="left",
    )
    for row in rows:
        chosen = " ".join(map(str, sorted({choice[0] for choice in row["chosen"]}))) if "chosen" in row else ""
        table.add_row(row["model"], f"{row['mean']:5.1f} ± {row['std']:.1f}", chosen)
    out.print(table)
    out.print(
        "\naccuracy in % ± standard deviation over folds; guards see no structure: "
        "only the classes, the sizes, the colors."
    )


def _row(model: str, accuracy: list[float]) -> dict[str, Any]:
    return {"model": model, "mean": 100 * mean(accuracy), "std": 100 * pstdev(accuracy), "accuracy": accuracy}


def _numbers(text: str) -> list[int]:
    try:
        numbers = [int(part) for part in text.split(",")]
    except ValueError:
        numbers = []
    if not numbers or min(numbers) < 1:
        raise ParameterError(
            f"--steps must be whole numbers of at least 1 with commas between, such as 1,2,4; got {text!r}."
        )
    return numbers
