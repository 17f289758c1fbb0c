"""Large JSON arrays and tables, a piece at a time; whatever is wrong is told by file, line and column."""

import json
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.twibot_files import Table, stream_objects
from rwkplus.errors import DataError

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)
objects = st.lists(st.dictionaries(st.text(max_size=4), values, max_size=3), max_size=6)


@given(objects, st.integers(1, 9), st.sampled_from([None, 0, 2]), st.booleans())
def test_any_array_of_objects_is_read_in_chunks_of_any_size(tmp_path, array, chunk, indent, ascii_only):
    path = tmp_path / "array.json"
    path.write_text(json.dumps(array, indent=indent, ensure_ascii=ascii_only) + "\n", encoding="utf-8")
    found = list(stream_objects(path, chunk=chunk))
    assert [value for _, value in found] == array
    lines = path.read_text(encoding="utf-8").split("\n")
    assert all("{" in lines[line - 1] for line, _ in found)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[\n{"a": 1},\n{"a"', "line 3: the file ends inside this object: it was cut off .object number 2"),
        ('[\n{"a": 1},\n{"a": "b', "line 3: the file ends inside"),
        ('[\n{"a": 1}\n', "line 3: the file ends before its ']'"),
        ('[\n{"a": 1},', "line 2: the file ends inside"),
        ('[{"a": 1}\n{"a": 2}]', "line 2: expected ',' or ']'"),
        ('[{"a": 1},\n 7]', "line 2: expected an object"),
        ('[{"a": 1}] x', "line 1: there is more text"),
        ('[{"a": 1},\n{"a"\n 1}]', "line 3: Expecting ':' delimiter"),
        ('{"a": 1}', "line 1: the file must be a JSON array"),
        ("", "line 1: the file must be a JSON array"),
        ('[{"a": 1},\n{"a": ' + 5000 * "1" + "}]", "line 2: the object holds a number of thousands of digits"),
        ('[{"a": 1},\n{"a": ' + 100_000 * "[" + 100_000 * "]" + "}]", "line 2: the object is nested too deeply"),
    ],
)
@pytest.mark.parametrize("chunk", [3, 1_000_000])
def test_damaged_arrays_are_refused_by_line(tmp_path, text, message, chunk):
    path = tmp_path / "user.json"
    path.write_text(text)
    with pytest.raises(DataError, match=f"user.json, {message}"):
        list(stream_objects(path, chunk=chunk))


def test_files_that_cannot_be_read_are_named(tmp_path):
    with pytest.raises(DataError, match=r"none\.json cannot be read"):
        list(stream_objects(tmp_path / "none.json"))
    (tmp_path / "latin.json").write_bytes(b'[{"a": "b"},\n{"a": "\xff"}]')
    with pytest.raises(DataError, match=r"latin\.json, line 2: not UTF-8"):
        list(stream_objects(tmp_path / "latin.json"))
    with pytest.raises(DataError, match=r"none\.csv cannot be read"):
        Table(tmp_path / "none.csv", ["a"])


def test_memory_does_not_grow_with_the_file(tmp_path):
    path = tmp_path / "user.json"
    path.write_text(json.dumps([{"id": f"u{i}", "description": "x" * 1000} for i in range(8000)]))  # 8 MB
    tracemalloc.start()
    count = sum(1 for _ in stream_objects(path, chunk=1 << 16))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count == 8000
    assert peak < 1_000_000


cells = st.text("abc ,\"'\u2028é#", max_size=4)


@given(
    st.lists(st.tuples(cells, cells), max_size=8), st.integers(1, 30), st.booleans(), st.sampled_from(["\n", "\r\n"])
)
def test_any_table_is_read_in_blocks_of_any_size(tmp_path, rows, size, ends_with_break, line_break):
    import csv
    import io

    text = io.StringIO()
    csv.writer(text, lineterminator=line_break).writerows([("second", "first"), *rows])
    whole = text.getvalue() if ends_with_break or not rows else text.getvalue().removesuffix(line_break)
    path = tmp_path / "table.csv"
    path.write_bytes(whole.encode())
    blocks = list(Table(path, ["first", "second"], size=size).blocks())
    assert [tuple(row) for block in blocks for row in block.rows] == [(b, a) for a, b in rows]
    for i, block in enumerate(blocks):  # any block can be the first
        rest = list(Table(path, ["first", "second"], size=size).blocks(block.end, block.next_line))
        assert [row for later in rest for row in later.rows] == [row for later in blocks[i + 1 :] for row in later.rows]


def test_wrong_tables_are_refused_by_line(tmp_path):
    path = tmp_path / "edge.csv"
    path.write_text("id,label\na,b\nc\n")
    with pytest.raises(DataError, match=r"edge\.csv, line 3: 1 columns instead of 2 \(id, label\)\. Is the file cut"):
        list(Table(path, ["id", "label"]).blocks())
    with pytest.raises(DataError, match=r"edge\.csv, line 1: there is no column 'split'; there are: id, label"):
        Table(path, ["id", "split"])
    path.write_bytes(b"id,label\na,b\n\xff,c\n")
    with pytest.raises(DataError, match=r"edge\.csv, line 3: not UTF-8"):
        list(Table(path, ["id", "label"]).blocks())
    for lines in (1, 200_000):
        path.write_text('id,label\na,"b' + lines * "\nc" + '",d\n')
        with pytest.raises(DataError, match=r"edge\.csv, line 2: a quoted value goes over several lines"):
            list(Table(path, ["id", "label"]).blocks())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("id,label\ra,b\r", "line 1: there is a carriage return inside"),
        ("id,label\na,b\nc,\rd\n", "line 3: there is a carriage return inside"),
        ('id,label\na,b\nc,d\ne,"f\ng,h\n', "line 4: a quoted value goes over several lines"),
        ('id,label\na,b\nc,"d\n', "line 3: a quoted value goes over several lines"),
        (f"id,label\na,b\nc,{'d' * 200_000}\n", "line 3: its 200,002 characters are too many"),
    ],
)
def test_lines_that_are_no_rows_are_named(tmp_path, text, message):
    path = tmp_path / "edge.csv"
    path.write_bytes(text.encode())
    with pytest.raises(DataError, match=rf"edge\.csv, {message}.*Every row must be one line"):
        list(Table(path, ["id", "label"]).blocks())


def test_a_file_of_one_long_line_is_not_read_whole(tmp_path, monkeypatch):
    monkeypatch.setattr("experiments.twibot_files.BLOCK", 100)
    path = tmp_path / "edge.csv"
    path.write_bytes(b"id,label\r" * 100_000)
    with pytest.raises(DataError, match="line 1: there is a carriage return inside"):
        Table(path, ["id", "label"])
    path.write_bytes(b"x" * 1_000_000)
    with pytest.raises(DataError, match=r"no column 'id'; there are: x{100}\.$"):
        Table(path, ["id", "label"])
