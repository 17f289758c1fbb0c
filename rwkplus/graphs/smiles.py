"""Molecules written as SMILES to graphs with element and bond labels (extra: ``chem``)."""

from collections.abc import Iterable
from pathlib import Path

import torch
from torch_geometric.data import Data

from rwkplus.errors import DataError, GraphError, MissingExtraError
from rwkplus.files import read_text
from rwkplus.graphs.graph_names import set_names
from rwkplus.graphs.targets import set_targets, typed
from rwkplus.graphs.vocabulary import Vocabulary

BONDS = ("-", "=", "#", ":", "~")
"""Single, double, triple, aromatic and any other bond; the order of the columns of ``edge_attr``."""


class SMILESError(GraphError):
    """A SMILES that RDKit cannot read."""

    def __init__(self, number: int, text: object) -> None:
        super().__init__(f"molecule {number}: RDKit cannot read the SMILES {text!r}. Correct or remove it.")
        self.number = number


def from_smiles(smiles: Iterable[str]) -> list[Data]:
    """Parse SMILES strings into graphs whose labels are elements and bond types.

    Hydrogens stay implicit; charges, isotopes and stereochemistry are not read. The elements found become the columns
    of ``x``, with their names in ``node_label_names``, so that sets parsed separately still fit together in the
    estimators.

    Example:
        >>> ethanol, nitrogen = from_smiles(["CCO", "N#N"])
        >>> ethanol.node_label_names, nitrogen.edge_attr[0].tolist()
        (('C', 'N', 'O'), [0.0, 0.0, 1.0, 0.0, 0.0])
    """
    if isinstance(smiles, str):
        raise GraphError(f"expected several SMILES, got the single one {smiles!r}: put it into a list.")
    try:
        from rdkit import Chem, rdBase
    except ImportError as error:
        raise MissingExtraError("reading SMILES needs RDKit: pip install 'rwkplus[chem]'.") from error
    bond_column = {
        bond: column
        for column, bond in enumerate(
            [Chem.BondType.SINGLE, Chem.BondType.DOUBLE, Chem.BondType.TRIPLE, Chem.BondType.AROMATIC]
        )
    }
    elements, ends, bonds = [], [], []
    with rdBase.BlockLogs():
        for i, text in enumerate(smiles):
            molecule = Chem.MolFromSmiles(text) if isinstance(text, str) else None
            if molecule is None:
                raise SMILESError(i, text)
            elements.append([atom.GetSymbol() for atom in molecule.GetAtoms()])
            ends.append([(b.GetBeginAtomIdx(), b.GetEndAtomIdx()) for b in molecule.GetBonds()])
            bonds.append([bond_column.get(b.GetBondType(), len(BONDS) - 1) for b in molecule.GetBonds()])
    vocabulary = Vocabulary.of(element for molecule in elements for element in molecule)
    bond_types = torch.eye(len(BONDS))
    graphs = []
    for atoms, pairs, kinds in zip(elements, ends, bonds, strict=True):
        one_way = torch.tensor(pairs, dtype=torch.long).view(-1, 2).t()
        graphs.append(
            Data(
                x=vocabulary.one_hot(atoms),
                edge_index=torch.cat([one_way, one_way.flip(0)], 1),
                edge_attr=bond_types[torch.tensor(kinds * 2, dtype=torch.long)],
                node_label_names=vocabulary.names,
                edge_label_names=BONDS,
            )
        )
    return graphs


def read_smiles(path: str | Path) -> list[Data]:
    """Read a file with a SMILES in every line; what follows it is the target, unless it names the molecule.

    Names are told from targets by hardly any occurring twice; numbers are targets. Whoever has numbers for names writes
    a table with columns ``smiles`` and ``name``, see :func:`rwkplus.graphs.read_csv`.
    """
    lines = enumerate(read_text(path).splitlines(), start=1)
    rows = [(number, line.split(maxsplit=1)) for number, line in lines if line.strip()]
    if not rows:
        raise DataError(f"{path} holds no SMILES.")
    try:
        graphs = from_smiles(words[0] for _, words in rows)
    except SMILESError as error:
        hint = " Is it a header? Remove the line." if error.number == 0 else ""
        raise DataError(f"{path}, line {rows[error.number][0]}: {error}{hint}") from error
    seconds = [words[1].strip() for _, words in rows if len(words) > 1]
    targets = typed(seconds) if seconds else None
    if targets is None:
        if seconds:
            set_names(graphs, [words[-1].strip() for _, words in rows])  # without a name, the SMILES
        return graphs
    if len(seconds) < len(rows):
        alone, beside = (next(n for n, words in rows if len(words) == count) for count in (1, 2))
        raise DataError(f"{path}, line {alone}: a target is missing behind the SMILES; line {beside} has one.")
    set_targets(graphs, targets)
    return graphs
