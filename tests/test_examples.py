"""Every example of the gallery runs as it stands, on smaller data where it says how."""

import runpy
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

EXAMPLES = Path(__file__).parents[1] / "examples"
SMALLER = {
    "RWKPLUS_EXAMPLE_NODES": "20000",
    "RWKPLUS_EXAMPLE_EPOCHS": "3",
    "RWKPLUS_EXAMPLE_EVERY": "8",
    "RWKPLUS_EXAMPLE_CONTROLS": "1",
}
"""Settings of examples that would take long; the pages of the gallery are built without them."""


@pytest.mark.parametrize("path", sorted(EXAMPLES.rglob("*.py")), ids=lambda path: f"{path.parent.name}/{path.stem}")
@pytest.mark.filterwarnings("ignore")
def test_example_runs_and_draws(path, tmp_path, monkeypatch, capsys):
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    for name, value in SMALLER.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    shown = []
    monkeypatch.setattr(plt, "show", lambda: (shown.extend(plt.get_fignums()), plt.close("all")))
    runpy.run_path(str(path), run_name="__main__")
    assert shown
    assert capsys.readouterr().out
    assert not list(tmp_path.iterdir()), "leaves files behind"
