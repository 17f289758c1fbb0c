import re
from dataclasses import replace

from experiments import smarts
from rwkplus.mining import PatternMiner

NITRO = ["O=[N+]([O-])c1ccccc1", "O=[N+]([O-])c1ccc(C)cc1", "O=[N+]([O-])c1ccc(Cl)cc1C", "[nonsense"] * 12


def test_patterns_of_molecules_are_found_by_rdkit_where_they_are_counted(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(smarts, "SETS", {"nitro": lambda: NITRO})
    smarts.run_smarts(["nitro"], "blocks", 2)
    smarts.run_smarts(["nitro"], "blocks", 2)  # nothing is done twice
    page = smarts.smarts_page()
    assert "| nitro | 36 | blocks | 2 | 2 | 2 |" in page
    assert re.search(r"\| nitro \| blocks \| .*#7.* \| 36 \| 36 \|", page)


def test_another_support_is_told():
    smiles = smarts.readable(NITRO)
    (pattern,) = PatternMiner(1, criterion="blocks", n_controls=0).fit(smiles).patterns_
    other = replace(pattern, occurrences=replace(pattern.occurrences, graph=pattern.occurrences.graph * 0))
    first, second = smarts.compared(smiles, [pattern, other])
    assert first["same molecules"]
    assert not second["same molecules"]
