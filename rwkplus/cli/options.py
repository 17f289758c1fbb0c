"""Arguments and options that several commands share, declared once; above all those that say how graphs are read."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import fields
from functools import wraps
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, NamedTuple, get_args

import typer

from rwkplus.errors import Remedy, RWKPlusWarning
from rwkplus.files import damaged, from_json, json_text, read_json, write_atomic
from rwkplus.types import Atom, TUFeatures

SOURCE = "graphs.json"
"""The file beside a report that names its graphs."""

GRAPHS = "A name listed by `rwkplus datasets`, or a file or folder: .csv, .parquet, .jsonl, .smi, .sdf, .zip (TU)."
"""What a command reads; a test compares it with :mod:`rwkplus.io.sources`, which is slow to import."""


def dataset_names(incomplete: str) -> list[str]:
    """Names of data sets that begin like this, for shells that complete words; without any, they complete files."""
    from rwkplus.datasets import REGISTRY

    return [name for name in REGISTRY if name.startswith(incomplete)]


Dataset = Annotated[str, typer.Argument(autocompletion=dataset_names, help=GRAPHS)]


def _jobs(number: int) -> int:
    if number == 0:
        raise typer.BadParameter("0 processes cannot do anything: give at least 1, or -1 for all cores.")
    return number


Jobs = Annotated[int, typer.Option("--jobs", help="Number of processes; -1 for all cores.", callback=_jobs)]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Seed = Annotated[int, typer.Option("--seed", help="Random seed.", min=0)]

CHOICES: dict[str, tuple[Any, str, str]] = {
    "ignore": (list[str] | None, "--ignore", "Column to leave out, such as edges.label; can be repeated."),
    "source": (str | None, "--source", "Column with the first node of each edge. [default: source]"),
    "target": (str | None, "--target", "Column with the second node of each edge. [default: target]"),
    "graph": (str | None, "--graph", "Column with the graph that each row belongs to. [default: graph]"),
    "node": (str | None, "--node", "Column with the ids in a table of nodes. [default: node]"),
    "smiles": (str | None, "--smiles-column", "Column with the SMILES in a table of molecules. [default: smiles]"),
    "y": (
        list[str] | None,
        "--target-column",
        "Column with the classes or values to predict or contrast; can be repeated. [default: y]",
    ),
    "labels": (list[str] | None, "--label", "Numeric column to read as labels; can be repeated."),
    "attributes": (list[str] | None, "--attribute", "Column to read as numbers; can be repeated."),
    "weight": (str | None, "--weight", "Column with the weights of edges."),
    "atom": (list[str] | None, "--atom", "What makes up the label of an atom; can be repeated. [default: element]"),
    "directed": (bool | None, "--directed", "Edges in a table point from source to target."),
    "multigraph": (bool | None, "--multigraph", "Keep several edges between the same two nodes."),
    "drop_duplicates": (bool | None, "--drop-duplicates", "Skip rows that repeat an edge."),
    "on_error": (bool | None, "--skip-bad", "Skip what cannot be read, and list it."),
    "node_features": (TUFeatures | None, "--node-features", "Node columns of TU files to read. [default: labels]"),
}
"""By the name that :class:`rwkplus.io.sources.ReadOptions` has for it: type, option, help."""


class Reading(NamedTuple):
    """How graphs are read, as far as the user has said."""

    given: dict[str, Any]

    @property
    def ignore(self) -> tuple[str, ...]:
        """Columns to leave out."""
        return tuple(self.given.get("ignore", ()))

    def load(self, dataset: str, **more: Any) -> Any:  # noqa: ANN401
        """Load a data set as a table; tells which columns were taken for ids."""
        from rwkplus.cli.console import print_error
        from rwkplus.datasets import load_graphs

        table = load_graphs(dataset, **{**self.given, **more})
        for side, name in table.taken_for_ids():
            message = (
                f"column {name!r} of the {side} has a different value in nearly every row, so it is read as an id."
            )
            compare = Remedy("Use {labels} to compare it.", labels=(name,))
            print_error(
                RWKPlusWarning(message, compare, Remedy("Use {ignore} to leave it out.", ignore=(name,))), "warning"
            )
        return table

    def keep(self, dataset: str, folder: Path, **more: Any) -> None:  # noqa: ANN401
        """Note beside a report which graphs it is about, so that `rwkplus view` finds them again."""
        from rwkplus.datasets import REGISTRY

        is_file = dataset not in REGISTRY and Path(dataset).exists()
        place = str(Path(dataset).absolute()) if is_file else dataset
        write_atomic(folder / SOURCE, json_text({"dataset": place, "options": {**self.given, **more}}) + "\n")

    @classmethod
    def kept(cls, folder: Path) -> tuple[str, "Reading"]:
        """What was noted: the graphs, and how they are read."""
        record = read_json(folder / SOURCE, f"{folder} does not say which graphs it describes.")
        match record:
            case {"dataset": str(dataset), "options": dict(options)} if options.keys() <= {*CHOICES, "without_labels"}:
                return dataset, cls(from_json(options))
        raise damaged(folder / SOURCE, "it does not name graphs")


def option(panel: str | None, kind: Any, flag: str, about: str, least: float | None = None) -> Any:  # noqa: ANN401
    """The annotation of an option."""
    text = about.replace("[", "\\[")
    shown = several(Atom) if flag == "--atom" else None
    return Annotated[
        kind, typer.Option(flag, help=text, min=least, show_default=False, rich_help_panel=panel, metavar=shown)
    ]


def several(choices: Any) -> str:  # noqa: ANN401
    """Choices as the help shows them, for options that may be repeated, of which typer knows no choices.

    >>> several(TUFeatures)
    '[labels|attributes|both]'
    """
    return f"[{'|'.join(get_args(choices))}]"


def takes(
    argument: str, options: Mapping[str, Any], collect: Callable[[dict[str, Any]], Any]
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command options, by name with their annotations, in place of an argument that is made of them."""

    def _parameter(name: str, annotation: Any) -> inspect.Parameter:  # noqa: ANN401
        kind = get_args(annotation)[0]
        default = False if kind is bool else None if NoneType in get_args(kind) else inspect.Parameter.empty
        return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)

    def _decorate(command: Callable[..., None]) -> Callable[..., None]:
        @wraps(command)
        def _wrapped(**values: Any) -> None:  # noqa: ANN401
            chosen = {name: values.pop(name, None) for name in options}
            command(**values, **{argument: collect(chosen)})

        signature = inspect.signature(command)
        own = [parameter for parameter in signature.parameters.values() if parameter.name != argument]
        parameters = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in own]
        parameters += [_parameter(name, annotation) for name, annotation in options.items()]
        _wrapped.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        _wrapped.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        return _wrapped

    return _decorate


def _reading(values: dict[str, Any]) -> Reading:
    """Options that were given, as the library wants them."""
    said = {name.removeprefix("read_"): value for name, value in values.items() if value not in (None, [], False)}
    if "on_error" in said:
        said["on_error"] = "skip"
    return Reading({name: tuple(value) if isinstance(value, list) else value for name, value in said.items()})


READ = {f"read_{name}": option("Reading graphs", *choice) for name, choice in CHOICES.items()}
reads_graphs = takes("reading", READ, _reading)
"""Gives a command the options of :data:`CHOICES`, which it receives as its argument ``reading``."""


def reading_defaults() -> dict[str, Any]:
    """Names and defaults for configuration files."""
    from rwkplus.io.sources import ReadOptions

    found = {option.name: option.default for option in fields(ReadOptions) if option.name in CHOICES}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in found.items()}
