"""Pages as people use them: in a browser, wide and narrow, light and dark, by mouse, keyboard and without a script."""

import threading
import time
from pathlib import Path

import networkx as nx
import pytest

from rwkplus.cli.server import Server
from rwkplus.datasets import anomalous_molecules, payment_cases, planted_molecules
from rwkplus.detect import SurpriseDetector
from rwkplus.mining import PatternMiner
from rwkplus.reports import write_detection_report, write_mining_report
from rwkplus.reports.gallery import Gallery
from tests.browser import BROWSER, Browser

pytestmark = [pytest.mark.slow, pytest.mark.skipif(BROWSER is None, reason="needs Chromium or Chrome")]
CONTRAST = Path(__file__).with_name("contrast.js").read_text(encoding="utf-8")
TOO_WIDE = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    molecules = planted_molecules(40)
    miner = PatternMiner(4, criterion="blocks", n_controls=0, beam_width=6).fit(molecules, molecules.y)
    name = "a-long-name-without-any-blank-" * 4
    payments = payment_cases(60)
    frauds = PatternMiner(2, 4, criterion="contrast", n_controls=0).fit(payments, payments.y)
    spoiled = anomalous_molecules(60)[0]
    detector = SurpriseDetector(0.1).fit(spoiled)
    return {
        "mining": write_mining_report(folder / "mining.html", miner, molecules, name),
        "payments": write_mining_report(folder / "payments.html", frauds, payments, "payments"),
        "detection": write_detection_report(folder / "detection.html", detector, spoiled, "spoiled"),
    }


@pytest.fixture(scope="module")
def one_browser():
    with Browser() as browser:
        yield browser


@pytest.fixture
def browser(one_browser):
    one_browser.window(1200)
    one_browser.complaints.clear()
    one_browser.asked.clear()
    yield one_browser
    assert one_browser.complaints == []


@pytest.mark.parametrize("name", ["mining", "payments", "detection"])
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [1440, 360])
def test_pages_fit_the_window_and_can_be_read(browser, pages, name, width, dark):
    browser.window(width, dark=dark)
    browser.open(pages[name])
    assert browser.run(TOO_WIDE) == 0
    assert browser.run(CONTRAST)["found"] == []
    assert (
        browser.run("[...document.querySelectorAll('svg')].filter((s) => s.getBoundingClientRect().width < 40).length")
        == 0
    )
    assert browser.asked == [pages[name].as_uri()]


@pytest.mark.parametrize("width", [1300, 1100, 360])
def test_tables_of_classes_are_seen_to_their_last_column(browser, pages, width):
    browser.window(width)
    browser.open(pages["payments"])
    hidden = "[...document.querySelectorAll('section .scroll')].map((e) => e.scrollWidth - e.clientWidth)"
    assert set(browser.run(hidden)) == {0}


@pytest.mark.parametrize("selector", ["p.lead", "svg > g > g > text", "svg > g > text", ".share"])
def test_text_that_cannot_be_read_is_noticed(browser, pages, tmp_path, selector):
    path, style = tmp_path / "page.html", f"{selector} {{ color: #9ab; fill: #9ab }}</style>"
    path.write_text(pages["payments"].read_text(encoding="utf-8").replace("</style>", style, 1), encoding="utf-8")
    browser.open(path)
    assert browser.run(CONTRAST)["found"] != []


@pytest.mark.parametrize("name", ["mining", "payments", "detection"])
def test_everything_is_there_without_a_script(browser, pages, name):
    browser.open(pages[name])
    figures = browser.run("document.querySelectorAll('figure').length")
    browser.window(1200, script=False)
    browser.open(pages[name])
    shown = (
        "[...document.querySelectorAll('figure')].filter((f) => f.checkVisibility({visibilityProperty: true})).length"
    )
    assert browser.run(shown) == figures
    assert browser.run("[...document.querySelectorAll('button, input')].filter((e) => e.checkVisibility()).length") == 0
    assert browser.run(TOO_WIDE) == 0


def column(browser, k):
    value = f"row.cells[{k}].dataset.v ?? row.cells[{k}].textContent"
    return browser.run(f"[...document.querySelectorAll('#overview tbody tr')].map((row) => {value})")


def test_tables_are_sorted_by_the_head_of_a_column(browser, pages):
    browser.open(pages["mining"])
    browser.run("document.querySelector('#overview th:nth-child(5) button').click()")
    times = [float(v) for v in column(browser, 4)]
    assert times == sorted(times, reverse=True)
    assert len(set(times)) > 1
    assert browser.run("[...document.querySelectorAll('main > section')].map((s) => s.id)") == [
        f"s{k}" for k in column(browser, 0)
    ]
    browser.run("document.querySelector('#overview th:nth-child(5) button').click()")
    assert [float(v) for v in column(browser, 4)] == sorted(times)
    assert browser.run("document.querySelectorAll('[aria-sort]').length") == 1
    browser.run("document.querySelector('#overview th:nth-child(2) button').click()")
    assert browser.run("document.querySelector('#overview th:nth-child(2)').getAttribute('aria-sort')") == "ascending"


def test_words_filter_rows_and_sections(browser, pages):
    browser.open(pages["detection"])
    total = len(column(browser, 0))
    title = column(browser, 1)[1]
    browser.run("document.querySelector('#filter').focus()")
    browser.type(title.upper())
    rows = "[...document.querySelectorAll('#overview tbody tr')]"
    visible = browser.run(f"{rows}.filter((row) => !row.hidden).map((row) => row.cells[1].textContent)")
    assert title in visible
    assert len(visible) < total
    sections = browser.run("[...document.querySelectorAll('main > section')].filter((s) => s.checkVisibility()).length")
    assert sections == len(visible)
    assert browser.run("document.querySelector('#count').textContent") == f"{len(visible)} of {total}"


def on(browser):
    figures = "[...document.querySelector('.slides').querySelectorAll(':scope > figure')]"
    return browser.run(f"{figures}.findIndex((figure) => figure.classList.contains('on'))")


def test_the_keyboard_does_all(browser, pages):
    browser.open(pages["mining"])
    browser.press("Tab")
    assert browser.run("document.activeElement.id") == "theme"
    browser.press("Enter")
    assert browser.run("document.documentElement.dataset.theme") == "dark"
    assert browser.run(CONTRAST)["found"] == []
    browser.press("Tab")
    assert browser.run("document.activeElement.id") == "filter"
    browser.press("Tab")
    browser.press("Enter")
    assert browser.run("document.querySelectorAll('[aria-sort=descending]').length") == 1
    browser.run("document.querySelector('input[type=range]').focus()")
    assert on(browser) == 0
    browser.press("ArrowRight")
    assert on(browser) == 1
    browser.press("End")
    last = browser.run("document.querySelector('input[type=range]').max")
    assert on(browser) == int(last) > 1
    assert f"of {int(last) + 1}" in browser.run("document.querySelector('.slides output').textContent")
    browser.press("Tab")  # to the button after the slider, which begins anew
    browser.press("Enter")
    assert on(browser) == 0


def test_nodes_and_their_names_are_linked(browser, pages):
    browser.open(pages["payments"])
    browser.point("section .chips li")
    key = browser.run("document.querySelector('section .chips li').dataset.k")
    lit = "[...document.querySelectorAll('section#s1 .on[data-k]')].map((e) => e.dataset.k)"
    assert set(browser.run(lit)) == {key}
    assert len(browser.run(lit)) >= 3  # the name, the node and its place in the pattern
    browser.point("h1")
    assert browser.run(lit) == []
    browser.run("document.querySelector('section .chips li:nth-child(2)').focus()")
    assert len(set(browser.run(lit))) == 1


@pytest.fixture(scope="module")
def many():
    return Gallery(planted_molecules(500), "five hundred molecules")


@pytest.fixture
def served(many):
    with Server(lambda path, asked: many.graph(0) if path == "/graph/0" else many.page(asked), token="t") as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        yield server
        server.shutdown()


def test_five_hundred_graphs_are_small_and_quick(browser, many, served, tmp_path):
    page = many.page({"show": "500"})
    assert page.count("<figure>") == 500
    assert len(page.encode()) < 3_000_000
    path = tmp_path / "page.html"
    path.write_text(page, encoding="utf-8")
    waits = []
    for _ in range(3):
        browser.open(path)
        waits.append(browser.run("performance.getEntriesByType('navigation')[0].domInteractive"))
    assert min(waits) < 1000
    assert browser.run("document.documentElement.dataset.ready") == "yes"


@pytest.mark.parametrize(("width", "dark"), [(1440, False), (360, True)])
def test_the_gallery_is_paged_and_filtered(browser, served, width, dark):
    browser.window(width, dark=dark)
    browser.open(served.url)
    assert browser.run(TOO_WIDE) == 0
    assert browser.run(CONTRAST)["found"] == []
    assert browser.run("document.querySelectorAll('.gallery figure').length") == 24
    browser.seen.clear()
    browser.run("document.querySelector('[name=min]').value = 22; document.querySelector('form').requestSubmit()")
    end = time.monotonic() + 20
    while not browser.seen and time.monotonic() < end:
        browser._next()
    captions = browser.run("[...document.querySelectorAll('.gallery figcaption')].map((e) => e.textContent)")
    assert captions
    assert all(int(caption.split()[0]) >= 22 for caption in captions)
    browser.open(served.url.split("?")[0] + "graph/0")
    assert browser.run("document.querySelectorAll('table').length") == 2
    assert browser.run(TOO_WIDE) == 0
    assert {address.split("/")[2] for address in browser.asked} == {f"127.0.0.1:{served.server_port}"}


def test_hostile_text_does_nothing(browser, tmp_path):
    hostile = [
        "<script>window.bad=1</script>",
        "<img src=x onerror='window.bad=1'>",
        "</svg><svg onload='window.bad=1'>",
        "\u202eabc",
    ]
    graphs = []
    for i in range(12):
        graph = nx.path_graph(4)
        nx.set_node_attributes(graph, dict(enumerate(hostile)), "label")
        nx.set_edge_attributes(graph, "'\"><script>window.bad=1</script>", "label")
        graph.graph["name"] = f"<script>window.bad=1</script>{i}"
        graphs.append(graph)
    miner = PatternMiner(1, 3, criterion="blocks", n_controls=0).fit(graphs)
    path = write_mining_report(tmp_path / "page.html", miner, graphs, hostile[0])
    browser.open(path)
    assert browser.run("window.bad") is None
    assert browser.run("document.scripts.length") == 1
    assert hostile[0] in browser.run("document.querySelector('h1').textContent")
    assert browser.run("document.body.textContent.includes('\\u202e')") is False
