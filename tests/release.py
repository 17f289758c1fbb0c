"""Tries what is about to be published: ``python -m tests.release dist [EXTRA ...]``, part of ``make release``.

The wheel is installed in a fresh environment, alone and with each extra; the sdist is unpacked and runs its own tests.
"""

import os
import subprocess
import sys
import tarfile
import tomllib
import venv
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[1]
ALONE = "alone"
FOR_MAINTAINERS = {"bench", "dev", "docs"}
"""Extras without code of their own in the wheel; the tests of the sdist need them."""
TRIALS = {
    ALONE: """
        import networkx, rwkplus
        graphs = rwkplus.load_graphs("planted-molecules")[:40]
        assert rwkplus.RandomWalkKernel(steps=2).fit_transform(graphs).shape == (40, 40)
        assert rwkplus.PatternMiner(1, n_controls=0).fit(graphs).patterns_
        assert rwkplus.SurpriseDetector().fit_predict(graphs).shape == (40,)
        try:
            rwkplus.RWKPlusConv
        except ImportError as error:
            assert "rwkplus[nn]" in str(error)
    """,
    "nn": """
        import torch, rwkplus
        graphs = rwkplus.load_graphs("planted-molecules")[:40]
        model = rwkplus.GraphClassifier("kergnn", epochs=1, ignore=("edge_attr",)).fit(graphs, [0, 1] * 20)
        assert model.predict(graphs).shape == (40,)
        assert rwkplus.RWKPlusConv(2, 4)(torch.rand(3, 2), torch.tensor([[0, 1], [1, 2]])).shape == (3, 4)
    """,
    "chem": "import rwkplus; assert rwkplus.GraphTable.of(['CCO', 'CN']).num_nodes == 5",
    "arrow": """
        import networkx, rwkplus
        rwkplus.GraphTable.of([networkx.path_graph(3)]).write("table")
        assert rwkplus.GraphTable.of("table").num_nodes == 3
    """,
    "cluster": """
        import joblib, rwkplus
        from distributed import Client, get_task_stream
        graphs = rwkplus.load_graphs("planted-molecules")[:100]
        alone = rwkplus.RandomWalkKernel(steps=2, route="blocks", n_jobs=1).fit_transform(graphs)
        with (
            Client(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None) as client,
            joblib.parallel_config(backend="dask"),
            get_task_stream(client) as tasks,
        ):
            there = rwkplus.RandomWalkKernel(steps=2, route="blocks").fit_transform(graphs)
        assert tasks.data and (there == alone).all()
    """,
    "gp": """
        import rwkplus
        from rwkplus.kernels import GPyTorchKernel
        kernel = GPyTorchKernel(rwkplus.RandomWalkKernel(steps=1), rwkplus.load_graphs("planted-molecules")[:5])
        assert kernel(kernel.inputs).to_dense().shape == (5, 5)
    """,
    "hub": """
        import rwkplus
        from rwkplus.hub import HubModel
        graphs = rwkplus.load_graphs("planted-molecules")[:5]
        HubModel(rwkplus.RandomWalkKernel(steps=1).fit(graphs)).save_pretrained("hub")
        assert HubModel.from_pretrained("hub").estimator.transform(graphs).shape == (5, 5)
    """,
    "metis": """
        import numpy
        from rwkplus.large.parts import clusters
        ring = numpy.arange(40)
        ends = numpy.sort(numpy.stack([(ring - 1) % 40, (ring + 1) % 40], 1), 1)
        assert set(clusters(numpy.arange(0, 81, 2), ends.ravel(), 4, method="metis")) == {0, 1, 2, 3}
    """,
    "plot": """
        import matplotlib, pathlib, rwkplus
        matplotlib.use("agg")
        miner = rwkplus.PatternMiner(1, n_controls=0).fit(rwkplus.load_graphs("planted-molecules")[:40])
        miner.plot().figure_.savefig("patterns.png")
        assert pathlib.Path("patterns.png").stat().st_size > 1000
    """,
    "pyod": """
        import rwkplus
        from rwkplus.detect import PyODDetector
        graphs = rwkplus.load_graphs("planted-molecules")[:40]
        assert PyODDetector(contamination=0.1).fit(graphs).predict_proba(graphs).shape == (40, 2)
    """,
    "tensorboard": """
        import networkx, pathlib
        from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
        from rwkplus.training import Settings, train
        from rwkplus.training.run_folder import Place
        X = [networkx.path_graph(n) for n in range(2, 22)]
        train("gin", X, [0, 1] * 10, settings=Settings(epochs=1), place=Place(pathlib.Path("run"), tensorboard=True))
        assert EventAccumulator("run").Reload().Tags()["scalars"]
    """,
    "text": """
        import sys
        from sentence_transformers import SentenceTransformer
        from sentence_transformers.models import StaticEmbedding
        from tokenizers import Tokenizer
        from tokenizers.models import WordLevel
        words = Tokenizer(WordLevel({"[UNK]": 0, "cat": 1}, unk_token="[UNK]"))
        SentenceTransformer(modules=[StaticEmbedding(words, embedding_dim=3)], device="cpu").save("words")
        sys.path.append(sys.argv[1])  # experiments, which use it, are not in the wheel
        from experiments.twibot_graph import make_encoder
        assert make_encoder("words")(["cat", "dog"]).shape == (2, 3)
    """,
    "tune": """
        import networkx
        from rwkplus.training import Settings, tune
        X = [networkx.path_graph(n) for n in range(2, 22)]
        found = tune("gin", X, [0, 1] * 10, trials=1, folds=2, settings=Settings(epochs=1))
        assert len(found.folds) == 2
    """,
}
"""What must work with nothing but the wheel and one extra; each runs in an empty folder."""


def extras() -> list[str]:
    """Extras that users install, and what goes without."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return [ALONE, *sorted(project["optional-dependencies"].keys() - FOR_MAINTAINERS)]


def try_wheel(wheel: Path, extra: str) -> None:
    """Install the wheel with one extra in a new environment, and use the library and the command."""
    print(f"{wheel.name}: {extra}", flush=True)
    with TemporaryDirectory() as folder:
        environment, empty = Path(folder, "env"), Path(folder, "empty")
        venv.create(environment, with_pip=True)
        empty.mkdir()
        python = environment / "bin" / "python"
        what = f"{wheel}[{extra}]" if extra != ALONE else str(wheel)
        constraints = ["--constraint", str(ROOT / "constraints.txt")]
        _run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *constraints, what])
        _run([python, "-m", "pip", "check"])
        code = "\n".join(line.removeprefix(" " * 8) for line in TRIALS[extra].splitlines())
        _run([python, "-W", "ignore", "-c", code, ROOT], empty)
        _run([environment / "bin" / "rwkplus", "detect", "medicines", "--out", "outliers"], empty)
        _run([python, "-c", "import sys, rwkplus; sys.exit(sys.prefix not in rwkplus.__file__)"], empty)


def try_sdist(sdist: Path) -> None:
    """Unpack the sdist, and run the quick tests in it."""
    print(f"{sdist.name}: its own tests", flush=True)
    with TemporaryDirectory() as folder:
        with tarfile.open(sdist) as packed:
            packed.extractall(folder, filter="data")
        (unpacked,) = Path(folder).iterdir()
        several = ["--numprocesses", "2"] if find_spec("xdist") else []
        _run([sys.executable, "-m", "pytest", "-q", "-m", "not slow", *several], unpacked, PYTHONPATH=str(unpacked))


def _run(command: list[str | Path], folder: Path | None = None, **variables: str) -> None:
    """Run a command as a user would, who has no checkout on the path and has downloaded nothing."""
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "RWKPLUS_DATA")}
    subprocess.run(command, check=True, cwd=folder, env=environment | variables)


if __name__ == "__main__":
    dist = Path(sys.argv[1]).resolve()
    (the_wheel,), (the_sdist,) = dist.glob("*.whl"), dist.glob("*.tar.gz")
    for one in sys.argv[2:] or extras():
        try_wheel(the_wheel, one)
    if not sys.argv[2:]:
        try_sdist(the_sdist)
