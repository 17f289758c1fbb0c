import pytest

from rwkplus.errors import DataError
from rwkplus.mining import Occurrence, Pattern
from rwkplus.mining.files import load_patterns, save_patterns

EDGE = Pattern(("C", "O"), ((0, 1, "="),), "maximal", 3.5, 1, 2, (Occurrence(1, (4, 5)),), 0.5, 0.25, 0.25)


def test_patterns_survive_the_file(tmp_path):
    path = save_patterns([EDGE], tmp_path / "new" / "patterns.json")
    assert load_patterns(path) == [EDGE]
    assert [file.name for file in path.parent.iterdir()] == ["patterns.json"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "not JSON"),
        ("[]", "does not hold patterns"),
        ('{"format": "other"}', "does not hold patterns"),
        ('{"format": "rwkplus patterns, version 1", "patterns": [{"labels": []}]}', "not a stored pattern"),
    ],
)
def test_other_files_are_refused(tmp_path, content, message):
    path = tmp_path / "patterns.json"
    path.write_text(content)
    with pytest.raises(DataError, match=message):
        load_patterns(path)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(DataError, match=r"none\.json"):
        load_patterns(tmp_path / "none.json")
