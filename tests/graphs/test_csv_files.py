import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from rwkplus.data import load
from rwkplus.errors import DataError, ParameterError, RWKPlusError
from rwkplus.graphs import from_networkx, read_csv
from tests.strategies import real_graphs

PAYMENTS = "graph,source,target,label\nmonday,ann,bob,card\nmonday,bob,eve,cash\ntuesday,bob,ann,cash\n"
PEOPLE = "graph,node,label\nmonday,ann,buyer\nmonday,bob,shop\nmonday,eve,shop\ntuesday,ann,buyer\ntuesday,bob,shop\n"
FRAUD = "graph,y\ntuesday,yes\nmonday,no\n"


@pytest.fixture
def folder(tmp_path):
    for name, text in (("edges", PAYMENTS), ("nodes", PEOPLE), ("graphs", FRAUD)):
        (tmp_path / f"{name}.csv").write_text(text)
    return tmp_path


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(graphs=st.lists(real_graphs(edge_colors=True, edge_weights=True, directed=False), min_size=1, max_size=3))
def test_tables_and_networkx_give_the_same_graphs(tmp_path, graphs):
    nodes, edges = ["graph;node;x_1;x_2"], ["graph;source;target;attr_a;attr_b;weight"]
    for i, graph in enumerate(graphs):
        nodes += [f"g{i};v{v};{x[0]};{x[1]}" for v, x in graph.nodes(data="x")]
        edges += [f"g{i};v{u};v{v};{f['attr'][0]};{f['attr'][1]};{f['weight']}" for u, v, f in graph.edges(data=True)]
    assume(len(edges) > 1)  # a table without lines is refused
    (tmp_path / "nodes.csv").write_text("\n".join(nodes))
    (tmp_path / "edges.csv").write_text("\n".join(edges))
    for ours, theirs in zip(read_csv(tmp_path), from_networkx(graphs), strict=True):
        for field in ("x", "edge_index", "edge_attr", "edge_weight"):
            assert ours.get(field) is theirs.get(field) is None or ours[field].equal(theirs[field])


def test_a_folder_of_tables_is_a_database(folder):
    monday, tuesday = load(folder)
    assert [monday.y, tuesday.y] == ["no", "yes"]
    assert monday.node_label_names == ("buyer", "shop")
    assert monday.x.argmax(1).tolist() == [0, 1, 1]
    assert tuesday.edge_label_names == ("card", "cash")
    assert tuesday.edge_attr.argmax(1).tolist() == [1, 1]
    assert tuesday.edge_index.tolist() == [[0, 1], [1, 0]]


def test_edges_alone_are_enough_and_may_be_given_in_both_directions(tmp_path):
    path = tmp_path / "ring.csv"
    path.write_text("Source\tTarget\na\tb\nb\tc\nc\ta\n")
    once = read_csv(path)[0]
    path.write_text("\ufeffSource,Target\na,b\nb,a\nb,c\nc,b\nc,a\na,c\n")
    both = read_csv(path)[0]
    assert sorted(both.edge_index.t().tolist()) == sorted(once.edge_index.t().tolist())
    assert sorted(once.edge_index.t().tolist()) == [[0, 1], [0, 2], [1, 0], [1, 2], [2, 0], [2, 1]]
    assert load(path)[0].x.size(0) == 3


def test_directed_lines_are_edges_of_their_own(tmp_path):
    path = tmp_path / "payments.csv"
    path.write_text("source,target,weight\nann,bob,3\nann,bob,4\nbob,ann,1\n")
    graph = read_csv(path, directed=True)[0]
    assert graph.edge_index.tolist() == [[0, 0, 1], [1, 1, 0]]
    assert graph.edge_weight.tolist() == [3, 4, 1]


def test_two_nodes_of_a_multigraph_may_have_several_edges(tmp_path):
    path = tmp_path / "edges.csv"
    path.write_text("source,target,label\nann,bob,card\nbob,ann,cash\n")
    with pytest.raises(DataError, match="multigraph=True says so, or directed=True"):
        read_csv(path)
    for graph in (read_csv(tmp_path, multigraph=True)[0], load(path, multigraph=True)[0]):
        edges = zip(graph.edge_index.t().tolist(), graph.edge_attr.argmax(1).tolist(), strict=True)
        assert sorted(edges) == [([0, 1], 0), ([0, 1], 1), ([1, 0], 0), ([1, 0], 1)]
    assert load(tmp_path, directed=True)[0].edge_index.tolist() == [[0, 1], [1, 0]]


def test_what_is_no_table_of_edges_has_no_direction(tmp_path):
    (tmp_path / "molecules.smi").write_text("CCO\n")
    (tmp_path / "molecules.csv").write_text("smiles\nCCO\n")
    for name in ("molecules.smi", "molecules.csv"):
        for option in ("directed", "multigraph"):
            with pytest.raises(RWKPlusError, match="say what lines of a table of edges mean, leave them out"):
                load(tmp_path / name, **{option: True})
    with pytest.raises(ParameterError, match="functional-groups is no table of edges"):
        load("functional-groups", directed=True)


def test_molecules_with_targets(tmp_path):
    path = tmp_path / "molecules.csv"
    path.write_text("name,SMILES,y,batch\nethanol,CCO,0.5,1\nnitrogen,N#N,2,1\n")
    graphs = load(path, ignore=("batch",))
    assert [graph.num_nodes for graph in graphs] == [3, 2]
    assert [graph.y.item() for graph in graphs] == [0.5, 2.0]
    assert [graph.name for graph in graphs] == ["ethanol", "nitrogen"]
    with pytest.raises(DataError, match=r"column 'batch' would be lost.*ignore=\('batch',\)"):
        load(path)


@pytest.mark.parametrize(
    ("file", "before", "after", "message"),
    [
        ("edges", "graph,source", "graph,from", "edges.csv has no column 'source'"),
        ("edges", "target,label", "target,amount", "column 'amount' would be lost.*attr_amount"),
        ("edges", "target,label", "target,attr", "line 2: column 'attr' must be a number, got 'card'"),
        ("edges", "target,label", "target,source", "two columns are called 'source'"),
        ("edges", "bob,eve", "bob,", "line 3: column 'target' is empty"),
        ("edges", "bob,eve", "bob,joe", "line 3: column 'target' names the node 'joe', which .*nodes.csv"),
        ("edges", "bob,eve,cash", "bob,eve", "line 3: 3 cells, but the header has 4"),
        ("edges", "bob,eve,cash", "ann,bob,card", "line 3: the edge between 'ann' and 'bob' was in line 2"),
        ("edges", "bob,eve,cash", "bob,ann,cash", "line 3: the edge between 'bob' and 'ann' was in line 2"),
        ("edges", "bob,eve,cash", 'bob,"eve,cash', "not CSV"),
        ("edges", PAYMENTS, "", "is empty"),
        ("nodes", "graph,node", "day,node", "column 'day' would be lost"),
        ("nodes", "monday,eve", "monday,bob", "line 4: the node 'bob' was there before"),
        ("nodes", "eve,shop", "eve,", "line 4: column 'label' is empty"),
        ("nodes", PEOPLE, "node,label\nann,buyer\n", "only one of .* has a column 'graph'"),
        ("graphs", "tuesday,yes", "sunday,yes", "line 2: the graph 'sunday' has neither nodes nor edges"),
        ("graphs", "tuesday,yes", "monday,yes", "line 3: the graph 'monday' was there before"),
        ("graphs", "tuesday,yes\n", "", "no line for the graph 'tuesday'"),
    ],
)
def test_errors_name_file_line_and_column(folder, file, before, after, message):
    path = folder / f"{file}.csv"
    assert before in path.read_text()
    path.write_text(path.read_text().replace(before, after))
    with pytest.raises(ValueError, match=message):
        read_csv(folder)


@pytest.mark.parametrize(
    ("text", "message"),
    [("smiles\nCCO\nC1CC(\n", "line 3: molecule 1"), ("smiles,y\nCCO,1\nC,\n", "line 3: column 'y' is empty")],
)
def test_lines_of_wrong_molecules_are_named(tmp_path, text, message):
    path = tmp_path / "molecules.csv"
    path.write_text(text)
    with pytest.raises(DataError, match=message):
        read_csv(path)
    with pytest.raises(DataError, match="belong to files of edges"):
        read_csv(path, nodes=path)


@pytest.mark.parametrize(
    "text",
    [
        "\n\n" + PAYMENTS.replace(",", ";"),
        "sep=;\n" + PAYMENTS.replace(",", ";"),
        PAYMENTS.replace(",", ";").replace("\n", ";;\n"),
        PAYMENTS.replace("label", '"label"').replace(",", "\t"),
    ],
    ids=["blank lines first", "sep", "empty columns at the right", "tabs and quotes"],
)
def test_tables_as_spreadsheets_write_them(tmp_path, text):
    (tmp_path / "plain.csv").write_text(PAYMENTS)
    (tmp_path / "sheet.csv").write_text(text)
    for plain, sheet in zip(load(tmp_path / "plain.csv"), load(tmp_path / "sheet.csv"), strict=True):
        assert sheet.edge_attr.equal(plain.edge_attr)
        assert sheet.edge_label_names == plain.edge_label_names


def test_the_header_decides_what_cells_end_with(tmp_path):
    (tmp_path / "sheet.csv").write_text('source;target;"attr_amount, in euro"\nann;bob;3\nbob;eve;4\n')
    (graph,) = load(tmp_path / "sheet.csv")
    assert sorted(graph.edge_attr.flatten().tolist()) == [3, 3, 4, 4]


@pytest.mark.parametrize("column", ["label", "weight"])
def test_an_empty_cell_among_full_ones_is_named(tmp_path, column):
    (tmp_path / "edges.csv").write_text(f"source,target,{column}\na,b,1\nb,c,\n")
    with pytest.raises(DataError, match=f"line 3: column '{column}' is empty"):
        load(tmp_path / "edges.csv")


def test_graphs_keep_their_names(folder):
    assert [graph.name for graph in load(folder)] == ["monday", "tuesday"]
    (folder / "one.csv").write_text("source,target\na,b\n")
    assert "name" not in load(folder / "one.csv")[0]


def test_targets_need_names_of_graphs(tmp_path):
    (tmp_path / "edges.csv").write_text("source,target\nann,bob\n")
    (tmp_path / "graphs.csv").write_text("graph,y\n1,0\n")
    with pytest.raises(DataError, match=r"edges\.csv has no column 'graph', which .*graphs\.csv could refer to"):
        read_csv(tmp_path)


def test_spreadsheets_of_other_countries_have_decimal_commas(tmp_path):
    path = tmp_path / "molecules.csv"
    path.write_text("smiles;y\nCCO;1,15\nN#N;-2\n")
    assert [graph.y.item() for graph in read_csv(path)] == pytest.approx([1.15, -2.0])
    path.write_text("source;target;weight\na;b;0,5\n")
    assert read_csv(path)[0].edge_weight.tolist() == [0.5, 0.5]
    path.write_text('smiles,y\nCCO,"1,15"\nN#N,2\n')
    with pytest.raises(DataError, match="line 2: '1,15' has a decimal comma: write it with a point"):
        read_csv(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("source,target,weight\na,b,1e300\n", "line 2: column 'weight' must be a number below"),
        ("smiles,y\nC,1.5e300\n", r"the target 1\.5e\+300 is too large"),
    ],
)
def test_numbers_too_large_for_networks_are_refused(tmp_path, text, message):
    (tmp_path / "large.csv").write_text(text)
    with pytest.raises(DataError, match=message):
        read_csv(tmp_path / "large.csv")


def test_nodes_keep_their_names(folder):
    assert read_csv(folder)[0].node_names == ["ann", "bob", "eve"]


def test_a_single_name_to_ignore_is_not_taken_for_its_letters(folder):
    with pytest.raises(ParameterError, match="ignore must be a sequence of field names"):
        read_csv(folder, ignore="label")


@pytest.mark.parametrize("y", ["nan", "inf", "-Infinity", "1e999"])
def test_targets_that_are_no_numbers_are_refused(tmp_path, y):
    (tmp_path / "molecules.csv").write_text(f"smiles,y\nCC,1\nCCO,{y}\n")
    with pytest.raises(DataError, match=r"graph 1: the target -?(nan|inf) is no number"):
        read_csv(tmp_path / "molecules.csv")


def test_numbers_are_not_written_with_underscores(tmp_path):
    (tmp_path / "edges.csv").write_text("source,target,weight\na,b,1_0\n")
    with pytest.raises(DataError, match="line 2: column 'weight' must be a number, got '1_0'"):
        read_csv(tmp_path / "edges.csv")
    (tmp_path / "molecules.csv").write_text("smiles,y\nCC,1_0\nCCO,1_0\n")
    assert [graph.y for graph in read_csv(tmp_path / "molecules.csv")] == ["1_0", "1_0"]


def test_a_slip_of_the_pen_is_no_column_to_ignore(tmp_path):
    edges, nodes = tmp_path / "edges.csv", tmp_path / "nodes.csv"
    edges.write_text("source,target,page\na,b,1\n")
    nodes.write_text("node,label,age\na,x,1\nb,y,2\n")
    for ignore in (("lable", "page", "age"), ("label", "page", "aeg", "age", "pagee")):
        with pytest.raises(ParameterError, match="to ignore, but"):
            read_csv(edges, nodes=nodes, ignore=ignore)
    # What one table has may look like what another one has.
    assert len(read_csv(edges, nodes=nodes, ignore=("age", "page"))) == 1
