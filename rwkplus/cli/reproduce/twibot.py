"""Bot detection on a web-scale graph."""

from pathlib import Path
from typing import Annotated

import typer

from rwkplus.cli.console import err, out


def twibot(
    nodes: Annotated[int, typer.Option(help="Users of the generated graph.", min=100)] = 1_000_000,
    data: Annotated[
        Path | None, typer.Option(help="Folder made by `rwkplus twibot`, instead of a generated graph.")
    ] = None,
    cut: Annotated[str, typer.Option(help="Batches: clusters, neighbors or full.")] = "clusters",
    layer: Annotated[
        list[str] | None, typer.Option(help="GCN, GIN or RWK+Conv; may be repeated. \\[default: all]")
    ] = None,
    epochs: Annotated[int, typer.Option(help="Epochs of every training run.", min=1)] = 20,
    seeds: Annotated[int, typer.Option(help="Number of seeds.", min=1)] = 3,
    hidden: Annotated[int, typer.Option(help="Width of the networks.", min=1)] = 128,
    batch_size: Annotated[
        int | None, typer.Option(help="Nodes per batch. \\[default: 10000; 1024 with neighbors]", min=1)
    ] = None,
    neighbors: Annotated[str, typer.Option(help="Neighbors drawn in each hop.")] = "10,5,3,2",
    threads: Annotated[int, typer.Option(help="Threads of torch.", min=1)] = 1,
) -> None:
    """GCN, GIN and RWK+Conv find bots, with guards (Sec. 5.2); writes results/twibot/.

    Several processes share the batches under [bold]torchrun --nproc-per-node 2 -m rwkplus reproduce twibot[/].
    """
    from dataclasses import replace

    from rwkplus.errors import ParameterError
    from rwkplus.reproduce.twibot import CONVS, SETTINGS, Plan, run_twibot
    from rwkplus.reproduce.twibot_tables import twibot_table
    from rwkplus.result_files import read_result
    from rwkplus.training.large_graphs import Cutting
    from rwkplus.training.processes import is_first_process

    methods = layer or list(CONVS)
    unknown = [method for method in methods if method not in CONVS]
    try:
        hops = tuple(int(hop) for hop in neighbors.split(","))
    except ValueError:
        hops = ()
    if unknown or not hops:
        raise ParameterError(
            f"--layer is one of {', '.join(CONVS)} and --neighbors numbers with commas; got {', '.join(methods)} and "
            f"{neighbors!r}."
        )
    size = batch_size or (1024 if cut == "neighbors" else 10_000)
    settings = replace(SETTINGS, epochs=epochs, batch_size=size, threads=threads)
    cutting = Cutting(cut, num_neighbors=hops)  # type: ignore[arg-type]
    plan = Plan(nodes, data, cutting, settings, tuple(range(seeds)), hidden)
    run_twibot(plan, methods=methods, on_step=lambda message: err.print(message))
    if is_first_process():
        out.print(twibot_table(read_result(plan.name)), soft_wrap=True)
