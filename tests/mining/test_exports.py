import sys

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from networkx.algorithms.isomorphism import GraphMatcher, categorical_edge_match, categorical_node_match
from rdkit import Chem

from rwkplus.errors import DataError, MissingExtraError
from rwkplus.mining import Condition, Pattern
from rwkplus.mining.pattern_parts import Occurrences
from rwkplus.table import GraphTable

MOLECULES = [
    "CCO", "c1ccccc1C(=O)O", "C[N+](=O)[O-]", "c1ccc2[nH]ccc2c1", "C#N", "[2H]C([2H])=O", "[H][H]", "N->[Cu]", "C$C",
    "*c1ccncc1", "[Na+].[Cl-].CC=CC", "C1=CC=CC=C1C1CC1", "O=c1cc[nH]cc1", "CC(C)(C)Cl", "[Cu]~C", "F/C=C/F",
    "CS(=O)(=O)N",
]  # fmt: skip
NODES, EDGES = categorical_node_match("label", None), categorical_edge_match("label", None)


def pattern(labels, *edges, **more):
    places = Occurrences(np.array([0]), np.arange(len(labels))[None])
    return Pattern(tuple(labels), tuple(edges), "maximal", 1.0, 1, 1, places, 1.0, 1.0, 1.0, **more)


PAID = pattern(
    ["shop", "bank", "shop"],
    (1, 0, "cash"),
    (0, 1, "card"),
    (1, 2, "cash"),
    directed=True,
    node_conditions=((), (Condition("balance", None, 0.0),), ()),
    edge_conditions=((), (Condition("amount", 50, 200), Condition("hour", 12.5, None)), ()),
)


# Conditions


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [
        (10_000, None, "amount >= 10,000"),
        (None, 50.0, "amount < 50"),
        (2026, 9999.5, "amount 2026 to 9999.5"),
        (50, 200, "amount 50 to 200"),
        (0.1, 0.25, "amount 0.1 to 0.25"),
        (-1_234_567.5, None, "amount >= -1,234,567.5"),
        (None, 1e-7, "amount < 1e-07"),
    ],
)
def test_conditions_are_told_in_words(low, high, words):
    assert str(Condition("amount", low, high)) == words


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_cut_is_written_so_that_it_can_be_read_again(cut):
    assert float(str(Condition("x", cut, None)).removeprefix("x >= ").replace(",", "")) == cut


# networkx


@pytest.mark.parametrize(
    ("edges", "directed", "kind"),
    [
        ([(0, 1, "a")], False, nx.Graph),
        ([(0, 1, "a"), (0, 1, "b")], False, nx.MultiGraph),
        ([(0, 1, "a"), (1, 0, "a")], True, nx.DiGraph),
        ([(0, 1, "a"), (0, 1, "b")], True, nx.MultiDiGraph),
    ],
)
def test_networkx_has_a_class_for_every_pattern(edges, directed, kind):
    graph = pattern("xy", *edges, directed=directed).to_networkx()
    assert type(graph) is kind
    assert sorted(graph.edges(data="label")) == sorted(edges)


def test_networkx_tells_conditions_where_there_are_any():
    graph = PAID.to_networkx()
    assert dict(graph.nodes(data="conditions")) == {0: None, 1: "balance < 0", 2: None}
    assert graph.edges[0, 1] == {"label": "card", "conditions": "amount 50 to 200, hour >= 12.5"}
    assert graph.edges[1, 0] == {"label": "cash"}
    assert PAID.to_data().num_nodes == 3


# SMARTS


@st.composite
def parts_of_molecules(draw):
    """A molecule and a connected part of one, as a pattern; labelled bonds or none."""
    table = GraphTable.of(MOLECULES)
    graph = table[draw(st.integers(0, len(MOLECULES) - 1))].to_networkx()[0]
    size = draw(st.integers(2, 9))
    start = draw(st.sampled_from(sorted(graph)))
    kept, fringe = [start], set(graph[start])
    while fringe and len(kept) < size:
        kept.append(draw(st.sampled_from(sorted(fringe))))
        fringe = {w for v in kept for w in graph[v]} - set(kept)
    labelled = draw(st.booleans())
    part = nx.convert_node_labels_to_integers(graph.subgraph(kept))
    part.remove_edges_from([e for e in nx.Graph(part).edges if draw(st.integers(0, 4)) == 0])
    part = nx.convert_node_labels_to_integers(part.subgraph(max(nx.connected_components(part), key=len)))
    labels = [part.nodes[v]["label"] for v in range(len(part))]
    edges = [(min(u, v), max(u, v), label if labelled else None) for u, v, label in part.edges(data="label")]
    return pattern(labels, *edges)


@given(parts_of_molecules())
@settings(max_examples=150, deadline=None)
def test_smarts_finds_a_pattern_where_it_occurs(part):
    """Single, double, triple, aromatic and other bonds, isotopes, hydrogens, charges and any atom."""
    query = Chem.MolFromSmarts(part.to_smarts())
    shape = part.to_networkx()
    edges = EDGES if any(label for _, _, label in part.edges) else None
    for text, graph in zip(MOLECULES, GraphTable.of(MOLECULES).to_networkx(), strict=True):
        expected = GraphMatcher(graph, shape, NODES, edges).subgraph_is_monomorphic()
        molecule = Chem.MolFromSmiles(text)
        assert molecule.HasSubstructMatch(query) == expected
        assert molecule.HasSubstructMatch(part.to_mol()) == expected


def test_atoms_of_the_query_have_the_order_of_the_nodes():
    amide = pattern("ONC", (0, 2, "="), (1, 2, "-"))
    assert Chem.MolFromSmiles("CC(=O)N").GetSubstructMatch(amide.to_mol()) == (2, 3, 1)


BENZENE = [(v, v + 1, ":") for v in range(5)] + [(0, 5, ":")]
KEKULE = [(v, v + 1, "-="[v % 2]) for v in range(5)] + [(0, 5, "=")]


@pytest.mark.parametrize(
    ("labels", "edges", "smiles"),
    [
        ("CO", [(0, 1, "=")], "C=O"),
        ("CCCCCC", BENZENE, "c1ccccc1"),
        ("CCCCCN", BENZENE, "c1ccncc1"),
        ("CCCCCCC", [*BENZENE, (0, 6, "-")], "Cc1ccccc1"),
        ("C*", [(0, 1, "-")], "*C"),
    ],
)
def test_a_molecule_has_smiles(labels, edges, smiles):
    assert pattern(labels, *edges).to_smiles() == smiles
    assert pattern(labels, *edges).short_name == smiles


@pytest.mark.parametrize(
    ("labels", "edges", "name"),
    [
        ("CCC", [(0, 1, ":"), (1, 2, ":")], "path C:C:C"),
        ("CNOO", [(0, 1, "-"), (1, 2, "="), (1, 3, "-")], "star N(=O, C, O)"),
        ("CCCCCC", KEKULE, "6-ring C-C=C-C=C-C=(back)"),
        ("CN", [(0, 1, None)], "path C-N"),
        ("CN", [(0, 1, "~")], "path C~N"),
        ("HC", [(0, 1, "-")], "path C-H"),
    ],
    ids=["part of a ring", "charges left out", "aromatic in truth", "any bond", "other bond", "hydrogen"],
)
def test_a_part_of_molecules_has_no_smiles(labels, edges, name):
    part = pattern(labels, *edges)
    with pytest.raises(DataError, match=r"to_smarts\(\)"):
        part.to_smiles()
    assert Chem.MolFromSmarts(part.to_smarts()) is not None
    assert part.short_name == name


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (pattern(["R", "C"], (0, 1, "-")), "'R': not elements"),
        (pattern("CC", (0, 1, "card")), "'card': not elements or bonds"),
        (pattern("CC", (0, 1, "-"), directed=True), "are directed"),
        (pattern("CC", (0, 1, "-"), (0, 1, "=")), "or parallel"),
        (pattern("CC", (0, 1, "-"), node_conditions=((), (Condition("mass", 2, 5),))), "conditions"),
    ],
)
def test_what_is_no_part_of_a_molecule_is_told(other, message):
    for export in (other.to_mol, other.to_smarts, other.to_smiles):
        with pytest.raises(DataError, match=message):
            export()


def test_without_rdkit_the_extra_is_named(monkeypatch):
    carbonyl = pattern("CO", (0, 1, "="))
    monkeypatch.setitem(sys.modules, "rdkit", None)
    for export in (carbonyl.to_mol, carbonyl.to_smarts, carbonyl.to_smiles):
        with pytest.raises(MissingExtraError, match=r"rwkplus\[chem\]"):
            export()
    assert carbonyl.short_name == "path C=O"


# Cypher


def test_cypher_asks_for_labels_directions_conditions_and_distinct_nodes():
    assert PAID.to_cypher().split("\n") == [
        "MATCH (n1:`bank`)-[r0:`cash`]->(n0:`shop`), (n0)-[r1:`card`]->(n1), (n1)-[r2:`cash`]->(n2:`shop`)",
        "WHERE n0 <> n1 AND n0 <> n2 AND n1 <> n2 AND n1.`balance` < 0"
        " AND r1.`amount` >= 50 AND r1.`amount` < 200 AND r1.`hour` >= 12.5",
        "RETURN n0, n1, n2",
    ]
    assert pattern("ab", (0, 1, None)).to_cypher().startswith("MATCH (n0:`a`)-[r0]-(n1:`b`)\n")


def test_names_cannot_break_out_of_cypher():
    hostile = "`) DETACH DELETE n //\n'\"\\u0060) MATCH\u2028"
    query = pattern([hostile, "b"], (0, 1, hostile)).to_cypher()
    assert query.count("\n") == 2
    name = "```) DETACH DELETE n //\\u000A'\"\\u005Cu0060) MATCH\\u2028`"
    assert query.startswith(f"MATCH (n0:{name})-[r0:{name}]-(n1:`b`)\n")
    with pytest.raises(DataError, match="empty"):
        pattern(["", "b"], (0, 1, None)).to_cypher()


# matplotlib


@pytest.fixture
def plt(monkeypatch):
    monkeypatch.setenv("MPLBACKEND", "agg")
    from matplotlib import pyplot

    pyplot.switch_backend("agg")
    yield pyplot
    pyplot.close("all")


@pytest.mark.parametrize(
    "shown",
    [
        PAID,
        pattern("CO", (0, 1, "=")),
        pattern(["a$b$", "c_{"], (0, 1, "$x$"), (0, 1, "y")),
        pattern("abc", (0, 1, None), (1, 2, None), (0, 2, None), directed=True),
    ],
)
def test_a_plot_shows_labels_edges_and_conditions(plt, shown):
    ax = plt.figure().add_subplot()
    assert shown.plot(ax) is ax
    ax.figure.canvas.draw()
    words = {text.get_text().replace(r"\$", "$") for text in ax.texts}
    told = "\n".join(words)
    assert all(label in told for label in shown.labels)
    assert all(label in told for _, _, label in shown.edges if label not in (None, "="))  # which is drawn
    assert all(str(part) in told for own in (*shown.node_conditions, *shown.edge_conditions) for part in own)
    heads = [patch for patch in ax.patches if type(patch).__name__ == "Polygon"]
    assert len(heads) == len(shown.edges) * shown.directed
    assert shown.plot().figure is not ax.figure


def test_without_matplotlib_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.delitem(sys.modules, "rwkplus.drawing.plots", raising=False)
    with pytest.raises(MissingExtraError, match=r"rwkplus\[plot\]"):
        PAID.plot()


def test_labels_cannot_command_a_terminal_or_a_notebook():
    hostile = pattern(["\x1b[2J", "<script>\u202e"], (0, 1, None))
    for text in (str(hostile), hostile._repr_html_()):
        assert not {"\x1b", "\u202e"} & set(text)
        assert r"\x1b[2J" in text
    assert "<script" not in hostile._repr_html_()
