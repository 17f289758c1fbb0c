"""Experiments on graph convolutions for nodes."""

from typing import Annotated

import typer

from rwkplus.cli.console import out, progress


def node_classification(
    dataset: Annotated[
        list[str] | None, typer.Option(help="Data set; may be repeated. \\[default: all but PubMed]")
    ] = None,
    seeds: Annotated[int, typer.Option(help="Splits with initial weights of their own.", min=1)] = 5,
    epochs: Annotated[int, typer.Option(help="Epochs of every training run.", min=1)] = 200,
    input_dropout: Annotated[
        list[float] | None, typer.Option(help="Share to choose among; may be repeated. \\[default: 0, 0.5, 0.8]")
    ] = None,
    published_split: Annotated[
        bool, typer.Option("--published-split", help="Split that comes with the data (Cora, CiteSeer, PubMed).")
    ] = False,
) -> None:
    """RWKPlusConv, GCNConv and GINConv in one backbone, guards beside (Sec. 5.2); writes results/nodes/."""
    from rwkplus.reproduce.nodes import DATASETS, GUARDS, INPUT_DROPOUT, METHODS, PUBLISHED, run_nodes
    from rwkplus.reproduce.nodes_tables import nodes_table

    names = list(dataset or (PUBLISHED[:2] if published_split else DATASETS))
    how = {"seeds": seeds, "epochs": epochs, "input_dropout": tuple(input_dropout or INPUT_DROPOUT)}
    with progress("node classification", total=len(names) * seeds * len((*METHODS, *GUARDS))) as advance:
        for name in names:
            run_nodes(name, **how, published=published_split, on_step=advance)  # type: ignore[arg-type]
    out.print(nodes_table(names, published=published_split))


def rwk_plus_conv_init(
    seeds: Annotated[int, typer.Option(help="Splits, other than those of experiments.", min=1)] = 2,
    epochs: Annotated[int, typer.Option(help="Epochs of every training run.", min=1)] = 100,
) -> None:
    """Initializations of RWKPlusConv on validation nodes; writes results/nodes/initialization.json."""
    from rwkplus.reproduce.nodes_init import DATASETS, INITIALIZATIONS, run_initializations
    from rwkplus.reproduce.nodes_tables import initialization_table

    with progress("initializations", total=seeds * len(DATASETS) * len(INITIALIZATIONS)) as advance:
        rows = run_initializations(seeds=seeds, epochs=epochs, on_step=advance)
    out.print(initialization_table(rows))


def runtime(
    repeats: Annotated[int, typer.Option(help="Passes of every layer; medians are shown.", min=1)] = 9,
) -> None:
    """RWKPlusConv beside GCNConv on PubMed's graph (Sec. 5.2); writes results/benchmarks/rwk_plus_conv.json."""
    from rwkplus.reproduce.markdown import rows_table
    from rwkplus.reproduce.runtime import run_runtime

    out.print(rows_table(run_runtime(repeats=repeats)))
