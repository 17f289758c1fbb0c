"""``rwkplus twibot``."""

from pathlib import Path
from typing import Annotated

import typer

from rwkplus.cli.console import check_output, err, out


def twibot(
    raw: Annotated[Path, typer.Argument(help="Folder with user.json, edge.csv, label.csv and split.csv.")],
    out_folder: Annotated[Path, typer.Option("--out", help="Folder to make.")],
    encoder: Annotated[
        str,
        typer.Option(
            help="Sentence encoder of descriptions: minilm, which works offline; the name of any other that "
            "sentence-transformers reads, such as bert-base-uncased; or hashing, which understands nothing."
        ),
    ] = "minilm",
    relation: Annotated[
        list[str] | None, typer.Option(help="Edges to keep; may be repeated. \\[default: followers, following]")
    ] = None,
    batch_size: Annotated[int, typer.Option(help="Descriptions at a time.", min=1)] = 1024,
) -> None:
    """Make a graph of TwiBot-22's raw files, for [bold]rwkplus reproduce twibot --data[/].

    Needs little memory. A run that was killed goes on where it stopped when it is started again.
    """
    from rwkplus.data.twibot import preprocess
    from rwkplus.data.twibot.edges import FOLLOWS

    check_output(out_folder, None, folder=True)
    graph = preprocess(
        raw,
        out_folder,
        encoder=encoder,
        relations=relation or FOLLOWS,
        batch_size=batch_size,
        on_step=lambda message: err.print(message),
    )
    bots, edges = graph["y"].mean(), graph.facts["edges"]
    out.print(
        f"{out_folder}: {graph.num_nodes:,} users, {bots:.1%} of them bots; {graph.num_edges:,} directed edges from "
        f"{edges['kept']:,} follows ({edges['strangers']:,} with an unknown end left out); "
        f"{graph['x'].shape[1]} features.",
        soft_wrap=True,
    )
