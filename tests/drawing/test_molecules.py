import re
from xml.etree import ElementTree

import networkx as nx
import pytest

from rwkplus.drawing import draw, graphs_to_draw, label_colors, molecules
from rwkplus.drawing.molecules import is_molecule
from rwkplus.table import GraphTable, Reader

pytest.importorskip("rdkit", reason="RDKit draws molecules")


def molecule(smiles):
    table = GraphTable.of([smiles])
    return graphs_to_draw(Reader.fit(table).labelled(table))[0]


def picture(graph, **options):
    return ElementTree.fromstring(draw(graph, label_colors(label for _, label in graph.nodes(data="label")), **options))


def letters(drawn):
    return [text.text for text in drawn.iter("text")]


def test_chemists_see_letters_where_atoms_are_not_carbon():
    assert letters(picture(molecule("CC(=O)Nc1ccc(Cl)cc1"))) == ["O", "N", "Cl"]
    assert letters(picture(molecule("CC"))) == []


def test_no_hydrogens_are_made_up():
    assert letters(picture(molecule("CO"))) == ["O"]


def test_every_atom_has_a_spot_for_the_mouse_with_its_key():
    graph = molecule("CCO")
    spots = picture(graph, keys={2: "x"}).findall(".//circle")
    assert [spot.find("title").text for spot in spots] == ["C 0", "C 1", "O 2"]
    assert [spot.get("data-k") for spot in spots] == [None, None, "x"]


def test_what_is_highlighted_lies_on_a_bright_ground():
    graph = molecule("CCCO")
    assert 'stroke-width="18"' not in draw(graph, label_colors("CO"))
    ground = re.search(r'<g[^>]*stroke-width="18".*?</g>', draw(graph, label_colors("CO"), highlighted=[2, 3]))[0]
    assert ground.count("<path") == 3  # two atoms and their bond
    weak = draw(graph, label_colors("CO"), strength={0: 0.0, 1: 0.0, 2: 0.5, 3: 1.0})
    assert weak.count('opacity="0.50"') == 2


def test_patterns_that_are_no_whole_molecules_are_drawn_as_they_are():
    part = nx.Graph([(0, 1), (1, 2)])
    nx.set_node_attributes(part, dict(enumerate("CNO")), "label")
    nx.set_edge_attributes(part, ":", "label")
    assert letters(picture(part)) == ["N", "O"]
    nx.set_node_attributes(part, dict(enumerate(["C", "F", "O"])), "label")
    nx.set_edge_attributes(part, "#", "label")  # no such molecule
    assert letters(picture(part)) == ["F", "O"]


@pytest.mark.parametrize(
    "change",
    [
        lambda graph: graph.to_directed(),
        lambda graph: nx.MultiGraph([*graph.edges(data=True), (0, 1, {"label": "-"})]),
        lambda graph: nx.set_node_attributes(graph, {0: "Q"}, "label") or graph,
        lambda graph: nx.set_edge_attributes(graph, "cites", "label") or graph,
        lambda graph: nx.set_edge_attributes(graph, 0.5, "weight") or graph,
        lambda graph: nx.set_node_attributes(graph, {0: "charge < 0"}, "conditions") or graph,
        lambda graph: graph.add_edge(0, 0, label="-") or graph,
        lambda graph: graph.edge_subgraph([]),
    ],
)
def test_all_else_is_drawn_as_graphs(change):
    assert is_molecule(molecule("CCO"))
    assert not is_molecule(change(molecule("CCO")))


def test_without_rdkit_there_are_drawings_too(monkeypatch):
    monkeypatch.setattr(molecules, "_elements", dict)
    drawn = picture(molecule("CCO"))
    assert letters(drawn) == ["C", "C", "O"]
    assert len(drawn.findall(".//circle")) == 3


def test_drawings_are_small():
    aspirin = molecule("CC(=O)Oc1ccccc1C(=O)O")
    assert len(draw(aspirin, label_colors("CO"))) < 5000
