"""``rwkplus reproduce``: experiments and the tables made from their results."""

from pathlib import Path
from typing import Annotated

import typer

from rwkplus.cli.console import out
from rwkplus.cli.reproduce import detection, kernels, mining, molecules, networks, nodes, twibot
from rwkplus.errors import DataError

app = typer.Typer(
    help="Run experiments; the tables in docs/results, but for make bench, come from here.", no_args_is_help=True
)
app.command()(kernels.kernels)
app.command("task-1-1")(mining.task_1_1)
app.command("task-1-2")(mining.task_1_2)
app.command("task-2-1")(mining.task_2_1)
app.command("task-2-2")(mining.task_2_2)
app.command()(mining.explained)
app.command()(mining.planted)
app.command()(networks.classification)
app.command()(networks.counting)
app.command()(networks.scalability)
app.command()(networks.anomaly)
app.command()(detection.detection)
app.command("planted-anomalies")(detection.planted_anomalies)
app.command("node-classification")(nodes.node_classification)
app.command("rwk-plus-conv-init")(nodes.rwk_plus_conv_init)
app.command()(nodes.runtime)
app.command()(molecules.zinc)
app.command()(molecules.molhiv)
app.command()(molecules.molpcba)
app.command()(twibot.twibot)


@app.command()
def tables(
    docs: Annotated[Path, typer.Option(help="Folder to write.")] = Path("docs/results"),
) -> None:
    """Rewrite docs/results from the files in results/."""
    from rwkplus.reproduce.tables import write_tables

    written = write_tables(docs)
    if not written:
        raise DataError("there is no folder results/ with result files here: run an experiment first.")
    for path in written:
        out.print(str(path))
