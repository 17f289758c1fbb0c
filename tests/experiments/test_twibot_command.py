import typer
from typer.testing import CliRunner

from experiments.twibot_graph import twibot_graph
from rwkplus.large.csr_graph import CSRGraph
from tests.experiments.twibot_raw.raw import write_raw


def test_raw_files_become_a_graph(tmp_path):
    app = typer.Typer()
    app.command()(twibot_graph)
    command = [str(write_raw(tmp_path / "raw")), "--out", str(tmp_path / "graph"), "--encoder", "hashing"]
    result = CliRunner().invoke(app, command, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    assert "30 users, 26.7% of them bots" in result.output
    assert "(1 with an unknown end left out)" in result.output
    assert CSRGraph.open(tmp_path / "graph").facts["encoder"] == "hashing"
