"""What ``rwkplus train`` and ``rwkplus tune`` share: options, each declared once, configuration files and folders."""

import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import msgspec

from rwkplus.cli.console import CONFIG_FILE, check_output, is_unused, print_error
from rwkplus.cli.options import Reading, option, reading_defaults, takes
from rwkplus.cli.run_record import save_result
from rwkplus.errors import DataError, ParameterError
from rwkplus.files import read_text, write_atomic
from rwkplus.types import Balance, Features, Loss, LrSchedule, NetworkKernel, Task

RESULT_FILE = "result.json"


FILES: dict[str, Any] = {
    "out_folder": (Path, "--out", "Folder for models, training histories and result.json."),
    "config": (
        Path | None,
        "--config",
        "YAML file with options, such as batch_size: 32; options on the command line take precedence.",
    ),
    "resume": (bool, "--resume", "Continue an interrupted run."),
    "force": (bool, "--force", "Delete the results of an earlier run in the folder."),
}
NETWORK: dict[str, Any] = {
    "model": (str | None, "--model", "kergnn, rwnn, gin, gnn or igad. [default: kergnn]"),
    "kernel": (NetworkKernel | None, "--kernel", "Kernel, for kernel networks."),
    "steps": (int | None, "--steps", "Longest walk, for kernel networks.", 1),
    "param": (list[str] | None, "--param", "Another parameter of the network, such as num_hidden=16; can be repeated."),
}
TRAINING: dict[str, Any] = {
    "task": (Task | None, "--task", "Kind of target. [default: auto]"),
    "features": (
        Features | None,
        "--features",
        "Node features. given: labels and attributes; discrete: label numbers, for embeddings. [default: auto]",
    ),
    "balance": (Balance | None, "--balance", "logits: correct for rare classes. [default: none]"),
    "positive": (
        str | None,
        "--positive",
        "Class whose F1, ROC-AUC and so on are reported, if there are two. [default: the second]",
    ),
    "loss": (Loss | None, "--loss", "Loss for numbers. [default: squared]"),
    "epochs": (int | None, "--epochs", "Passes over the graphs. [default: 200]", 1),
    "batch_size": (int | None, "--batch-size", "Graphs per step. [default: 64]", 1),
    "lr": (float | None, "--lr", "Learning rate. [default: 0.01]"),
    "lr_schedule": (LrSchedule | None, "--lr-schedule", "How the learning rate decreases. [default: halve]"),
    "halve_lr_every": (int | None, "--halve-lr-every", "Epochs between halvings; 0 for none. [default: 50]", 0),
    "weight_decay": (float | None, "--weight-decay", "Weight decay. [default: 0]"),
    "validation": (
        float | None,
        "--validation",
        "Share of training graphs used to choose the best epoch. [default: 0.1]",
    ),
    "metric": (str | None, "--metric", "Score that chooses the best epoch, such as accuracy, f1, roc_auc, ap or mae."),
    "patience": (int | None, "--patience", "Stop after this many epochs without a better score.", 1),
    "random_state": (int | None, "--seed", "Random seed of folds, weights and order. [default: 0]", 0),
    "threads": (int | None, "--threads", "PyTorch threads; more than 1 rarely helps. [default: 1]", 1),
    "devices": (int | None, "--devices", "Processes that share each batch. [default: 1]", 1),
    "num_nodes": (int | None, "--num-nodes", "Machines, each with --devices processes. [default: 1]", 1),
}
"""By the names that configuration files have for them: type, option, help, and the least it may be."""
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
SEVERAL = ("ignore", "labels", "attributes", "atom")
KINDS: dict[str, tuple[Any, str]] = {
    "model": (str, "a name"),
    "model_params": (dict[str, Any] | list[dict[str, Any]], "names and values, or a list of these"),
    "folds": (Annotated[int, msgspec.Meta(ge=0)], "0 or a whole number of at least 2"),
    "trials": (Annotated[int, msgspec.Meta(ge=1)], "a whole number of at least 1"),
    "space": (dict[str, Any] | None, "names and what to try for them"),
    "positive": (str | int | float | None, "a class"),
    "weight": (str | None, "a name"),
    "y": (str | list[str], "a name or a list of names"),
    **dict.fromkeys(SEVERAL, (list[str], "a name or a list of names")),
    **dict.fromkeys(("directed", "multigraph", "drop_duplicates"), (bool, "true or false")),
    **dict.fromkeys(("source", "target", "graph", "node", "smiles"), (str, "a name")),
}
"""What their values must be, where the library does not say so itself."""


@dataclass(frozen=True)
class Experiment:
    """What the user asks for beside the data: a network, how to train it, and where to keep it."""

    given: dict[str, Any]
    """Options that were given, by the names that configuration files have for them."""
    params: dict[str, Any]
    """Parameters of the network that were given."""
    folder: Path
    file: Path | None
    resume: bool
    force: bool

    def config(self, reading: Reading, given: Mapping[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
        """Merge defaults, the configuration of a run to resume, configuration file and options; the later ones win.

        A single command has options of its own: ``given``, None where they are not, and ``more``, with defaults.
        """
        from rwkplus.training import Settings

        self._check_folder()
        defaults = Settings().to_dict() | {"threads": 1} | CHOICES | reading_defaults() | dict(more)
        config = dict(defaults)
        for path in (self.folder / CONFIG_FILE if self.resume else None, self.file):
            if path is not None:
                config |= _checked(path, read_yaml(path), defaults)
        read = {name: list(value) if isinstance(value, tuple) else value for name, value in reading.given.items()}
        config |= self.given | {name: value for name, value in given.items() if value is not None} | read
        if self.params:
            if not isinstance(config["model_params"], Mapping):
                raise ParameterError("model_params is a list of candidates in the configuration file: change it there.")
            config["model_params"] = {**config["model_params"], **self.params}
        return config

    def _check_folder(self) -> None:
        """Raise where a folder would be overwritten that nobody wants overwritten."""
        if self.resume and self.force:
            raise ParameterError("--resume continues a run and --force starts over: give only one of them.")
        from rwkplus.training.processes import is_first_process

        if is_first_process():
            remedy = None if self.resume or self.force else "use --resume to continue it, or --force to start over"
            check_output(self.folder, remedy, folder=True)

    def open(self, config: Mapping[str, Any]) -> None:
        """Make the output folder and note the configuration in it; ``--force`` clears what an earlier run left.

        The configuration of a run to go on with stays until that has come to its end.
        """
        from rwkplus.training.processes import is_first_process

        folder = self.folder
        if not is_first_process():
            return
        if self.force:
            for stale in (*folder.glob("fold-*"), *folder.glob("*.safetensors"), *folder.glob("*.journal")):
                shutil.rmtree(stale) if stale.is_dir() else stale.unlink()
            (folder / RESULT_FILE).unlink(missing_ok=True)
        if self.force or not folder.exists() or is_unused(folder):
            write_yaml(folder / CONFIG_FILE, config)

    def close(self, dataset: str, config: Mapping[str, Any], facts: Mapping[str, Any]) -> None:
        """Note what came out, and the configuration of the run that has come to its end."""
        write_yaml(self.folder / CONFIG_FILE, config)
        save_result("result", {"dataset": dataset, **config}, facts, self.folder)


def _experiment(values: dict[str, Any]) -> Experiment:
    params = given_params(*(values.pop(name) for name in ("kernel", "steps", "param")))
    files = [values.pop(name) for name in FILES]
    return Experiment({name: value for name, value in values.items() if value is not None}, params, *files)


trains_networks = takes(
    "experiment",
    {
        name: option(panel, *about)
        for panel, table in ((None, FILES), ("Network", NETWORK), ("Training", TRAINING))
        for name, about in table.items()
    },
    _experiment,
)
"""Gives a command the options of training, which it receives as its argument ``experiment``."""


def settings_of(config: Mapping[str, Any]) -> Any:  # noqa: ANN401
    """Pick the settings of training.

    >>> from rwkplus.training import Settings
    >>> settings_of(Settings(epochs=3).to_dict() | {"model": "gin"}).epochs
    3
    """
    from rwkplus.training import Settings

    return Settings(**{name: config[name] for name in Settings().to_dict()})


def given_params(kernel: str | None, steps: int | None, pairs: Sequence[str] | None) -> dict[str, Any]:
    """Parameters of the network from ``--kernel``, ``--steps`` and ``--param name=value``.

    >>> given_params("rwk+", None, ["num_hidden=16"])
    {'kernel': 'rwk+', 'num_hidden': 16}
    """
    params: dict[str, Any] = {"kernel": kernel, "steps": steps}
    params = {name: value for name, value in params.items() if value is not None}
    for pair in pairs or ():
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise ParameterError(f"--param must be name=value, such as num_hidden=16; got {pair!r}.")
        try:
            params[name] = parse_yaml(value)
        except ValueError as error:
            raise ParameterError(f"--param {pair[:60]}: the value is not valid YAML ({error}).") from error
    return params


def read_data(dataset: str, config: Mapping[str, Any]) -> Any:  # noqa: ANN401
    """Read graphs and labels, and find mistakes before any file is written."""
    from rwkplus.training import GraphDataset
    from rwkplus.training.cross_validation import prepare

    settings, params = settings_of(config), config["model_params"]
    given = {name: config[name] for name, default in reading_defaults().items() if config[name] != default}
    graphs = _with_targets(dataset, Reading(given).load(dataset))
    goal = {name: config[name] for name in ("task", "features", "balance", "positive", "loss")}
    data = GraphDataset(graphs, ignore=tuple(config["ignore"]), **goal)
    prepare(data, config["model"], [params] if isinstance(params, Mapping) else params, settings)
    if config["folds"]:
        data.folds(config["folds"], settings.random_state)
    return data


def _checked(path: Path, values: dict[str, Any], known: Mapping[str, Any]) -> dict[str, Any]:
    """Values of a configuration file by the names the library has for them, or an error that names what is wrong."""
    if "seed" in values:
        values["random_state"] = values.pop("seed")
    params = {name: values.pop(name) for name in ("kernel", "steps") if name in values}
    if params:
        if not isinstance(values.get("model_params", {}), Mapping):
            raise ParameterError(f"{path}: write {' and '.join(params)} into model_params, which is not a mapping.")
        values["model_params"] = {**values.get("model_params", {}), **params}
    values |= {name: [values[name]] for name in SEVERAL if isinstance(values.get(name), str)}
    for name, value in values.items():
        if name not in known:
            raise ParameterError(f"{path}: unknown option {name!r}. Options are {', '.join(sorted(known))}.")
        kind, about = KINDS.get(name, (Any, ""))
        try:
            msgspec.convert(value, kind)
        except msgspec.ValidationError as error:
            raise ParameterError(f"{path}: {name} must be {about}, got {value!r}.") from error
    return values


def _with_targets(dataset: str, table: Any) -> Any:  # noqa: ANN401
    """Only the graphs that have a target; of several targets some may be missing."""
    y = table.y
    if y is None:
        raise DataError(f"{dataset} has no targets to predict: {_target_remedy(dataset)}.")
    missing = table.graphs[table.targets[0]].missing
    if y.ndim > 1 or not missing.any():
        return table
    if missing.all():
        raise DataError(f"no graph of {dataset} has a target: every {table.targets[0]} is missing.")
    print_error(f"{missing.sum()} of {len(table)} graphs have no target and are left out.", "warning")
    return table[~missing]


def _target_remedy(dataset: str) -> str:
    """Where a file of this kind has its targets."""
    if dataset.endswith(".smi"):
        return "write the target after each SMILES, separated by a space"
    return 'give every graph a y, such as "y": 1 in a line of JSON, or a column y of a CSV file'


def parse_yaml(text: str) -> Any:  # noqa: ANN401
    """Read YAML as people write it: plain values only, numbers such as 1e-3, and dates as they are written.

    Example:
        >>> parse_yaml("{lr: 1e-3, since: 2001-99-99}")
        {'lr': 0.001, 'since': '2001-99-99'}
    """
    import yaml

    class _Loader(yaml.SafeLoader):
        yaml_implicit_resolvers = {  # noqa: RUF012 -- PyYAML's way
            first: [(tag, pattern) for tag, pattern in known if not tag.endswith(":timestamp")]
            for first, known in yaml.SafeLoader.yaml_implicit_resolvers.items()
        }

    number = re.compile(r"[-+]?\d+(\.\d*)?[eE][-+]?\d+$")
    _Loader.add_implicit_resolver("tag:yaml.org,2002:float", number, list("-+0123456789"))
    try:
        values = yaml.load(text, _Loader)
        _check_plain(values, set())
    except RecursionError as error:
        raise ValueError("brackets are nested too deeply") from error
    except yaml.MarkedYAMLError as error:  # its own words take several lines
        where = "" if error.problem_mark is None else f"line {error.problem_mark.line + 1}: "
        raise ValueError(f"{where}{error.problem}") from error
    except (yaml.YAMLError, TypeError, AttributeError, LookupError) as error:
        raise ValueError(str(error)) from error
    return values


def _check_plain(value: object, above: set[int]) -> None:
    """Refuse what JSON does not know, and lists that are in several places: they could make a small file huge."""
    if isinstance(value, dict | list):
        if id(value) in above:
            raise ValueError("anchors and aliases are not supported; write the values out")
        above.add(id(value))
        for key in value if isinstance(value, dict) else ():
            if not isinstance(key, str):
                raise ValueError(f"names must be text, got {key!r}")
        for part in value.values() if isinstance(value, dict) else value:
            _check_plain(part, above)
    elif not isinstance(value, str | int | float | None):
        raise ValueError(f"values must be numbers, text, lists or mappings, got a {type(value).__name__}")


def read_yaml(path: Path) -> dict[str, Any]:
    """Read a file of names and values."""
    text = read_text(path)
    try:
        values = parse_yaml(text)
    except ValueError as error:
        raise DataError(f"{path} is not valid YAML: {error}.") from error
    if not isinstance(values, dict):
        raise DataError(f"{path} must contain names and values, such as 'epochs: 100'.")
    return values


def write_yaml(path: Path, values: Mapping[str, Any]) -> None:
    """Write a file of names and values, whole or not at all."""
    import yaml

    write_atomic(path, yaml.safe_dump(dict(values), sort_keys=False))
