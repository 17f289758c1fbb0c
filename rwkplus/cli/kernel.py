"""``rwkplus kernel``."""

import time
from pathlib import Path
from typing import Annotated, Any

import typer

from rwkplus.cli.console import bold_names, check_output, out, print_json, progress
from rwkplus.cli.options import Dataset, Directed, Ignore, Jobs, Json, Multigraph, NodeFeaturesOption
from rwkplus.errors import ParameterError
from rwkplus.files import whole_file


def kernel(
    dataset: Dataset,
    out_file: Annotated[
        Path, typer.Option("--out", help="File to write: .npz, or .npy for a matrix on disk that resumes.")
    ],
    kernel: Annotated[str, typer.Option(help="rwk+, rwk- or node-centric.")] = "rwk+",
    steps: Annotated[int, typer.Option(help="Longest walk, counted in edges.", min=1)] = 4,
    features: Annotated[
        bool, typer.Option("--features", help="Write sparse walk features instead of the matrix.")
    ] = False,
    normalize: Annotated[bool, typer.Option("--normalize", help="Cosine normalization of the matrix.")] = False,
    walks: Annotated[str, typer.Option(help="open or closed.")] = "open",
    combine: Annotated[str, typer.Option(help="sum, last, mean or geometric.")] = "sum",
    decay: Annotated[float | None, typer.Option(help="Base of the geometric weights; 0.1 by default.")] = None,
    route: Annotated[str, typer.Option(help="auto, explicit or blocks.")] = "auto",
    node_features: NodeFeaturesOption = "labels",
    ignore: Ignore = None,
    directed: Directed = False,
    multigraph: Multigraph = False,
    jobs: Jobs = 1,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the file.")] = False,
    as_json: Json = False,
) -> None:
    """Compute the kernel matrix or the walk features of a graph database.

    A [bold].npz[/] matrix holds [bold]gram[/] and [bold]y[/]; features hold a matrix that
    scipy.sparse.load_npz reads, with [bold]names[/] and [bold]y[/] beside it.
    """
    import numpy as np

    from rwkplus.data import load
    from rwkplus.kernels import RandomWalkFeatures, RandomWalkKernel

    if out_file.suffix not in (".npz", ".npy") or (features and out_file.suffix == ".npy"):
        raise ParameterError(f"--out {out_file}: the file must end in .npz, or in .npy for a matrix.")
    check_output(out_file, None if force else "--force overwrites it")
    if features and (normalize or route != "auto"):
        raise ParameterError("--normalize and --route are about the matrix: leave them out with --features.")
    if decay is not None and combine != "geometric":
        raise ParameterError(
            "--decay is the base of geometric weights: give --combine geometric, too, or leave it out."
        )
    reading = {"node_features": node_features, "directed": directed, "multigraph": multigraph}
    graphs = load(dataset, **reading, ignore=tuple(ignore or ()))  # type: ignore[arg-type]
    choices: dict[str, Any] = {"steps": steps, "combine": combine, "walks": walks, "n_jobs": jobs}
    choices |= {"ignore": tuple(ignore or ()), "decay": 0.1 if decay is None else decay}
    facts: dict[str, Any] = {
        "dataset": dataset,
        "graphs": len(graphs),
        "kernel": kernel,
        "steps": steps,
        "file": str(out_file),
    }
    begin = time.perf_counter()
    with progress("walking"):
        if features:
            estimator = RandomWalkFeatures(kernel, **choices)  # type: ignore[arg-type]
            matrix: Any = estimator.fit_transform(graphs)
            arrays = {
                "format": np.array(b"csr"), "shape": np.array(matrix.shape), "data": matrix.data,
                "indices": matrix.indices, "indptr": matrix.indptr,
                "names": estimator.get_feature_names_out().astype(str),
            }  # fmt: skip
            facts |= {"features": matrix.shape[1], "nonzeros": int(matrix.nnz)}
        else:
            gram = RandomWalkKernel(kernel, normalize=normalize, route=route, **choices)  # type: ignore[arg-type]
            in_place = out_file if out_file.suffix == ".npy" else None
            arrays = {"gram": gram.fit_transform(graphs, out=in_place)}
            facts |= {"route": gram.route_}
    facts["seconds"] = round(time.perf_counter() - begin, 3)
    if out_file.suffix == ".npz":
        with whole_file(out_file) as scratch:
            np.savez_compressed(scratch, **arrays | _targets(graphs))
    if as_json:
        print_json(facts)
    else:
        out.print(bold_names(facts), soft_wrap=True)


def _targets(graphs: list[Any]) -> dict[str, Any]:
    import numpy as np

    from rwkplus.graphs import classes_of

    classes = classes_of(graphs)
    if classes is not None:
        return {"y": np.array(classes)}
    if any(graph.get("y") is None for graph in graphs):
        return {}
    return {"y": np.concatenate([graph.y.numpy().reshape(-1) for graph in graphs])}
