"""The frame of every page: good on a phone, in print and without a network."""

from html import escape
from pathlib import Path

from rwkplus.files import write_whole

STYLE = """
:root { color-scheme: light; }
body { font: 16px/1.5 system-ui, sans-serif; color: #1d2327; background: #fff; }
body { max-width: 62rem; margin: 0 auto; padding: 1rem; }
h1 { font-size: 1.5rem; margin: .5rem 0; }
h2 { font-size: 1.15rem; margin: 0 0 .25rem; overflow-wrap: anywhere; }
p.lead { color: #4a555c; margin-top: 0; }
section { border-top: 1px solid #d8dde0; padding: 1rem 0; break-inside: avoid; }
section { display: grid; grid-template-columns: minmax(9rem, 13rem) 1fr; gap: 1rem; }
section > svg { width: 100%; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .1rem .8rem; margin: .25rem 0; }
dt { color: #4a555c; }
dd { margin: 0; font-variant-numeric: tabular-nums; }
.examples { display: grid; grid-template-columns: repeat(auto-fill, minmax(8.5rem, 1fr)); gap: .5rem; }
figure { margin: 0 0 .5rem; }
.legend { display: flex; flex-wrap: wrap; gap: .2rem 1rem; font-size: .85rem; }
.legend i { display: inline-block; width: .7rem; height: .7rem; border-radius: 50%; margin-right: .3rem; }
figcaption { font-size: .8rem; color: #4a555c; text-align: center; }
.curves { display: grid; grid-template-columns: repeat(auto-fit, minmax(15rem, 1fr)); gap: 1rem; max-width: 56rem; }
summary { cursor: pointer; margin: .5rem 0; }
@media print { body { max-width: none; } section { grid-template-columns: 10rem 1fr; } }
@media (max-width: 34rem) {
  section { grid-template-columns: 1fr; }
  section > svg { max-width: 14rem; margin: auto; }
}
"""


def page(title: str, body: str) -> str:
    """Return a self-contained page."""
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{STYLE}</style></head><body>"
        f"<h1>{escape(title)}</h1>{body}</body></html>"
    )


def write_page(path: str | Path, text: str) -> Path:
    """Write a page, whole or not at all; folders are made."""
    return write_whole(path, text)
