from xml.etree import ElementTree

import pytest

from rwkplus.viz.histogram import BEYOND, USUAL, histogram


def bars(picture, color):
    return [bar for bar in ElementTree.fromstring(picture).findall("rect") if bar.get("fill") == color]


def heights(picture, color):
    return [float(bar.get("height")) for bar in bars(picture, color)]


def test_bars_add_up_and_are_red_beyond_the_threshold():
    picture = histogram([0.0, 0.1, 0.2, 5.0], 1.0, bins=10)
    (usual,), (beyond,) = heights(picture, USUAL), heights(picture, BEYOND)
    assert usual == pytest.approx(3 * beyond, abs=0.2)


def test_values_at_the_threshold_are_usual():
    assert len(bars(histogram([2.0, 2.0], 2.0), USUAL)) == 1
    assert bars(histogram([2.0, 2.0], 2.0), BEYOND) == []


def test_within_one_bar_red_stands_on_gray():
    picture = histogram([0.0, 0.9, 1.1, 2.0], 1.0, bins=1)
    (usual,), (beyond,) = bars(picture, USUAL), bars(picture, BEYOND)
    assert float(beyond.get("y")) + float(beyond.get("height")) == pytest.approx(float(usual.get("y")))
    assert usual.get("x") == beyond.get("x")


@pytest.mark.parametrize(("threshold", "ends"), [(1.0, ["0", "5"]), (-3.0, ["-3", "5"]), (8.0, ["0", "8"])])
def test_the_axis_reaches_over_all_values_and_the_threshold(threshold, ends):
    texts = [text.text for text in ElementTree.fromstring(histogram([0.0, 0.1, 5.0], threshold, bins=10)).iter("text")]
    assert texts == [f"threshold {threshold:.3g}", texts[1], *ends]
    assert texts[1] == "2"  # graphs in the highest bar
