"""``python -m experiments NAME [options]``: run an experiment, or write the tables of all results."""

import sys
from collections.abc import Iterable
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperCommand

from experiments.provenance import OPTIONS, started
from rwkplus.cli.main import run

COMMANDS = {
    "kernels": "kernels",
    "task-1-1": "mining_tasks",
    "task-1-2": "mining_tasks",
    "task-2-1": "mining_tasks",
    "task-2-2": "mining_tasks",
    "explained": "mining_explained",
    "planted": "planted",
    "planted-payments": "planted_payments",
    "contrast": "contrast",
    "toxicophores": "toxicophores",
    "contrast-features": "contrast_features",
    "planted-large": "planted_large",
    "smarts": "smarts",
    "classification": "classification",
    "counting": "counting",
    "scalability": "scalability",
    "anomaly": "anomaly",
    "detection": "detection",
    "planted-anomalies": "planted_anomalies",
    "node-classification": "nodes",
    "node-classification-released": "nodes_released",
    "rwk-plus-conv-init": "nodes_init",
    "runtime": "runtime",
    "zinc": "molecules",
    "molhiv": "molecules",
    "molpcba": "molecules",
    "twibot": "twibot",
    "twibot-graph": "twibot_graph",
    "data-sets": "data_sets",
    "check": "check",
    "tables": "tables",
}
"""Names of commands, and the module that has the function of that name."""


class Recorded(TyperCommand):
    """A command whose result files tell what ran: its code and all its options."""

    def invoke(self, ctx: Any) -> Any:  # noqa: ANN401
        """Note both, then run the command."""
        started()
        OPTIONS.set(ctx.params)
        return super().invoke(ctx)


def program(names: Iterable[str] = tuple(COMMANDS)) -> typer.Typer:
    """The program with these commands; modules of others are not imported."""
    app = typer.Typer(
        help="Run the paper's experiments; all tables in docs/results, but for make bench, come from here. "
        "Results are written below experiments/results.",
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode="rich",
        pretty_exceptions_enable=False,
    )
    app.callback()(lambda: None)  # NAME is asked for even if it is the only one
    for name in names:
        module = import_module(f"experiments.{COMMANDS[name]}")
        app.command(name, cls=Recorded)(getattr(module, name.replace("-", "_")))
    return app


if __name__ == "__main__":
    asked = [word for word in sys.argv[1:2] if word in COMMANDS]
    run(program(asked or COMMANDS))
