"""``rwkplus tune``."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from rwkplus.cli import experiment as ex
from rwkplus.cli.console import CONFIG_FILE, out, print_json, progress
from rwkplus.cli.options import Dataset, Jobs, Json
from rwkplus.cli.reading import Reading, reads_graphs
from rwkplus.errors import ParameterError

BEST_FILE = "best.yaml"


@reads_graphs
def tune(
    dataset: Dataset,
    out_folder: ex.OutFolder,
    model: ex.Model = None,
    trials: Annotated[int | None, typer.Option(help="Trials per fold. \\[default: 20]", min=1)] = None,
    space: Annotated[
        Path | None,
        typer.Option(help="YAML file of what to try: name: \\[choices] or name: {low: 1e-3, high: 0.1, log: true}."),
    ] = None,
    kernel: ex.Kernel = None,
    steps: ex.Steps = None,
    param: ex.Param = None,
    folds: Annotated[
        int | None, typer.Option(help="Folds, each with a search of its own. \\[default: 5]", min=2)
    ] = None,
    task: ex.Task = None,
    features: ex.Features = None,
    balance: ex.Balance = None,
    positive: ex.Positive = None,
    loss: ex.Loss = None,
    epochs: ex.Epochs = None,
    batch_size: ex.BatchSize = None,
    lr_schedule: ex.LrSchedule = None,
    halve_lr_every: ex.HalveLrEvery = None,
    validation: ex.Validation = None,
    metric: ex.Metric = None,
    patience: ex.Patience = None,
    seed: ex.SeedOption = None,
    config: ex.Config = None,
    resume: ex.Resume = False,
    force: ex.Force = False,
    jobs: Jobs = 1,
    threads: ex.Threads = None,
    as_json: Json = False,
    *,
    reading: Reading,
) -> None:
    """Search good parameters with Optuna; test graphs stay unseen.

    Every fold has a search of its own inside its training part, judged by validation graphs; only the winner sees the
    test graphs. What was fixed by an option, or in the file, is not searched. [bold]best.yaml[/] holds the parameters
    with the best validation score, for [bold]rwkplus train --config[/].
    """
    from rwkplus.cli.run_record import save_result
    from rwkplus.training import Place
    from rwkplus.training.tuning import check_search, default_space

    given = {
        "model": model, "trials": trials, "folds": folds, "task": task, "features": features, "balance": balance,
        "positive": positive, "loss": loss, "epochs": epochs, "batch_size": batch_size, "lr_schedule": lr_schedule,
        "halve_lr_every": halve_lr_every, "validation": validation, "metric": metric, "patience": patience,
        "random_state": seed, "threads": threads,
    } | ex.as_config(reading)  # fmt: skip
    ex.check_folder(out_folder, resume=resume, force=force)
    params, more = ex.given_params(kernel, steps, param), {"trials": 20, "space": None}
    merged = ex.read_config(given, params, config, out_folder if resume else None, more)
    if space is not None:
        searched, merged["space"] = merged["space"], ex.read_yaml(space)
        if resume and searched != merged["space"]:
            raise ParameterError(f"--resume goes on with the space in {out_folder}: leave --space out, or --force.")
    if merged["space"] is None:
        named = {} if config is None else ex.read_yaml(config)
        fixed = {*merged["model_params"], *named, *(name for name in given if given[name] is not None)}
        merged["space"] = {name: v for name, v in default_space(merged["model"]).items() if name not in fixed}
    data = ex.read_data(dataset, merged)
    check_search(data, merged["model"], merged["model_params"], merged["space"], ex.settings_of(merged))
    ex.open_folder(out_folder, merged, force=force)
    result = _search(data, merged, Place(out_folder, resume), jobs)
    facts = result.to_dict()
    ex.write_yaml(out_folder / CONFIG_FILE, merged)
    save_result("result", {"dataset": dataset, **merged}, facts, out_folder)
    ex.write_yaml(out_folder / BEST_FILE, _best(merged, result.best().params))
    if as_json:
        print_json({"dataset": dataset, "graphs": len(data), **facts})
        return
    _print(dataset, merged, facts)
    out.print(f"\nParameters to go on with are in {out_folder / BEST_FILE}.")


def _search(data: Any, config: Mapping[str, Any], place: Any, jobs: int) -> Any:  # noqa: ANN401
    from rwkplus.training import tune as search

    trials, folds = config["trials"], config["folds"]
    with progress("searching", total=folds if jobs != 1 else folds * trials) as advance:
        return search(
            config["model"],
            data,
            trials=trials,
            space=config["space"],
            model_params=config["model_params"],
            folds=folds,
            settings=ex.settings_of(config),
            place=place,
            n_jobs=jobs,
            on_fold=(lambda _: advance()) if jobs != 1 else None,
            on_trial=advance,
        )


def _best(config: Mapping[str, Any], found: Mapping[str, Any]) -> dict[str, Any]:
    """What the search found, as a configuration of ``rwkplus train``."""
    from rwkplus.training import Settings

    settings = {name: found[name] for name in Settings().to_dict() if name in found}
    params = {name: value for name, value in found.items() if name not in settings}
    kept = {name: value for name, value in config.items() if name not in ("trials", "space")}
    return kept | settings | {"model_params": params}


def _print(dataset: str, config: Mapping[str, Any], rows: Mapping[str, Any]) -> None:
    score = config["metric"] or next(iter(rows["mean"]))
    title = f"{dataset}: {config['trials']} trials in each of {config['folds']} folds, seed {config['random_state']}"
    table = Table("fold", f"validation {score}", f"test {score}", "found", title=title, box=None, title_justify="left")
    for fold in rows["folds"]:
        found = "  ".join(f"{k}={v:.3g}" if isinstance(v, float) else f"{k}={v}" for k, v in fold["params"].items())
        table.add_row(str(fold["fold"]), f"{fold['validation'][score]:.4g}", f"{fold['test'][score]:.4g}", found)
    out.print(table)
    out.print(f"\ntest {score}: {rows['mean'][score]:.4g} ± {rows['std'][score]:.2g}")
