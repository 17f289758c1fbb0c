"""The page as a browser sees it: no sideways scrolling, wide or narrow, and every picture visible."""

import re
import shutil
import subprocess

import pytest

from rwkplus.datasets import planted_molecules
from rwkplus.mining import PatternMiner
from rwkplus.reports import mining_report

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
MEASURE = """<script>document.title = [
  document.documentElement.scrollWidth, window.innerWidth,
  [...document.querySelectorAll("svg")].filter(s => s.getBoundingClientRect().width < 60).length,
  performance.getEntriesByType("resource").length].join(" ")</script>"""


@pytest.mark.slow
@pytest.mark.skipif(BROWSER is None, reason="needs Chromium or Chrome")
@pytest.mark.parametrize("width", [1200, 500])
def test_the_page_fits_the_window(tmp_path, width):
    graphs = planted_molecules(30)
    y = graphs.y.tolist()
    miner = PatternMiner(3, criterion="blocks", n_controls=0, beam_width=6).fit(graphs, y)
    page = tmp_path / "page.html"
    page.write_text(mining_report(miner, graphs, "a-long-name-without-any-blank-" * 5).replace("</body>", MEASURE))
    seen = subprocess.run(
        [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}",
         f"--window-size={width},900", "--dump-dom", page.as_uri()],
        capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    title = re.search(r"<title>(.*?)</title>", seen.stdout)[1]
    needed, available, invisible, requests = map(int, title.split())
    assert needed <= available
    assert invisible == 0
    assert requests == 0
