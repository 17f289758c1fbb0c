"""What all drawings share: the frame, text that is nothing but text, and keys by which pages link nodes."""

from html import escape
from typing import Any

import numpy as np

from rwkplus.files import visible

ZOOM = 1.25
"""Pixels on a page for a pixel of a drawing."""


def frame(low: Any, high: Any, title: str) -> str:  # noqa: ANN401
    """The opening tag of a picture that reaches from one corner to the other.

    >>> frame((0, 0), (20, 10), "edge")
    '<svg class="graph" viewBox="0 0 20 10" width="25" height="12" role="img" aria-label="edge">'
    """
    (left, top), (width, height) = np.floor(low), np.ceil(high) - np.floor(low)
    return (
        f'<svg class="graph" viewBox="{left:.0f} {top:.0f} {width:.0f} {height:.0f}" width="{width * ZOOM:.0f}" '
        f'height="{height * ZOOM:.0f}" role="img" aria-label="{told(title)}">'
    )


def told(*words: object) -> str:
    """Words as text of SVG and HTML, also as the value of an attribute.

    >>> told("<b>", None, 3)
    '&lt;b&gt; 3'
    """
    return escape(visible(" ".join(str(word) for word in words if word not in (None, ""))))


def node_key(key: object) -> str:
    """The attribute by which a page links nodes.

    >>> node_key(3), node_key(None)
    (' data-k="3"', '')
    """
    return "" if key is None else f' data-k="{told(key)}"'
