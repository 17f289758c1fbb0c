import sys

import pytest

from rwkplus.errors import DataError, GraphError, MissingExtraError
from rwkplus.graphs import as_batch, from_smiles, read_smiles
from rwkplus.graphs.smiles import BONDS

pytest.importorskip("rdkit", reason="RDKit is the extra 'chem'")


def bonds(graph):
    """Bonds as strings such as C=O, each once."""
    atoms = [graph.node_label_names[i] for i in graph.x.argmax(1)]
    return sorted(
        atoms[u] + graph.edge_label_names[kind] + atoms[v]
        for (u, v), kind in zip(graph.edge_index.t().tolist(), graph.edge_attr.argmax(1).tolist(), strict=True)
        if u < v
    )


@pytest.mark.parametrize(
    ("smiles", "expected"),
    [
        ("CCO", ["C-C", "C-O"]),
        ("C=O", ["C=O"]),
        ("C#N", ["C#N"]),
        ("c1ccccc1", ["C:C"] * 6),
        ("c1ccccc1C", ["C-C"] + ["C:C"] * 6),
        ("N->[Fe]", ["N~Fe"]),
        ("C", []),
        ("[Na+].[Cl-]", []),
    ],
)
def test_bonds_are_read(smiles, expected):
    assert bonds(from_smiles([smiles])[0]) == expected


def test_bonds_appear_in_both_directions():
    (graph,) = from_smiles(["C=CO"])
    rows = dict(zip(map(tuple, graph.edge_index.t().tolist()), graph.edge_attr.tolist(), strict=True))
    assert set(rows) == {(0, 1), (1, 0), (1, 2), (2, 1)}
    assert all(rows[u, v] == rows[v, u] for u, v in rows)


def test_elements_are_columns_shared_by_all_molecules():
    ethanol, chlorine = from_smiles(["CCO", "ClCl"])
    assert ethanol.node_label_names == chlorine.node_label_names == ("C", "Cl", "O")
    assert ethanol.x.argmax(1).tolist() == [0, 0, 2]
    assert chlorine.x.argmax(1).tolist() == [1, 1]


def test_bond_columns_do_not_depend_on_the_molecules():
    (methane,) = from_smiles(["C"])
    assert methane.edge_label_names == BONDS == ("-", "=", "#", ":", "~")
    assert methane.edge_attr.shape == (0, 5)


def test_single_atoms_and_no_atoms_pass_the_door():
    batch = as_batch(from_smiles(["C", "", "CC"]))
    assert batch.ptr.tolist() == [0, 1, 1, 3]


@pytest.mark.parametrize("text", ["C1CC", "Xx", "C(C", "not smiles", "C(C)(C)(C)(C)C", None, 3])
def test_what_rdkit_cannot_read_is_named_with_its_index(text):
    with pytest.raises(GraphError) as caught:
        from_smiles(["CCO", "C", text])
    assert "molecule 2" in str(caught.value)
    assert repr(text) in str(caught.value)


def test_rdkit_does_not_write_to_the_terminal(capfd):
    with pytest.raises(GraphError):
        from_smiles(["C1CC"])
    assert capfd.readouterr() == ("", "")


def test_an_iterator_is_enough():
    assert len(from_smiles(iter(["C", "CC"]))) == 2


def test_without_rdkit_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "rdkit", None)
    with pytest.raises(MissingExtraError, match=r"rwkplus\[chem\]"):
        from_smiles(["C"])


def test_a_single_smiles_is_not_taken_apart():
    with pytest.raises(GraphError, match="put it into a list"):
        from_smiles("CCO")


@pytest.mark.parametrize(
    ("second", "expected"),
    [
        (["1", "0", "1", "0"], [1, 0, 1, 0]),
        (["1.5", "2", "0", "-1"], [1.5, 2.0, 0.0, -1.0]),
        (["yes", "no", "yes", "no"], ["yes", "no", "yes", "no"]),
        (["ethanol", "water", "methane", "ammonia"], None),
        (["1_1", "1_2", "2_1", "2_2"], None),
    ],
)
def test_second_words_are_targets_unless_they_are_names(tmp_path, second, expected):
    path = tmp_path / "molecules.smi"
    path.write_text("".join(f"{smiles} {word}\n" for smiles, word in zip(("CCO", "O", "C", "N"), second, strict=True)))
    found = [graph.get("y") for graph in read_smiles(path)]
    assert [y.item() if hasattr(y, "item") else y for y in found] == (expected or [None] * 4)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"CCO 1\n\nC1CC[nH]C( 0\n", "line 3: .*nH"),
        (b"smiles label\nCCO 1\n", "line 1: .*header"),
        (b"CCO 1\nC\nN 0\n", "line 2: a target is missing behind the SMILES; line 1 has one"),
        (b"\xff\xfe", "not text in UTF-8"),
        (None, "directory"),
    ],
)
def test_files_that_cannot_be_read_are_named_with_the_line(tmp_path, content, message):
    path = tmp_path / "molecules.smi"
    path.mkdir() if content is None else path.write_bytes(content)
    with pytest.raises(DataError, match=message):
        read_smiles(path)


def test_names_may_have_several_words(tmp_path):
    path = tmp_path / "molecules.smi"
    path.write_text("CCO ethyl alcohol\nC\tmethane (a gas) \nO\n")
    assert [graph.name for graph in read_smiles(path)] == ["ethyl alcohol", "methane (a gas)", "O"]
