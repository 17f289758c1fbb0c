"""``rwkplus tune``."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from rwkplus.cli import experiment as ex
from rwkplus.cli.console import err, out, print_json
from rwkplus.cli.options import Dataset, Jobs, Json, Reading, reads_graphs
from rwkplus.errors import ParameterError
from rwkplus.progress import progress_bars

BEST_FILE = "best.yaml"


@reads_graphs
@ex.trains_networks
def tune(
    dataset: Dataset,
    trials: Annotated[int | None, typer.Option(help="Trials per fold. \\[default: 20]", min=1)] = None,
    space: Annotated[
        Path | None,
        typer.Option(
            help="YAML file with the search space: name: \\[choices] or name: {low: 1e-3, high: 0.1, log: true}."
        ),
    ] = None,
    folds: Annotated[int | None, typer.Option(help="Folds, each with its own search. \\[default: 5]", min=2)] = None,
    jobs: Jobs = 1,
    as_json: Json = False,
    *,
    experiment: ex.Experiment,
    reading: Reading,
) -> None:
    """Search for good parameters with Optuna.

    Every fold has its own search within its training part; only the winner is scored on the test graphs. Parameters
    given by an option or in the configuration file are not searched. [bold]best.yaml[/] contains the parameters with
    the best validation score, for [bold]rwkplus train --config[/].
    """
    from rwkplus.training import Place
    from rwkplus.training import tune as search
    from rwkplus.training.cross_validation import check_search

    given = {"trials": trials, "folds": folds}
    config = experiment.config(reading, given, {"trials": 20, "space": None})
    config["space"] = _space(experiment, config, space)
    data, folder = ex.read_data(dataset, config), experiment.folder
    model, settings, place = config["model"], ex.settings_of(config), Place(folder, experiment.resume)
    check_search(data, model, config["model_params"], config["space"], settings)
    experiment.open(config)
    choices = {name: config[name] for name in ("trials", "space", "model_params", "folds")}
    with progress_bars(err) as show:
        result = search(model, data, settings=settings, place=place, n_jobs=jobs, callback=show, **choices)
    facts = result.to_dict()
    experiment.close(dataset, config, facts)
    ex.write_yaml(folder / BEST_FILE, _best(config, result.best().params))
    if as_json:
        print_json({"dataset": dataset, "graphs": len(data), **facts})
        return
    _print(dataset, config, facts)
    out.print(f"\nThe best parameters are in {folder / BEST_FILE}.")


def _space(experiment: ex.Experiment, config: Mapping[str, Any], file: Path | None) -> Any:  # noqa: ANN401
    """What to try: as the file says, or all that the network usually tries but for what was fixed."""
    from rwkplus.training.cross_validation import default_space

    if config["folds"] < 2:
        raise ParameterError("folds must be at least 2: every fold has its own search.")
    if not isinstance(config["model_params"], Mapping):
        raise ParameterError("model_params is a list of candidates, but a search needs names and values.")
    if file is not None:
        space = ex.read_yaml(file)
        if experiment.resume and space != config["space"]:
            raise ParameterError(
                f"--resume continues with the space in {experiment.folder}: leave out --space, or use --force instead."
            )
        return space
    if config["space"] is not None:
        return config["space"]
    named = {} if experiment.file is None else ex.read_yaml(experiment.file)
    fixed = {*config["model_params"], *named, *experiment.given}
    return {name: choices for name, choices in default_space(config["model"]).items() if name not in fixed}


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
