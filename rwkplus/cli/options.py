"""Arguments and options that several commands share, declared once; above all those that say how graphs are read."""

import inspect
from collections.abc import Callable
from dataclasses import fields
from functools import wraps
from typing import Annotated, Any, NamedTuple

import typer

from rwkplus.errors import Remedy, RWKPlusWarning

Dataset = Annotated[
    str,
    typer.Argument(
        help="Registered name (see `rwkplus datasets`), or a file or folder: CSV, Parquet, .jsonl, .smi, .sdf, TU."
    ),
]


def _jobs(number: int) -> int:
    if number == 0:
        raise typer.BadParameter("0 jobs do nothing: give a number of processes, or -1 for all cores.")
    return number


Jobs = Annotated[int, typer.Option("--jobs", help="Parallel jobs; -1 for all cores.", callback=_jobs)]
Json = Annotated[bool, typer.Option("--json", help="Print the facts as JSON.")]
Seed = Annotated[int, typer.Option("--seed", help="Seed of everything random.", min=0)]

PANEL = "Reading graphs"
KEYWORD = inspect.Parameter.KEYWORD_ONLY
CHOICES: dict[str, tuple[Any, str, str]] = {
    "ignore": (list[str] | None, "--ignore", "Column to leave out, such as edges.label; may be repeated."),
    "source": (str | None, "--source", "Column of the first node of an edge, in a table of edges. [default: source]"),
    "target": (str | None, "--target", "Column of the second node. [default: target]"),
    "graph": (str | None, "--graph", "Column that tells which graph a row belongs to. [default: graph]"),
    "node": (str | None, "--node", "Column of ids in a table of nodes. [default: node]"),
    "smiles": (str | None, "--smiles-column", "Column of SMILES, in a table of molecules. [default: smiles]"),
    "y": (list[str] | None, "--target-column", "Column to learn or contrast; may be repeated. [default: y]"),
    "labels": (list[str] | None, "--label", "Column of numbers to read as labels; may be repeated."),
    "attributes": (list[str] | None, "--attribute", "Column to read as numbers; may be repeated."),
    "weight": (str | None, "--weight", "Edge column to read as weight."),
    "atom": (list[str] | None, "--atom", "What describes an atom, such as element or charge; may be repeated."),
    "directed": (bool | None, "--directed", "Edges of a table lead from source to target, each row one of its own."),
    "multigraph": (
        bool | None,
        "--multigraph",
        "Each row is an edge of its own: two nodes may have several.",
    ),
    "drop_duplicates": (bool | None, "--drop-duplicates", "Leave out rows that repeat an edge."),
    "on_error": (bool | None, "--skip-bad", "Leave out what cannot be read, and say what it was."),
    "node_features": (
        str | None,
        "--node-features",
        "Columns of TU files: labels, attributes or both.",
    ),
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
            message = f"column {name!r} of the {side} has another value in nearly every row: it is taken for an id."
            compare = Remedy("{labels} compares it.", labels=(name,))
            print_error(RWKPlusWarning(message, compare, Remedy("{ignore} leaves it out.", ignore=(name,))), "warning")
        return table


def reads_graphs(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of this module; it receives them as its argument ``reading``."""
    signature = inspect.signature(command)
    given = [parameter for parameter in signature.parameters.values() if parameter.name != "reading"]
    options = [
        inspect.Parameter(
            f"read_{name}",
            inspect.Parameter.KEYWORD_ONLY,
            default=None,
            annotation=Annotated[kind, _option(flag, about)],
        )
        for name, (kind, flag, about) in CHOICES.items()
    ]

    @wraps(command)
    def wrapped(**values: Any) -> None:  # noqa: ANN401
        read = {name: values.pop(f"read_{name}", None) for name in CHOICES}
        command(**values, reading=Reading(_said(read)))

    parameters = [parameter.replace(kind=KEYWORD) for parameter in given] + options
    wrapped.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    wrapped.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters} | {"return": None}
    return wrapped


def _option(flag: str, about: str) -> Any:  # noqa: ANN401
    return typer.Option(flag, help=about.replace("[", "\\["), show_default=False, rich_help_panel=PANEL)


def _said(read: dict[str, Any]) -> dict[str, Any]:
    """Options that were given, as the library wants them."""
    said = {name: value for name, value in read.items() if value not in (None, [], False)}
    if "on_error" in said:
        said["on_error"] = "skip"
    return {name: tuple(value) if isinstance(value, list) else value for name, value in said.items()}


def reading_defaults() -> dict[str, Any]:
    """Names and defaults for configuration files."""
    from rwkplus.io.sources import ReadOptions

    found = {option.name: option.default for option in fields(ReadOptions) if option.name in CHOICES}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in found.items()}
