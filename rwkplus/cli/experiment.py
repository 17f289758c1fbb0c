"""What ``rwkplus train`` and ``rwkplus tune`` share: options, configuration files, output folders."""

import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from rwkplus.cli.console import CONFIG_FILE, check_output, is_unused, print_error
from rwkplus.cli.reading import Reading, reading_defaults
from rwkplus.errors import DataError, ParameterError
from rwkplus.files import read_text, write_whole

RESULT_FILE = "result.json"
CHOICES: dict[str, Any] = {
    "model": "kergnn",
    "model_params": {},
    "folds": 5,
    "task": "auto",
    "features": "auto",
    "balance": "none",
    "positive": None,
    "loss": "squared",
}
"""Names in a configuration file, beside those of :class:`rwkplus.training.Settings`, and their defaults."""
NAMES: Any = (lambda value: _all(str, value), "a name or a list of names")
TRUTH: Any = (lambda value: isinstance(value, bool), "true or false")
ONE_NAME: Any = (lambda value: isinstance(value, str), "a name")
KINDS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "model": (lambda value: isinstance(value, str), "a name"),
    "model_params": (
        lambda value: isinstance(value, Mapping) or _all(Mapping, value),
        "names and values, or a list of these",
    ),
    "folds": (lambda value: isinstance(value, int) and value >= 0 and value != 1, "0 or a whole number of at least 2"),
    **dict.fromkeys(("ignore", "labels", "attributes", "atom"), NAMES),
    **dict.fromkeys(("directed", "multigraph", "drop_duplicates"), TRUTH),
    **dict.fromkeys(("source", "target", "graph", "node", "smiles"), ONE_NAME),
    "weight": (lambda value: value is None or isinstance(value, str), "a name"),
    "y": (lambda value: isinstance(value, str) or _all(str, value), "a name or a list of names"),
}
"""What their values must be, where the library does not say so itself."""

Model = Annotated[
    str | None, typer.Option("--model", help="kergnn, rwnn, gin, gnn or igad. \\[default: kergnn]", show_default=False)
]
Kernel = Annotated[str | None, typer.Option("--kernel", help="rwk+ or rwk-, for kernel networks.")]
Steps = Annotated[int | None, typer.Option("--steps", help="Longest walk, for kernel networks.", min=1)]
Param = Annotated[
    list[str] | None,
    typer.Option("--param", help="Another parameter of the network, such as num_hidden=16; may be repeated."),
]
Task = Annotated[
    str | None,
    typer.Option("--task", help="classification, regression, counting, multitask or auto. \\[default: auto]"),
]
Features = Annotated[
    str | None,
    typer.Option(
        "--features", help="Node features: given (x as it is), discrete (x as label numbers), degree, constant or auto."
    ),
]
Balance = Annotated[
    str | None, typer.Option("--balance", help="none, or logits to learn as if classes were equally frequent.")
]
Positive = Annotated[
    str | None,
    typer.Option(
        "--positive", help="Of two classes the one whose F1, ROC-AUC and so on are reported. \\[default: 2nd]"
    ),
]
Loss = Annotated[str | None, typer.Option("--loss", help="squared or absolute error, for numbers.")]
Epochs = Annotated[int | None, typer.Option("--epochs", help="Passes over the graphs. \\[default: 200]", min=1)]
BatchSize = Annotated[int | None, typer.Option("--batch-size", help="Graphs per step. \\[default: 64]", min=1)]
Lr = Annotated[float | None, typer.Option("--lr", help="Learning rate. \\[default: 0.01]")]
LrSchedule = Annotated[
    str | None, typer.Option("--lr-schedule", help="How the learning rate falls: halve or cosine. \\[default: halve]")
]
HalveLrEvery = Annotated[
    int | None, typer.Option("--halve-lr-every", help="Epochs between halvings; 0 for none. \\[default: 50]", min=0)
]
WeightDecay = Annotated[float | None, typer.Option("--weight-decay", help="Weight decay. \\[default: 0]")]
Validation = Annotated[
    float | None,
    typer.Option("--validation", help="Share of training graphs that chooses the best epoch. \\[default: 0.1]"),
]
Metric = Annotated[
    str | None, typer.Option("--metric", help="Score that chooses, such as accuracy, f1, roc_auc, ap or mae.")
]
Patience = Annotated[
    int | None, typer.Option("--patience", help="Stop after so many epochs without a better score.", min=1)
]
SeedOption = Annotated[
    int | None, typer.Option("--seed", help="Seed of folds, weights and order. \\[default: 0]", min=0)
]
Threads = Annotated[
    int | None, typer.Option("--threads", help="Threads of torch; more than 1 seldom helps. \\[default: 1]", min=1)
]
Config = Annotated[
    Path | None,
    typer.Option("--config", help="YAML file of options about data and training, such as batch_size: 32; options win."),
]
OutFolder = Annotated[Path, typer.Option("--out", help="Folder for models, histories and result.json.")]
Resume = Annotated[bool, typer.Option("--resume", help="Go on in a folder where a run stopped.")]
Force = Annotated[bool, typer.Option("--force", help="Throw away what an earlier run left in the folder.")]


def read_config(
    given: Mapping[str, Any],
    params: Mapping[str, Any],
    file: Path | None,
    resumed: Path | None,
    more: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Merge defaults, configuration file and options, the later winning over the earlier.

    Args:
        given: Options by name; None for those not given.
        params: Parameters of the network that were given.
        file: Configuration file.
        resumed: Folder of a run to resume; its configuration is the default.
        more: Further names and defaults, of a single command.
    """
    from rwkplus.training import Settings

    defaults = Settings().to_dict() | {"threads": 1} | CHOICES | reading_defaults() | dict(more or {})
    config = dict(defaults)
    for path in (resumed / CONFIG_FILE if resumed else None, file):
        if path is not None:
            config |= _checked(path, read_yaml(path), defaults)
    config |= {name: value for name, value in given.items() if value is not None}
    if params:
        if not isinstance(config["model_params"], Mapping):
            raise ParameterError("model_params is a list of candidates in the file: change it there.")
        config["model_params"] = {**config["model_params"], **params}
    return config


def settings_of(config: Mapping[str, Any]) -> Any:  # noqa: ANN401
    """Pick the settings of training."""
    from rwkplus.training import Settings

    return Settings.from_dict({name: config[name] for name in Settings().to_dict()})


def as_config(reading: Reading) -> dict[str, Any]:
    """How graphs are read, as a configuration file has it."""
    return {name: list(value) if isinstance(value, tuple) else value for name, value in reading.given.items()}


def given_params(kernel: str | None, steps: int | None, pairs: Sequence[str] | None) -> dict[str, Any]:
    """Parameters of the network from ``--kernel``, ``--steps`` and ``--param name=value``."""
    import yaml

    params: dict[str, Any] = {"kernel": kernel, "steps": steps}
    params = {name: value for name, value in params.items() if value is not None}
    for pair in pairs or ():
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise ParameterError(f"--param must be name=value, such as num_hidden=16; got {pair!r}.")
        try:
            params[name] = parse_yaml(value)
        except yaml.YAMLError as error:
            raise ParameterError(f"--param {pair}: the value is not YAML.") from error
    return params


def read_data(dataset: str, config: Mapping[str, Any]) -> Any:  # noqa: ANN401
    """Read graphs and labels, and find mistakes before any file is written."""
    from rwkplus.training import GraphDataset
    from rwkplus.training.cross_validation import prepare

    settings, params = settings_of(config), config["model_params"]
    ignore = tuple(config["ignore"])
    given = {name: config[name] for name, default in reading_defaults().items() if config[name] != default}
    graphs = _with_targets(dataset, Reading(given).load(dataset))
    data = GraphDataset(
        graphs,
        task=config["task"],
        features=config["features"],
        ignore=ignore,
        balance=config["balance"],
        positive=config["positive"],
        loss=config["loss"],
    )
    prepare(data, config["model"], [params] if isinstance(params, Mapping) else params, settings)
    if config["folds"]:
        data.folds(config["folds"], settings.random_state)
    return data


def check_folder(folder: Path, *, resume: bool, force: bool) -> None:
    """Raise where a folder would be overwritten that nobody wants overwritten."""
    if resume and force:
        raise ParameterError("--resume goes on, --force starts anew: use one of them.")
    from rwkplus.training.processes import is_first_process

    if is_first_process():
        check_output(folder, None if resume or force else "--resume goes on there, --force starts anew", folder=True)


def open_folder(folder: Path, config: Mapping[str, Any], *, force: bool) -> None:
    """Make the output folder and note the configuration in it; ``force`` clears what an earlier run left.

    The configuration of a run to go on with stays until that has come to its end, see :func:`write_yaml`.
    """
    from rwkplus.training.processes import is_first_process

    if not is_first_process():
        return
    if force:
        for stale in (*folder.glob("fold-*"), *folder.glob("*.safetensors"), *folder.glob("*.journal")):
            shutil.rmtree(stale) if stale.is_dir() else stale.unlink()
        (folder / RESULT_FILE).unlink(missing_ok=True)
    if force or not folder.exists() or is_unused(folder):
        write_yaml(folder / CONFIG_FILE, config)


def _checked(path: Path, values: dict[str, Any], known: Mapping[str, Any]) -> dict[str, Any]:
    """Values of a configuration file by the names the library has for them, or an error that names what is wrong."""
    if "seed" in values:
        values["random_state"] = values.pop("seed")
    params = {name: values.pop(name) for name in ("kernel", "steps") if name in values}
    if params:
        if not isinstance(values.get("model_params", {}), Mapping):
            raise ParameterError(f"{path}: write {' and '.join(params)} into model_params, which is no plain mapping.")
        values["model_params"] = {**values.get("model_params", {}), **params}
    several = ("ignore", "labels", "attributes", "atom")
    values |= {name: [values[name]] for name in several if isinstance(values.get(name), str)}
    for name, value in values.items():
        if name not in known:
            raise ParameterError(f"{path}: there is no option {name!r}; known are {', '.join(sorted(known))}.")
        if name in KINDS and not KINDS[name][0](value):
            raise ParameterError(f"{path}: {name} must be {KINDS[name][1]}, got {value!r}.")
    return values


def _all(kind: type, values: object) -> bool:
    return isinstance(values, list) and all(isinstance(value, kind) for value in values)


def _with_targets(dataset: str, table: Any) -> Any:  # noqa: ANN401
    """Only the graphs that have a target; of several targets some may be missing."""
    y = table.y
    if y is None:
        raise DataError(f"{dataset} has no targets to learn: {_target_remedy(dataset)}.")
    missing = table.graphs[table.targets[0]].missing
    if y.ndim > 1 or not missing.any():
        return table
    print_error(f"{missing.sum()} of {len(table)} graphs have no target and are left out.", "warning")
    return table[~missing]


def _target_remedy(dataset: str) -> str:
    """Where a file of this kind has its targets."""
    if dataset.endswith(".smi"):
        return "write a label behind every SMILES, with a space between"
    return 'give every graph a y, such as "y": 1 in a line of JSON, or a column y of a CSV file'


def parse_yaml(text: str) -> Any:  # noqa: ANN401
    """Read YAML as people write it: PyYAML takes 1e-3, which has no point, for a word."""
    import yaml

    class Loader(yaml.SafeLoader):
        pass

    number = re.compile(r"[-+]?\d+(\.\d*)?[eE][-+]?\d+$")
    Loader.add_implicit_resolver("tag:yaml.org,2002:float", number, list("-+0123456789"))
    return yaml.load(text, Loader)


def read_yaml(path: Path) -> dict[str, Any]:
    """Read a file of names and values."""
    import yaml

    try:
        values = parse_yaml(read_text(path))
    except yaml.YAMLError as error:
        raise DataError(f"{path} is not YAML: {error}.") from error
    if not isinstance(values, dict):
        raise DataError(f"{path} must hold names and values, such as 'epochs: 100'.")
    return values


def write_yaml(path: Path, values: Mapping[str, Any]) -> None:
    """Write a file of names and values, whole or not at all."""
    import yaml

    write_whole(path, yaml.safe_dump(dict(values), sort_keys=False))
