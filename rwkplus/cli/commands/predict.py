"""``rwkplus predict``."""

import csv
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from rwkplus.cli.console import check_output, out, print_json, write
from rwkplus.cli.options import Dataset, Json, Reading, reads_graphs
from rwkplus.errors import DataError
from rwkplus.files import write_atomic
from rwkplus.types import Unknown


@reads_graphs
def predict(
    model: Annotated[
        Path,
        typer.Argument(help="Model file, or a folder written by `rwkplus train --folds 0`, or the folder of one fold."),
    ],
    graphs: Dataset,
    out_file: Annotated[Path | None, typer.Option("--out", help="CSV file to write. \\[default: stdout]")] = None,
    unknown_label: Annotated[
        Unknown, typer.Option("--unknown-label", help="What to do with labels that did not occur in training.")
    ] = "ignore",
    force: Annotated[bool, typer.Option("--force", help="Overwrite the file.")] = False,
    as_json: Json = False,
    *,
    reading: Reading,
) -> None:
    """Predict classes or numbers with a trained network.

    Writes one line per graph: its name or number, the prediction and, for classes, the probabilities.
    """
    if out_file is not None:
        check_output(out_file, None if force else "use --force to overwrite it")
    trained = trained_network(model)
    read = reading.load(graphs, ignore=trained.inputs.ignore)
    header, *rows = _lines(trained, read, unknown_label)
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([header, *rows])
    if out_file is not None:
        write_atomic(out_file, text.getvalue())
    if as_json:
        print_json({"dataset": graphs, "predictions": [dict(zip(header, row, strict=True)) for row in rows]})
    elif out_file is None:
        write(text.getvalue())
    else:
        out.print(f"Wrote {len(rows)} predictions to {out_file}.", soft_wrap=True)


def trained_network(path: Path) -> Any:  # noqa: ANN401
    """The network for whole graphs that a file or folder holds."""
    from rwkplus.saving import load

    found = load(path)
    trained = getattr(found, "trained_", None)
    if trained is None or not hasattr(trained.inputs, "ignore"):
        raise DataError(
            f"{path} holds a {type(found).__name__}, not a network for whole graphs.",
            "Open it in Python with rwkplus.load.",
        )
    return trained


def _lines(trained: Any, graphs: Any, unknown_label: Unknown) -> Iterator[list[Any]]:  # noqa: ANN401
    outputs = trained.outputs(graphs, unknown_label=unknown_label)
    target = trained.target
    predictions = target.decode(outputs).reshape(len(graphs), -1)
    shares = target.probabilities(outputs) if target.kind != "regression" else predictions[:, :0]
    several = predictions.shape[1] > 1
    names = [f"prediction {i}" for i in range(predictions.shape[1])] if several else ["prediction"]
    yield ["graph", *names, *(f"p({name})" for name in (target.names if shares.size else ()))]
    for i in range(len(graphs)):
        yield [graphs.graph_id(i), *predictions[i].tolist(), *(float(f"{share:.6g}") for share in shares[i])]
