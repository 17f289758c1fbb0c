from dataclasses import replace
from itertools import islice

import networkx as nx
import numpy as np
import pytest

from experiments import planted_payments as experiment
from experiments.payments import HIGH, Planted, agreement, payment_database, payment_pattern
from experiments.planted_payments import planted_payments_section, run_planted_payments
from rwkplus.mining import Pattern
from rwkplus.mining.pattern_parts import Condition, Occurrences

TRIANGLE = nx.DiGraph()
TRIANGLE.add_nodes_from((v, {"label": v}) for v in range(3))
TRIANGLE.add_edge(0, 1, label="wire", high=True)
TRIANGLE.add_edge(1, 2, label="card", high=False)
TRIANGLE.add_edge(0, 2, label="card", high=False)
PLANTED = Planted(TRIANGLE, {(0, 1): [5_000.0, 8_000.0]})
USUAL = [float(amount) for amount in range(1, 101)]


def mined(conditions, edges=((1, 0, "wire"), (0, 2, "card"), (1, 2, "card"))):
    where = Occurrences(np.array([0]), np.array([[0, 1, 2]]))
    judged = ("maximal", 1.0, 1, 1, where, 0.5, 0.5, 0.5)
    return Pattern(("1", "0", "2"), edges, *judged, directed=True, edge_conditions=conditions)


HIGH_ONLY = ((Condition("amount", 1_000.0, None),), (), ())


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        (mined(HIGH_ONLY), (True, True, True)),
        (mined(()), (True, False, False)),
        (mined((*HIGH_ONLY[:2], (Condition("amount", None, 1_000.0),))), (True, True, False)),
        (mined(((Condition("amount", 6_000.0, None),), (), ())), (True, False, False)),  # misses a planted amount
        (mined(((Condition("amount", 50.0, None),), (), ())), (True, False, False)),  # half of the usual meet it
        (mined(HIGH_ONLY, ((0, 1, "wire"), (0, 2, "card"), (1, 2, "card"))), (False, False, False)),
        (mined(HIGH_ONLY, ((1, 0, "card"), (0, 2, "card"), (1, 2, "card"))), (False, False, False)),
    ],
)
def test_a_pattern_agrees_in_graph_directions_channels_and_conditions(pattern, found):
    assert agreement(pattern, PLANTED, USUAL) == found


def test_symmetric_places_are_tried():
    star = nx.DiGraph()
    star.add_nodes_from((v, {"label": 0}) for v in range(3))
    star.add_edge(0, 1, label="wire", high=False)
    star.add_edge(0, 2, label="wire", high=True)
    edges = ((0, 1, "wire"), (0, 2, "wire"))
    pattern = replace(mined((HIGH_ONLY[0], ()), edges), labels=("0", "0", "0"))
    assert agreement(pattern, Planted(star, {(0, 2): [6_000.0]}), USUAL).exact


def test_conspicuous_amounts_are_those_of_planted_edges():
    rng = np.random.default_rng(0)
    pattern = payment_pattern(6, rng, cyclic=True, attributed=True)
    payments = payment_database([pattern], rng, attributed=True, num_graphs=20, distortion=0.1)
    high = [edge for *edge, conspicuous in pattern.edges(data="high") if conspicuous]
    (planted,) = payments.planted
    assert len(high) == (pattern.number_of_edges() + 1) // 2
    assert sorted(planted.amounts) == sorted(map(tuple, high))
    assert all(HIGH[0] <= amount <= HIGH[1] for amounts in planted.amounts.values() for amount in amounts)
    amounts = [amount for graph in payments.graphs for *_, amount in graph.edges(data="amount")]
    assert len(amounts) == len(payments.usual) + sum(map(len, planted.amounts.values()))
    assert all(nx.is_weakly_connected(graph) for graph in payments.graphs)


def test_a_small_run_is_written_and_shown(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(experiment, "SIZES", (4,))
    monkeypatch.setattr(experiment, "_cells", lambda: islice([("attributed", True, 1, 4, 0.0)], 1))
    monkeypatch.setattr(experiment, "_false_alarm", lambda seed, attributed: False)
    (row,) = run_planted_payments(2)
    assert row["exact"] == 2
    page = planted_payments_section()
    assert "| attributed | 1 cyclic | 4 | 100% | 100% | 100% |" in page
    assert "0 of 100 (directed), 0 of 100 (attributed)" in page
