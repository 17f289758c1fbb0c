import pytest

from rwkplus.drawing.palette import ELEMENTS, ENOUGH, MARKS, NONE, PALETTE, contrast, ink, label_colors, legible, rgb

EVERY = {*PALETTE, *ELEMENTS.values(), NONE}


def test_a_label_has_the_same_color_on_every_page():
    alone = label_colors(["account"])["account"]
    assert label_colors(["account", "C", "7", "bank"])["account"] == alone
    assert label_colors(["C", "author"])["C"] == ELEMENTS["C"]
    assert label_colors(["12"])["12"] == label_colors(map(str, range(40)))["12"]


def test_labels_have_different_colors_while_there_are_some():
    labels = [f"label {i:02}" for i in range(len(PALETTE))]
    assert len({*label_colors(labels).values()}) == len(PALETTE)
    more = label_colors([*labels, "one more"])
    assert {*more.values()} == {*PALETTE}
    assert list(label_colors(labels[::-1])) == labels


def test_of_two_words_that_meet_the_first_keeps_its_color():
    words = [f"word {i}" for i in range(40)]
    alone = {word: label_colors([word])[word] for word in words}
    a, b = next((a, b) for a in words for b in words if a < b and alone[a] == alone[b])
    both = label_colors([b, a])
    assert both[a] == alone[a] != both[b]


def test_nodes_without_a_label_are_gray():
    assert label_colors([""]) == {"": NONE}


@pytest.mark.parametrize(("one", "other", "expected"), [("#ffffff", "#767676", 4.54), ("#0000ff", "#ffffff", 8.59)])
def test_contrast_is_that_of_the_guidelines(one, other, expected):
    assert contrast(one, other) == pytest.approx(expected, abs=0.01)
    assert contrast(one, other) == contrast(other, one)


@pytest.mark.parametrize("color", sorted(EVERY))
def test_everything_written_can_be_read(color):
    assert contrast(color, {"#fff": "#ffffff", "#000": "#000000"}[ink(color)]) >= ENOUGH
    light, dark = legible(color).removeprefix("light-dark(").removesuffix(")").split(",")
    for text, grounds in ((light, (MARKS[0], "#ffffff", "#f4f6f7")), (dark, (MARKS[1], "#171c21", "#0f1316"))):
        assert min(contrast(text, ground) for ground in grounds) >= ENOUGH
    for ground, text in (("#ffffff", "#1d2327"), ("#171c21", "#e6eaed")):  # text on hollow nodes, up to FULL
        mixed = [round(0.44 * a + 0.56 * b) for a, b in zip(rgb(color), rgb(ground), strict=True)]
        assert contrast("#" + "".join(f"{part:02x}" for part in mixed), text) >= ENOUGH
