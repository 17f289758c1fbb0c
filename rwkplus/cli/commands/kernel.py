"""``rwkplus kernel``."""

import time
from pathlib import Path
from typing import Annotated, Any

import typer

from rwkplus.cli.console import bold_names, check_output, err, out, print_json
from rwkplus.cli.options import Dataset, Jobs, Json, Reading, reads_graphs
from rwkplus.errors import ParameterError
from rwkplus.files import atomic_file
from rwkplus.progress import progress_bars
from rwkplus.types import Combine, KernelName, Progress, Route, Walks


@reads_graphs
def kernel(
    dataset: Dataset,
    out_file: Annotated[
        Path, typer.Option("--out", help="File to write: .npz, or .npy for a matrix that does not fit into memory.")
    ],
    kernel: Annotated[KernelName, typer.Option(help="Which kernel; node-centric needs labels.")] = "rwk+",
    steps: Annotated[int, typer.Option(help="Longest walk, counted in edges.", min=1)] = 4,
    features: Annotated[
        bool, typer.Option("--features", help="Write sparse walk features instead of the matrix.")
    ] = False,
    normalize: Annotated[bool, typer.Option("--normalize", help="Normalize the matrix to a diagonal of ones.")] = False,
    walks: Annotated[Walks, typer.Option(help="All walks, or only those that return to their start.")] = "open",
    combine: Annotated[
        Combine, typer.Option(help="How the scores of walks with 1, 2, ... steps are combined.")
    ] = "sum",
    decay: Annotated[float | None, typer.Option(help="Base of the geometric weights. \\[default: 0.1]")] = None,
    route: Annotated[Route, typer.Option(help="Which of two exact methods to use.")] = "auto",
    jobs: Jobs = 1,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the file.")] = False,
    as_json: Json = False,
    *,
    reading: Reading,
) -> None:
    """Compute a kernel matrix or walk features.

    numpy.load reads the matrix as [bold]gram[/], and targets as [bold]y[/]. Features are read by scipy.sparse.load_npz,
    and the same file contains their [bold]names[/] and [bold]y[/].
    """
    _check(out_file, combine, route, decay, features=features, normalize=normalize, force=force)
    graphs = reading.load(dataset)
    choices: dict[str, Any] = {"steps": steps, "combine": combine, "walks": walks, "n_jobs": jobs}
    choices |= {"ignore": reading.ignore, "decay": 0.1 if decay is None else decay}
    begin = time.perf_counter()
    if features:
        arrays, found = _features(graphs, kernel, choices)
    else:
        from rwkplus.kernels import RandomWalkKernel

        estimator = RandomWalkKernel(kernel, normalize=normalize, route=route, **choices)
        in_place = out_file if out_file.suffix == ".npy" else None
        with progress_bars(err) as show:
            arrays = {"gram": estimator.fit_transform(graphs, out=in_place, callback=show)}
        found = {"route": estimator.route_}
    facts = {"dataset": dataset, "graphs": len(graphs), "kernel": kernel, "steps": steps, "file": str(out_file)}
    facts |= {**found, "seconds": round(time.perf_counter() - begin, 3)}
    if out_file.suffix == ".npz":
        import numpy as np

        with atomic_file(out_file) as scratch:
            np.savez_compressed(scratch, **arrays | _targets(graphs))
    if as_json:
        print_json(facts)
    else:
        out.print(bold_names(facts), soft_wrap=True)


def _check(
    out_file: Path, combine: str, route: str, decay: float | None, *, features: bool, normalize: bool, force: bool
) -> None:
    """Refuse files that cannot be written and options that would do nothing."""
    if out_file.suffix not in (".npz", ".npy") or (features and out_file.suffix == ".npy"):
        raise ParameterError(f"--out {out_file}: the file name must end in .npz, or in .npy for a matrix.")
    check_output(out_file, None if force else "use --force to overwrite it")
    if features and (normalize or route != "auto"):
        raise ParameterError("--normalize and --route only apply to matrices: leave them out, or leave out --features.")
    if decay is not None and combine != "geometric":
        raise ParameterError("--decay only applies to --combine geometric: add it, or leave out --decay.")


def _features(graphs: Any, kernel: Any, choices: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:  # noqa: ANN401
    """Arrays that scipy.sparse.load_npz reads, with names beside, and what to tell about them."""
    import numpy as np

    from rwkplus.kernels import RandomWalkFeatures

    estimator = RandomWalkFeatures(kernel, **choices)
    with progress_bars(err) as show:
        show(Progress("walking", 0))
        matrix: Any = estimator.fit_transform(graphs)
    arrays = {
        "format": np.array(b"csr"), "shape": np.array(matrix.shape), "data": matrix.data,
        "indices": matrix.indices, "indptr": matrix.indptr,
        "names": estimator.get_feature_names_out().astype(str),
    }  # fmt: skip
    return arrays, {"features": matrix.shape[1], "nonzeros": int(matrix.nnz)}


def _targets(table: Any) -> dict[str, Any]:  # noqa: ANN401
    """Targets, if there are any; names of classes as text, which can be read without pickle."""
    y = table.y
    if y is None:
        return {}
    return {"y": y if y.dtype.kind in "iuf" else y.astype(str)}
