"""What several tests of RandomWalkKernel choose from."""

import networkx as nx
import pytest
from hypothesis import strategies as st

from tests.strategies import colored_graphs

STEPS = 3
WALK_KERNELS = pytest.mark.parametrize("kernel", ["rwk+", "rwk-"])
WALKS = pytest.mark.parametrize("walks", ["open", "closed"])
ROUTES = pytest.mark.parametrize("route", ["explicit", "blocks"])


def databases(strategy=colored_graphs, min_size=2, **fields):
    return st.lists(strategy(min_nodes=0, max_nodes=4, **fields), min_size=min_size, max_size=4)


def labelled(graph, labels):
    nx.set_node_attributes(graph, dict(zip(graph, labels, strict=True)), "label")
    return graph
