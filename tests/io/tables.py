"""Small random tables of graphs, with all kinds of columns."""

import numpy as np
from hypothesis import strategies as st

from rwkplus.table import Categories, GraphTable, Numbers, Text
from rwkplus.table.columns import plain_values, pointers

WORDS = ["C", "N", "O", "", "ä\n,", "nan"]


@st.composite
def columns(draw, size, wide=True):
    """Columns of labels, whole numbers, numbers with gaps and, if wanted, rows of numbers."""
    kinds = draw(st.sets(st.sampled_from(["label", "how", "times", "amount", *(["x"] if wide else [])])))
    numbers = st.sampled_from([0.25, -1.5, 3.0, np.nan])

    def rows(values):
        return draw(st.lists(values, min_size=size, max_size=size))

    made = {
        "label": lambda: Categories.of(rows(st.sampled_from([*WORDS, None]))),
        "how": lambda: Categories.of(rows(st.sampled_from([True, False, None]))),
        "times": lambda: Numbers(np.array(rows(st.integers(-5, 5)), dtype=np.int64)),
        "amount": lambda: Numbers(np.array(rows(numbers), dtype=np.float64)),
        "x": lambda: Numbers(np.array(rows(st.tuples(numbers, numbers)), dtype=np.float64).reshape(size, 2)),
    }
    return {kind: made[kind]() for kind in sorted(kinds)}


@st.composite
def graph_tables(draw, *, multigraph=False, wide=True):
    """Tables of one to four graphs; an undirected edge stands once unless ``multigraph`` is wanted."""
    sizes = draw(st.lists(st.integers(1, 4), min_size=1, max_size=4))
    directed = draw(st.booleans())
    edges, edge_sizes = [], []
    for size in sizes:
        pair = st.tuples(*[st.integers(0, size - 1)] * 2)
        unique = None if multigraph or directed else (lambda ends: tuple(sorted(ends)))
        own = draw(st.lists(pair, max_size=5, unique_by=unique) if unique else st.lists(pair, max_size=5))
        edges += own
        edge_sizes.append(len(own))
    ends = np.array(edges, dtype=np.int32).reshape(-1, 2)
    graphs, nodes = {}, draw(columns(sum(sizes), wide))
    if draw(st.booleans()):
        graphs["name"] = Text.of(f"g{i}" for i in draw(st.permutations(range(len(sizes)))))
    if draw(st.booleans()):
        graphs["y"] = draw(st.sampled_from([Numbers(np.arange(len(sizes))), Categories.of("ab"[: len(sizes)] * 2)]))
        graphs["y"] = graphs["y"].take(np.arange(len(sizes)) % len(graphs["y"]))
    if draw(st.booleans()):
        made = draw(st.sampled_from([lambda k: f"v{k}", lambda k: 3 * k + 1]))
        nodes["id"] = Text.of(made(k) for size in sizes for k in range(size))
    edge_columns = draw(columns(len(ends), wide and len(ends) > 0))  # frames without rows do not know widths
    weight = "times" if "times" in edge_columns and draw(st.booleans()) else None
    return GraphTable(
        pointers(sizes),
        pointers(edge_sizes),
        ends[:, 0],
        ends[:, 1],
        graphs,
        nodes,
        edge_columns,
        directed,
        weight,
        ("y",) if "y" in graphs else (),
    )


def options_of(table, **more):
    """Options that read the frames of a table as they were."""
    return {"directed": table.directed, "weight": table.weight, **more}


def renamed(column, names):
    """The same labels with codes for other names, which include those in use."""
    place = np.array([*map(list(names).index, column.names), -1])
    return Categories.numbered(place[column.codes], names)


def to_igraph(table):
    """Graphs of igraph with all columns as attributes; ids of nodes are the attribute ``name``."""
    import igraph

    nodes = {"name" if name == "id" else name: plain_values(column) for name, column in table.nodes.items()}
    edges = {name: plain_values(column) for name, column in table.edges.items()}
    about = {name: plain_values(column) for name, column in table.graphs.items()}
    graphs = []
    for i in range(len(table)):
        rows = slice(int(table.node_ptr[i]), int(table.node_ptr[i + 1]))
        span = slice(int(table.edge_ptr[i]), int(table.edge_ptr[i + 1]))
        graphs.append(
            igraph.Graph(
                n=rows.stop - rows.start,
                edges=np.stack([table.source[span], table.target[span]], 1).tolist(),
                directed=table.directed,
                graph_attrs={name: values[i] for name, values in about.items()},
                vertex_attrs={name: values[rows] for name, values in nodes.items()},
                edge_attrs={name: values[span] for name, values in edges.items()},
            )
        )
    return graphs
