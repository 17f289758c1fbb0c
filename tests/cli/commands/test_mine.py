import pytest

from rwkplus.cli.commands.mine import Finding, find_known
from rwkplus.datasets import planted_groups
from rwkplus.files import read_json
from rwkplus.mining import Pattern
from tests.cli.program import invoke


def test_known_groups_are_found_in_the_smallest_pattern_that_has_them():
    nitro = Pattern(("N", "O", "O"), ((0, 1, "="), (0, 2, "-")), "blocks", 1.0, 1, 1, (), 1.0, 1.0, 1.0)
    larger = Pattern(
        ("C", "N", "O", "O"), ((0, 1, "-"), (1, 2, "="), (1, 3, "-")), "blocks", 1.0, 1, 1, (), 1.0, 1.0, 1.0
    )
    groups = planted_groups()
    assert find_known([larger, nitro], groups)["nitro"] == Finding(1, 0)
    assert find_known([larger], groups)["nitro"] == Finding(0, 1)
    assert find_known([larger], groups)["carboxyl"] is None


@pytest.mark.parametrize(("channel", "labels", "degrees"), [("card", {"0"}, False), ("", {"2"}, True)])
def test_nodes_go_by_their_degree_where_nothing_else_tells_anything(tmp_path, channel, labels, degrees):
    rows = [f"{i},{u},{v},{channel}" for i in range(20) for u, v in (*("ab", "bc", "ca"), ("d", "e"))]
    (tmp_path / "payments.csv").write_text("\n".join(["graph,source,target,channel", *rows]))
    leave_out = [] if channel else ["--ignore", "channel"]
    options = ["--out", tmp_path / "out", "--controls", 0, "--criterion", "blocks", *leave_out]
    invoke("mine", tmp_path / "payments.csv", *options)
    assert set(read_json(tmp_path / "out" / "patterns.json")["patterns"][0]["labels"]) == labels
    assert ("labeled by their degree" in (tmp_path / "out" / "report.html").read_text()) == degrees
    assert ("without_labels" in read_json(tmp_path / "out" / "graphs.json")["options"]) != degrees


def test_nothing_is_written_by_a_run_that_is_interrupted_before_the_end(tmp_path, monkeypatch, rwkplus):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("rwkplus.reports.mining._section", interrupted)
    options = ("--criterion", "blocks", "--patterns", 1, "--controls", 0)
    code, _, complaint = rwkplus("mine", "functional-groups", "--out", tmp_path / "out", *options)
    assert (code, complaint.strip()) == (130, "interrupted")
    assert not (tmp_path / "out").exists()
