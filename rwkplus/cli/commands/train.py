"""``rwkplus train``."""

from collections.abc import Mapping
from statistics import mean, pstdev
from typing import Annotated, Any

import typer
from rich.table import Table

from rwkplus.cli import experiment as ex
from rwkplus.cli.console import bold_names, err, out, print_json
from rwkplus.cli.options import Dataset, Jobs, Json, Reading, reads_graphs
from rwkplus.progress import progress_bars


@reads_graphs
@ex.trains_networks
def train(
    dataset: Dataset,
    folds: Annotated[
        int | None,
        typer.Option(help="Folds for cross-validation; 0 trains one model on all graphs. \\[default: 5]", min=0),
    ] = None,
    baselines: Annotated[bool, typer.Option(help="Compare with simple baselines, for classification.")] = True,
    tensorboard: Annotated[bool, typer.Option("--tensorboard", help="Also write files for TensorBoard.")] = False,
    jobs: Jobs = 1,
    as_json: Json = False,
    *,
    experiment: ex.Experiment,
    reading: Reading,
) -> None:
    """Train a network and score it by cross-validation.

    In every fold, some of the training graphs are set aside to choose the best epoch; the test graphs are used only
    once. [bold]--folds 0[/] trains a single model on all graphs, for [bold]rwkplus predict[/]. If a run was
    interrupted, [bold]--resume[/] continues it with the same results.
    """
    from rwkplus.training import Place
    from rwkplus.training.processes import is_first_process
    from rwkplus.training.run_folder import check_tensorboard

    config, folder = experiment.config(reading, {"folds": folds}, {}), experiment.folder
    data = ex.read_data(dataset, config)
    if tensorboard:
        check_tensorboard()
    experiment.open(config)
    facts = _run(data, config, Place(folder, experiment.resume, tensorboard), jobs)
    if not is_first_process():
        return
    if baselines and config["folds"] and data.classes is not None:
        facts["baselines"] = _baselines(data, config)
    experiment.close(dataset, config, facts)
    if as_json:
        print_json({"dataset": dataset, "graphs": len(data), **facts})
        return
    _print(f"{dataset}: {len(data)} graphs", config, facts)
    if data.classes is not None and len(data.whole.names) == 2:
        positive = data.whole.names[data.whole.positive_number]
        out.print(f"positive_*, roc_auc and ap refer to the class {positive}. Use --positive to choose the other.")
    out.print(f"\nModels and training histories are in {folder}.")


def _run(data: Any, config: Mapping[str, Any], place: Any, jobs: int) -> dict[str, Any]:  # noqa: ANN401
    from rwkplus.training import cross_validate
    from rwkplus.training import train as train_once

    model, folds, params = config["model"], config["folds"], config["model_params"]
    choices: dict[str, Any] = {"model_params": params, "settings": ex.settings_of(config), "place": place}
    with progress_bars(err) as show:
        if folds == 0:
            trained = train_once(model, data, callback=show, **choices)
            return {"best_epoch": trained.best_epoch, "validation": trained.validation, "seconds": trained.seconds}
        return cross_validate(model, data, folds=folds, n_jobs=jobs, callback=show, **choices).to_dict()


def _baselines(data: Any, config: Mapping[str, Any]) -> dict[str, list[float]]:  # noqa: ANN401
    import numpy as np

    from rwkplus.kernels.evaluation import baseline_scores

    smallest, folds = int(np.bincount(data.classes).min()), config["folds"]
    inner, seed = max(2, min(5, smallest - -(-smallest // folds))), config["random_state"]
    return baseline_scores(data.table, data.classes, folds=folds, inner_folds=inner, random_state=seed)


def _print(about: str, config: Mapping[str, Any], facts: Mapping[str, Any]) -> None:
    if "folds" not in facts:
        scores = {name: f"{value:.4g}" for name, value in facts["validation"].items()}
        out.print(f"{about}, {config['model']}, best epoch {facts['best_epoch'] + 1}")
        out.print(
            *(("validation:", bold_names(scores)) if scores else ("no validation graphs: the last epoch was kept",))
        )
        return
    title = f"{about}, {config['folds']}-fold cross-validation, seed {config['random_state']}"
    baselines = facts.get("baselines", {})
    table = Table(title=title, box=None, title_justify="left")
    for column in ("test score", config["model"], *baselines):
        table.add_column(column, no_wrap=column == "test score")
    for name in facts["mean"]:
        beside = [f"{mean(own):.4g} ± {pstdev(own):.2g}" for own in baselines.values()] * (name == "accuracy")
        table.add_row(name, f"{facts['mean'][name]:.4g} ± {facts['std'][name]:.2g}", *beside)
    out.print(table)
    note = f"; {', '.join(baselines)} are baselines that do not use the structure" if baselines else ""
    means = "; f1 and recall are means over classes" if "f1" in facts["mean"] else ""
    out.print(f"\n± standard deviation over folds{means}{note}.")
