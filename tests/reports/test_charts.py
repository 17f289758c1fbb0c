from xml.etree import ElementTree

import numpy as np
import pytest

from rwkplus.reports.charts import BEYOND, USUAL, curve, histogram


def numbers(elements, *fields):
    return np.array([[float(element.get(field)) for field in fields] for element in elements])


# Curves


def line(drawn):
    return np.array([point.split(",") for point in drawn.find("polyline").get("points").split()], dtype=float)


def test_a_curve_begins_at_zero_and_has_a_dot_per_value():
    drawn = ElementTree.fromstring(curve([1.0, 4.0, 2.0]))
    x, y = line(drawn).T
    np.testing.assert_allclose(np.diff(x), np.diff(x)[0], atol=0.1)
    np.testing.assert_allclose((y[0] - y) / (y[0] - y[2]), [0, 0.25, 1, 0.5], atol=1e-3)
    assert np.array_equal(numbers(drawn.findall("circle"), "cx", "cy"), line(drawn))
    assert [text.text for text in drawn.findall("text")] == ["0", "2", "4", "0", "1", "2", "3"]


def test_the_upper_end_of_a_curve_may_be_given():
    drawn = ElementTree.fromstring(curve([0.5], top=1.0, percent=True))
    assert [text.text for text in drawn.findall("text")][:3] == ["0%", "50%", "100%"]
    middle = numbers(drawn.findall("line"), "y1")[1]
    assert line(drawn)[1, 1] == pytest.approx(middle)


def test_a_long_curve_needs_no_dots():
    drawn = ElementTree.fromstring(curve(np.linspace(0, 1, 200).tolist(), dots=False))
    assert drawn.findall("circle") == []
    assert len(line(drawn)) == 201
    assert [text.text for text in drawn.findall("text")][3:] == ["200"]


@pytest.mark.parametrize("values", [[], [0.0, 0.0]])
def test_a_curve_of_nothing_lies_on_the_floor(values):
    points = line(ElementTree.fromstring(curve(values)))
    assert len(points) == len(values) + 1
    assert len(set(points[:, 1])) == 1


# Histograms


def bars_of(picture, color):
    return [bar for bar in ElementTree.fromstring(picture).findall("rect") if bar.get("style") == f"fill:{color}"]


def heights(picture, color):
    return [float(bar.get("height")) for bar in bars_of(picture, color)]


def test_bars_add_up_and_are_red_beyond_the_threshold():
    picture = histogram([0.0, 0.1, 0.2, 5.0], 1.0, bins=10)
    (usual,), (beyond,) = heights(picture, USUAL), heights(picture, BEYOND)
    assert usual == pytest.approx(3 * beyond, abs=0.2)


def test_values_at_the_threshold_are_usual():
    assert len(bars_of(histogram([2.0, 2.0], 2.0), USUAL)) == 1
    assert bars_of(histogram([2.0, 2.0], 2.0), BEYOND) == []


def test_within_one_bar_red_stands_on_gray():
    picture = histogram([0.0, 0.9, 1.1, 2.0], 1.0, bins=1)
    (usual,), (beyond,) = bars_of(picture, USUAL), bars_of(picture, BEYOND)
    assert float(beyond.get("y")) + float(beyond.get("height")) == pytest.approx(float(usual.get("y")))
    assert usual.get("x") == beyond.get("x")


@pytest.mark.parametrize(("threshold", "ends"), [(1.0, ["0", "5"]), (-3.0, ["-3", "5"]), (8.0, ["0", "8"])])
def test_the_axis_reaches_over_all_values_and_the_threshold(threshold, ends):
    texts = [text.text for text in ElementTree.fromstring(histogram([0.0, 0.1, 5.0], threshold, bins=10)).iter("text")]
    assert texts == [f"threshold {threshold:.3g}", texts[1], *ends]
    assert texts[1] == "2"  # graphs in the highest bar
