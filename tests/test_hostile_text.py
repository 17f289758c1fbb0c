"""Names, labels and columns from outside are text and nothing but text wherever people read them."""

import json
import re
from html.parser import HTMLParser

import pytest

from experiments.pages import table as markdown_table
from rwkplus import GraphTable, PatternMiner, SurpriseDetector
from rwkplus.cli.commands.view import pages
from rwkplus.cli.options import Reading
from rwkplus.reports.page import script
from tests.cli.program import invoke

pytestmark = pytest.mark.slow

MARKUP = "<:title><script>alert(1)</script><img src=x onerror='alert(1)'>\"><svg onload=alert(1)>"
COMMANDS = "\x1b[2J\x1b]8;;http:x\x07\x9b31m\u202e\u2066\u200f"
BAD = f"[b]\x1b[2J{MARKUP}{COMMANDS}"
SPELLED = r"\x1b[2J\x1b]8;;http:x\x07\x9b31m\u202e\u2066\u200f"


class Seen(HTMLParser):
    """What a browser makes of a page: tags, attributes, scripts, and text that people see."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.attributes, self.scripts, self.text, self.inside = set(), set(), [], [], ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.inside = tag
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attributes}

    def handle_endtag(self, tag):
        self.inside = ""

    def handle_data(self, data):
        (self.scripts if self.inside == "script" else self.text).append(data)


def check_page(page, ours=()):
    """Refuse a page on which a name has become markup, or could turn or hide what stands beside it."""
    seen = Seen(page)
    assert seen.scripts == [*ours]
    assert not seen.tags & {"img", "iframe", "object", "embed", "base", "meta"} - ({"meta"} if ours else set())
    assert not [name for name in seen.attributes if name.startswith("on")]
    check_text(page)
    assert "<script>alert(1)</script>" in "".join(seen.text) or "<:title><script>alert" in "".join(seen.text)


def check_text(text):
    assert not set(COMMANDS) - set("[2J8;http:x31m]") & set(text)


@pytest.mark.parametrize("broken", [MARKUP, f"<p title='{BAD}'>", "<img src=x>", "<b onclick=x>", "a\u202e", "\x1b[2J"])
def test_the_check_notices_names_that_are_not_text(broken):
    with pytest.raises(AssertionError):
        check_page(f"<p>&lt;script&gt;alert(1)&lt;/script&gt;{broken}</p>")


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """Graphs in which whatever has a name has a bad one, the file included."""
    path = tmp_path_factory.mktemp("bad") / f"{BAD.replace('/', ':')}.jsonl"
    lines = []
    for i in range(20):
        nodes = [{"id": f"{v}{BAD}", "kind": BAD if v else f"other {BAD}", BAD: BAD} for v in range(4)]
        ends = [(0, 1), (1, 2), (2, 0), (2, 3)] if i else [(0, 1), (0, 2), (0, 3)]
        edges = [{"source": nodes[u]["id"], "target": nodes[v]["id"], BAD: BAD} for u, v in ends]
        lines.append(json.dumps({"id": f"{i}{BAD}", "y": f"{i % 2}{BAD}", "nodes": nodes, "edges": edges}))
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def printed(path):
    """What commands print, and the folders of their reports beside the data."""
    mined, flagged = path.with_name("mined"), path.with_name("flagged")
    return {
        "describe": invoke("describe", path),
        "mine": invoke("mine", path, "--controls", "0", "--patterns", "2", "--out", mined),
        "detect": invoke("detect", path, "--contamination", "0.05", "--out", flagged),
    }


@pytest.mark.parametrize("command", ["describe", "mine", "detect"])
def test_in_a_terminal(printed, command):
    check_text(printed[command])
    assert r"[b]\x1b[2J" in re.sub(r"\s", "", printed[command])  # long ones are cut


@pytest.mark.parametrize("folder", ["mined", "flagged"])
@pytest.mark.parametrize("address", ["/", "/graphs", "/graph/0"])
def test_on_pages_of_reports_and_of_view(path, printed, folder, address):
    asked = {"id": MARKUP} if address == "/graphs" else {}
    page = pages(str(path.with_name(folder)), None, Reading({}))(address, asked)
    check_page(page, [script()])
    assert SPELLED in page


def test_in_notebooks(path):
    table = GraphTable.of(path)
    miner = PatternMiner(1, n_controls=0).fit(table)
    detector = SurpriseDetector(0.05).fit(table)
    for shown in (table._repr_html_(), miner.patterns_[0]._repr_html_()):
        check_page(shown)
        assert SPELLED in shown
    check_text(detector._repr_mimebundle_()["text/html"])
    for written in (repr(table), repr(miner.patterns_[0]), str(miner.patterns_[0])):
        check_text(written)


def test_in_markdown():
    _, _, row = markdown_table(["name", "value"], [[f"{BAD}|a\nb", 1]]).splitlines()
    check_text(row)
    assert row.endswith(rf"{SPELLED}\|a b | 1 |")
    assert Seen(row).tags == set()
