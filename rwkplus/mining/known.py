"""Which of some known groups mined patterns contain."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import networkx as nx
from networkx.algorithms.isomorphism import GraphMatcher, categorical_edge_match, categorical_node_match

from rwkplus.mining.patterns import Pattern


class Finding(NamedTuple):
    """Where a known group turned up."""

    pattern: int  # index of the smallest pattern that contains it
    further_nodes: int  # nodes that this pattern has beyond the group


def find_known(patterns: Sequence[Pattern], groups: Mapping[str, nx.Graph]) -> dict[str, Finding | None]:
    """Look for known groups, as graphs with attribute ``label``, among mined patterns; None where none has it."""
    return {name: _smallest(patterns, group) for name, group in groups.items()}


def _smallest(patterns: Sequence[Pattern], group: nx.Graph) -> Finding | None:
    found = [Finding(k, pattern.size - len(group)) for k, pattern in enumerate(patterns) if _contains(pattern, group)]
    return min(found, key=lambda finding: finding.further_nodes, default=None)


def _contains(pattern: Pattern, group: nx.Graph) -> bool:
    matcher = GraphMatcher(
        pattern.to_networkx(),
        group,
        node_match=categorical_node_match("label", None),
        edge_match=categorical_edge_match("label", None),
    )
    return bool(matcher.subgraph_is_monomorphic())
