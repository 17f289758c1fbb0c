"""Molecules as chemists draw them, by RDKit where it is installed."""

import re
from collections import defaultdict
from collections.abc import Mapping
from functools import cache
from typing import Any

import networkx as nx
import numpy as np

from rwkplus.drawing.layout import Place
from rwkplus.drawing.palette import MARKS, NONE, legible, rgb
from rwkplus.drawing.svg import frame, node_key, told

ORDERS = {"-": "SINGLE", "=": "DOUBLE", "#": "TRIPLE", ":": "AROMATIC"}
BOND = 30.0
"""Length of a bond, in pixels."""
MARK = f"light-dark({MARKS[0]},{MARKS[1]})"
PATH = re.compile(r"<path[^>]* d='([^']*)' style='([^']*)'")
TEXT = re.compile(r"<text[^>]* class='atom-(\d+)'")
STROKE = re.compile(r"stroke:#(\w{6})")


@cache
def _elements() -> dict[str, int]:
    """Numbers of the elements by their symbols; none without RDKit."""
    try:
        from rdkit.Chem import GetPeriodicTable
    except ImportError:
        return {}
    table = GetPeriodicTable()
    return {table.GetElementSymbol(number): number for number in range(1, 119)}


def is_molecule(graph: nx.Graph) -> bool:
    """Whether RDKit can draw a graph: nodes are elements, and each edge is one bond without anything else.

    >>> bond = nx.Graph([(0, 1, {"label": "="})])
    >>> nx.set_node_attributes(bond, "C", "label")
    >>> is_molecule(bond), is_molecule(nx.Graph([(0, 1)]))
    (True, False)
    """
    bonds = [fields for _, _, fields in graph.edges(data=True)]
    return (
        bool(bonds)
        and not graph.is_directed()
        and not graph.is_multigraph()
        and not nx.number_of_selfloops(graph)
        and all(fields.get("label") in ORDERS and not {"weight", "conditions"} & fields.keys() for fields in bonds)
        and not any(asked for _, asked in graph.nodes(data="conditions"))
        and {label for _, label in graph.nodes(data="label")} <= _elements().keys()
    )


def depict(
    graph: nx.Graph, colors: Mapping[str, str], marked: Mapping[Any, float], title: str, keys: Mapping[Any, object]
) -> str:
    """Draw a molecule; atoms that are ``marked``, and the bonds between them, lie on a bright ground as strong as that.

    Hydrogens are drawn only where the graph has them, and charges not at all, as graphs do not tell them.
    """
    from rdkit.Chem.Draw import rdMolDraw2D

    drawer = rdMolDraw2D.MolDraw2DSVG(-1, -1, -1, -1, True)  # as large as it needs, and letters as text
    options = drawer.drawOptions()
    options.prepareMolsBeforeDrawing = False  # type: ignore[assignment]
    options.clearBackground = False  # type: ignore[assignment]
    options.fixedBondLength = options.scalingFactor = BOND  # type: ignore[assignment]
    options.setAtomPalette({-1: (0.0, 0.0, 0.0)} | _atom_colors(graph, colors))
    drawer.DrawMolecule(_molecule(graph))
    drawer.FinishDrawing()
    places = [drawer.GetDrawCoords(i) for i in range(len(graph))]
    at = {v: (point.x, point.y) for v, point in zip(graph, places, strict=True)}
    text = drawer.GetDrawingText()
    lettered = {int(i) for i in TEXT.findall(text)}
    parts = [_ground(graph, at, marked), _bonds(text), _letters(graph, at, lettered, colors)]
    spots = "".join(
        f'<circle cx="{at[v][0]:.1f}" cy="{at[v][1]:.1f}" r="9"{node_key(keys.get(v))}>'
        f"<title>{told(fields['label'], fields.get('name'))}</title></circle>"
        for v, fields in graph.nodes(data=True)
    )
    corners = np.array(list(at.values()))
    head = frame(corners.min(0) - 13, corners.max(0) + 13, title)
    return f'{head}{"".join(parts)}<g class="n" fill="transparent">{spots}</g></svg>'


def _atom_colors(graph: nx.Graph, colors: Mapping[str, str]) -> dict[int, tuple[float, ...]]:
    """Red, green and blue by the number of an element; carbon is as black as text."""
    chosen = {label: colors.get(label, NONE) for label in set(_labels(graph)) - {"C"}}
    return {_elements()[label]: tuple(part / 255 for part in rgb(color)) for label, color in chosen.items()}


def _labels(graph: nx.Graph) -> list[str]:
    return [label for _, label in graph.nodes(data="label")]


def _molecule(graph: nx.Graph) -> Any:  # noqa: ANN401
    """Atoms and bonds as they are, without any hydrogens or rules of valence, at places in a plane."""
    from rdkit import Chem
    from rdkit.Chem import rdDepictor

    molecule, number = Chem.RWMol(), {v: i for i, v in enumerate(graph)}
    for label in _labels(graph):
        atom = Chem.Atom(label)
        atom.SetNoImplicit(True)
        molecule.AddAtom(atom)
    for u, v, label in graph.edges(data="label"):
        i, j = number[u], number[v]
        molecule.AddBond(i, j, getattr(Chem.BondType, ORDERS[label]))
        if label == ":":
            molecule.GetBondBetweenAtoms(i, j).SetIsAromatic(True)
            molecule.GetAtomWithIdx(i).SetIsAromatic(True)
            molecule.GetAtomWithIdx(j).SetIsAromatic(True)
    molecule.UpdatePropertyCache(strict=False)
    Chem.FastFindRings(molecule)
    rdDepictor.Compute2DCoords(molecule, canonOrient=True)
    return molecule


def _ground(graph: nx.Graph, at: Mapping[Any, Place], marked: Mapping[Any, float]) -> str:
    """A bright band below what is marked."""
    ways = [(at[u], at[v], min(marked[u], marked[v])) for u, v in graph.edges() if marked]
    ways += [(at[v], (at[v][0] + 0.1, at[v][1]), strength) for v, strength in marked.items()]
    lines = [
        f'<path d="M{a:.1f} {b:.1f}L{x:.1f} {y:.1f}"' + ("/>" if strength >= 1 else f' opacity="{strength:.2f}"/>')
        for (a, b), (x, y), strength in ways
        if strength > 0
    ]
    return f'<g style="stroke:{MARK}" stroke-width="18" stroke-linecap="round">{"".join(lines)}</g>' if lines else ""


def _bonds(text: str) -> str:
    """RDKit's lines, those of one color and kind as one path."""
    paths: dict[tuple[str, bool], list[str]] = defaultdict(list)
    for way, style in PATH.findall(text):
        color = STROKE.search(style)
        if color is not None:
            shorter = way.replace("M ", "M").replace(" L ", "L").replace(",", " ")
            paths[color[1].lower(), "dasharray" in style].append(shorter)
    drawn = [
        f'<path d="{"".join(ways)}"'
        + ("" if color == "000000" else f' style="stroke:{legible("#" + color)}"')
        + (' stroke-dasharray="4 3"/>' if dashed else "/>")
        for (color, dashed), ways in paths.items()
    ]
    return f'<g fill="none" stroke="currentColor" stroke-width="1.7" stroke-linejoin="round">{"".join(drawn)}</g>'


def _letters(graph: nx.Graph, at: Mapping[Any, Place], lettered: set[int], colors: Mapping[str, str]) -> str:
    """Symbols of the elements, where RDKit has letters instead of a corner."""
    letters = [
        f'<text x="{at[v][0]:.1f}" y="{at[v][1]:.1f}" dy=".35em"'
        + (">" if label == "C" else f' style="fill:{legible(colors.get(label, NONE))}">')
        + f"{label}</text>"
        for i, (v, label) in enumerate(graph.nodes(data="label"))
        if i in lettered
    ]
    return f'<g fill="currentColor" font-size="13" text-anchor="middle">{"".join(letters)}</g>' if letters else ""
