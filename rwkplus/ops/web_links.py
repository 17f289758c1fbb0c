"""Links of a generated web graph, node by node: the same node always links to the same others."""

from typing import Any

import numpy as np
from numba import njit

from rwkplus.loops.random_streams import advance, stream, uniform


@njit(cache=True, nogil=True)
def draw_links(begin: int, end: int, key: Any, links: Any, group: Any, habits: Any, places: Any) -> Any:
    """Sources and targets of all links that the nodes from ``begin`` to ``end - 1`` make.

    Args:
        begin: First node.
        end: One after the last.
        key: Names the draw.
        links: Number of links each node makes: ``(N,)``.
        group: Which habits a node has: ``(N,)``.
        habits: Cumulative shares of links that go anywhere, into the community and into the farm: ``(groups, 3)``.
        places: For each of these three, members ``(n,)`` in the order of their groups, cumulative popularity
            ``(n + 1,)``, and for every node the first and last place of its own group: ``(N,)`` each.
    """
    total = links[begin:end].sum()
    source, target = np.empty(total, np.int64), np.empty(total, np.int64)
    e = 0
    for v in range(begin, end):
        state = stream(key, v)
        for _ in range(links[v]):
            state = advance(state)
            kind = np.searchsorted(habits[group[v]], uniform(state), side="right")
            members, popularity, first, last = places[kind]
            low, high = popularity[first[v]], popularity[last[v]]
            state = advance(state)
            place = np.searchsorted(popularity, low + (high - low) * uniform(state), side="right") - 1
            source[e], target[e] = v, members[min(max(place, first[v]), last[v] - 1)]
            e += 1
    return source, target
