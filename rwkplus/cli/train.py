"""``rwkplus train``."""

from collections.abc import Mapping
from statistics import mean, pstdev
from typing import Annotated, Any

import typer
from rich.table import Table

from rwkplus.cli import experiment as ex
from rwkplus.cli.console import CONFIG_FILE, bold_names, out, print_json, progress
from rwkplus.cli.options import Dataset, Jobs, Json
from rwkplus.cli.reading import Reading, reads_graphs


@reads_graphs
def train(
    dataset: Dataset,
    out_folder: ex.OutFolder,
    model: ex.Model = None,
    kernel: ex.Kernel = None,
    steps: ex.Steps = None,
    param: ex.Param = None,
    folds: Annotated[
        int | None,
        typer.Option(help="Cross-validation folds; 0 trains one model on all graphs. \\[default: 5]", min=0),
    ] = None,
    task: ex.Task = None,
    features: ex.Features = None,
    balance: ex.Balance = None,
    positive: ex.Positive = None,
    loss: ex.Loss = None,
    epochs: ex.Epochs = None,
    batch_size: ex.BatchSize = None,
    lr: ex.Lr = None,
    lr_schedule: ex.LrSchedule = None,
    halve_lr_every: ex.HalveLrEvery = None,
    weight_decay: ex.WeightDecay = None,
    validation: ex.Validation = None,
    metric: ex.Metric = None,
    patience: ex.Patience = None,
    seed: ex.SeedOption = None,
    config: ex.Config = None,
    resume: ex.Resume = False,
    force: ex.Force = False,
    guards: Annotated[bool, typer.Option(help="Score trivial models beside, for classification.")] = True,
    tensorboard: Annotated[bool, typer.Option("--tensorboard", help="Write TensorBoard's files as well.")] = False,
    jobs: Jobs = 1,
    threads: ex.Threads = None,
    devices: Annotated[int | None, typer.Option(help="Processes that share every batch. \\[default: 1]", min=1)] = None,
    num_nodes: Annotated[
        int | None, typer.Option(help="Machines, each with --devices processes. \\[default: 1]", min=1)
    ] = None,
    as_json: Json = False,
    *,
    reading: Reading,
) -> None:
    """Train a network on labelled graphs and score it by cross-validation.

    A [bold].smi[/] file holds a SMILES and a label per line. Of the training graphs of every fold a share chooses the
    best epoch; the test graphs are looked at once. [bold]--folds 0[/] makes one model of all graphs, for
    [bold]rwkplus predict[/]. A run that was killed goes on with [bold]--resume[/] and ends with the same numbers.
    """
    from rwkplus.cli.run_record import save_result
    from rwkplus.training import Place
    from rwkplus.training.run_folder import check_tensorboard

    given = {
        "model": model, "folds": folds, "task": task, "features": features, "balance": balance, "positive": positive,
        "loss": loss, "epochs": epochs, "batch_size": batch_size, "lr": lr, "lr_schedule": lr_schedule,
        "halve_lr_every": halve_lr_every, "weight_decay": weight_decay, "validation": validation, "metric": metric,
        "patience": patience, "random_state": seed, "threads": threads, "devices": devices, "num_nodes": num_nodes,
    } | ex.as_config(reading)  # fmt: skip
    ex.check_folder(out_folder, resume=resume, force=force)
    params = ex.given_params(kernel, steps, param)
    merged = ex.read_config(given, params, config, out_folder if resume else None)
    data = ex.read_data(dataset, merged)
    if tensorboard:
        check_tensorboard()
    ex.open_folder(out_folder, merged, force=force)
    facts = _run(data, merged, Place(out_folder, resume, tensorboard), jobs)
    from rwkplus.training.processes import is_first_process

    if not is_first_process():
        return
    if guards and merged["folds"] and data.classes is not None:
        facts["guards"] = _guards(data, merged)
    ex.write_yaml(out_folder / CONFIG_FILE, merged)
    save_result("result", {"dataset": dataset, **merged}, facts, out_folder)
    if as_json:
        print_json({"dataset": dataset, "graphs": len(data), **facts})
        return
    _print(f"{dataset}: {len(data)} graphs", merged, facts)
    if data.classes is not None and len(data.whole.names) == 2:
        positive = data.whole.names[data.whole.positive_number]
        out.print(f"positive_*, roc_auc and ap are of the class {positive}; --positive chooses.")
    out.print(f"\nModels and histories are in {out_folder}.")


def _run(data: Any, config: Mapping[str, Any], place: Any, jobs: int) -> dict[str, Any]:  # noqa: ANN401
    from rwkplus.training import cross_validate
    from rwkplus.training import train as train_once

    model, folds, params = config["model"], config["folds"], config["model_params"]
    choices: dict[str, Any] = {"model_params": params, "settings": ex.settings_of(config), "place": place}
    runs = max(1, folds) * (len(params) if isinstance(params, list) else 1)
    with progress("training", total=folds if jobs != 1 else runs * config["epochs"]) as advance:
        step = lambda _: advance()  # noqa: E731
        if folds == 0:
            result = train_once(model, data, on_epoch=step, **choices)
            return {"best_epoch": result.best_epoch, "validation": result.validation, "seconds": result.seconds}
        on_fold, on_epoch = (None, step) if jobs == 1 else (step, None)
        scores = cross_validate(model, data, folds=folds, n_jobs=jobs, on_fold=on_fold, on_epoch=on_epoch, **choices)
        return scores.to_dict()


def _guards(data: Any, config: Mapping[str, Any]) -> dict[str, list[float]]:  # noqa: ANN401
    import numpy as np

    smallest, folds = int(np.bincount(data.classes).min()), config["folds"]
    inner = max(2, min(5, smallest - -(-smallest // folds)))
    return guard_scores(data.table, data.classes, folds=folds, inner_folds=inner, seed=config["random_state"])


def _print(about: str, config: Mapping[str, Any], facts: Mapping[str, Any]) -> None:
    if "folds" not in facts:
        scores = {name: f"{value:.4g}" for name, value in facts["validation"].items()}
        out.print(f"{about}, {config['model']}, best epoch {facts['best_epoch'] + 1}")
        out.print(*(("validation:", bold_names(scores)) if scores else ("no validation: the last epoch was kept",)))
        return
    title = f"{about}, {config['folds']}-fold cross-validation, seed {config['random_state']}"
    guards = facts.get("guards", {})
    table = Table(title=title, box=None, title_justify="left")
    for column in ("test score", config["model"], *guards):
        table.add_column(column, no_wrap=column == "test score")
    for name in facts["mean"]:
        beside = [f"{mean(values):.4g} ± {pstdev(values):.2g}" for values in guards.values()] * (name == "accuracy")
        table.add_row(name, f"{facts['mean'][name]:.4g} ± {facts['std'][name]:.2g}", *beside)
    out.print(table)
    note = f"; {', '.join(guards)} are guards that see no structure" if guards else ""
    means = "; f1 and recall are means over classes" if "f1" in facts["mean"] else ""
    out.print(f"\n± standard deviation over folds{means}{note}.")
