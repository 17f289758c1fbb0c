"""``rwkplus describe``."""

from collections.abc import Iterator, Mapping
from typing import Any

from rich.table import Table

from rwkplus.cli.console import out, print_json
from rwkplus.cli.options import Dataset, Json, Reading, reads_graphs

MANY = 60
"""Characters of a list that are shown."""


@reads_graphs
def describe(dataset: Dataset, as_json: Json = False, *, reading: Reading) -> None:
    """Show what is in your data: sizes, columns, labels, targets, missing values, duplicates.

    The options for reading graphs are the same in all commands. Try them here first.
    """
    from rwkplus.reports import describe_graphs

    facts = describe_graphs(reading.load(dataset, without_labels="nothing"))
    if as_json:
        print_json({"dataset": dataset, **facts})
        return
    kind = "directed" if facts["directed"] else "undirected"
    out.print(f"{dataset}: {facts['graphs']:,} {kind} graph{'' if facts['graphs'] == 1 else 's'}", soft_wrap=True)
    out.print(_sizes(facts))
    out.print()
    if facts["columns"]:
        out.print(_columns(facts))
        out.print()
    for line in _remarks(facts):
        out.print(line)


def _sizes(facts: Mapping[str, Any]) -> Table:
    table = Table(box=None)
    for column in ("", "total", "smallest", "median", "mean", "largest"):
        table.add_column(column, justify="right" if column else "left")
    for name, what in (("nodes", "nodes per graph"), ("edges", "edges per graph"), ("degree", "edges per node")):
        own = facts[name]
        total = "" if name == "degree" else f"{own['total']:,}"
        table.add_row(
            what, total, f"{own['smallest']:,}", f"{own['median']:,.4g}", f"{own['mean']:,.4g}", f"{own['largest']:,}"
        )
    return table


def _columns(facts: Mapping[str, Any]) -> Table:
    table = Table("of", "column", "kind", box=None)
    table.add_column("missing", justify="right")
    table.add_column("values", overflow="fold")
    targets = {own["name"]: own for own in facts["targets"]}
    for own in facts["columns"]:
        found = targets.get(own["name"], own) if own["kind"] == "target" else own
        missing = f"{own['missing']:,}" if own["missing"] else ""
        table.add_row(own["of"], own["name"], own["kind"], missing, _values(found))
    return table


def _values(own: Mapping[str, Any]) -> str:
    if "classes" in own:
        return f"{len(own['classes'])} classes: {_counts(own['classes'])}"
    if "labels" in own:
        more = ", ..." if own["labels"] > len(own["counts"]) else ""
        return f"{own['labels']:,} label{'' if own['labels'] == 1 else 's'}: {_counts(own['counts'])}{more}"
    if "lowest" in own:
        return f"{own['lowest']:.4g} to {own['highest']:.4g}, mean {own['mean']:.4g}"
    if "distinct" in own:
        return f"{own['distinct']:,} distinct"
    return f"{own['width']} numbers" if own["width"] > 1 else "all missing"


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in counts.items())


def _remarks(facts: Mapping[str, Any]) -> Iterator[str]:
    """What is worth knowing, a line each."""
    for key, one, more in (
        ("unconnected_nodes", "node has no edges.", "nodes have no edges."),
        ("loops", "edge is a self-loop.", "edges are self-loops."),
        ("graphs_with_parallel_edges", "graph has parallel edges.", "graphs have parallel edges."),
    ):
        if facts[key]:
            yield f"{facts[key]:,} {one if facts[key] == 1 else more}"
    twice = facts["duplicates"]
    if twice["graphs"]:
        groups = "; ".join(" = ".join(map(str, group)) for group in twice["examples"])
        shown = groups if len(groups) <= MANY else f"{groups[:MANY]} ..."
        yield f"{twice['graphs']:,} graphs have a duplicate, apart from the order of nodes and from numbers: {shown}"
    if not facts["targets"]:
        yield "There is no target. To predict or contrast a column, name it with --target-column."
    yield _compared(facts["compared"])


def _compared(sides: Mapping[str, Any]) -> str:
    if "error" in sides:
        return f"Kernels, miners and detectors cannot use these graphs yet: {sides['error']}"
    labels = [f"{side}.{name}" for side, own in sides.items() for name in own["labels"]]
    numbers = [f"{side}.{name}" for side, own in sides.items() for name in own["numbers"]]
    if not labels and not numbers:
        return "Nodes and edges have no labels or attributes: commands use the degree of a node as its label."
    compared = f"Kernels, miners and detectors compare {', '.join([*labels, *numbers])}. Use --ignore to leave one out."
    if not numbers:
        return compared
    return f"{compared} Miners and detectors cut numbers into intervals; kernels multiply them."
