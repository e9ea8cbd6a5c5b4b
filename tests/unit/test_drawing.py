"""Drawings are valid SVG that says what it shows, and hold what they were given."""

import math
from xml.etree import ElementTree

import pytest
import torch

import headwise as hw
from headwise.drawing import curves, number, squares, ticks

NAME = "{http://www.w3.org/2000/svg}"


def parse(drawing):
    return ElementTree.fromstring(drawing._repr_svg_())


def test_each_weight_is_a_square_as_strong_as_it_is():
    root = parse(squares({"head 0": torch.tensor([[1.0, 0.0], [0.25, 0.75]])}, alt="A map"))
    filled = [each for each in root.iter(f"{NAME}rect") if each.get("class") == "fill-1"]
    assert [each.get("fill-opacity") for each in filled] == ["1", "0.25", "0.75"]
    assert len([each for each in root.iter(f"{NAME}rect") if each.get("class") == "line"]) == 4
    assert root.find(f"{NAME}title").text == "A map"


def test_maps_stand_side_by_side_with_their_captions_and_names():
    root = parse(squares({"a": [[1]], "b": [[1]]}, alt="Two", rows=["q<0>"], columns=["k"]))
    texts = [each.text for each in root.iter(f"{NAME}text")]
    assert texts == ["a", "q<0>", "k", "b", "q<0>", "k"]
    first, second = (float(each.get("x")) for each in root.iter(f"{NAME}rect") if each.get("class") == "fill-1")
    assert second > first


def test_what_is_no_number_is_a_cross():
    assert "×" in squares({"": [[math.nan]]}, alt="Broken")._repr_svg_()


def test_a_mask_table_draws_itself():
    root = ElementTree.fromstring(hw.Causal().table(2, 5)._repr_svg_())
    assert len([each for each in root.iter(f"{NAME}rect") if each.get("class") == "fill-1"]) == 9
    assert root.find(f"{NAME}title").text.endswith("2 queries, from top to bottom, and 5 keys: 9 pairs are seen.")
    assert [each.text for each in root.iter(f"{NAME}text")] == ["i=3", "i=4"]


def test_curves_keep_inside_their_picture_and_differ_in_dash():
    drawing = curves(
        {"one": [(0, 0.0), (10, 1.0)], "two": [(0, -3.0), (10, 9.0)]}, alt="Two lines", across="step", up="loss"
    )
    lines = [each for each in parse(drawing).iter(f"{NAME}polyline") if each.get("class", "").startswith("stroke")]
    assert {each.get("stroke-dasharray") for each in lines} == {"none", "6 3"}
    for each in lines:
        for x, y in (point.split(",") for point in each.get("points").split()):
            assert 0 <= float(x) <= drawing.width
            assert 0 <= float(y) <= drawing.height


def test_curves_with_long_names_stay_narrow_and_no_name_is_cut():
    names = [f"a curve with a rather long name, number {n}" for n in range(4)]
    drawing = curves({name: [(0, 0.0), (1e6, 1.0)] for name in names}, alt="Four lines", up="loss")
    assert drawing.width <= 400
    texts = [each for each in parse(drawing).iter(f"{NAME}text") if each.text in names]
    assert len({each.get("y") for each in texts}) == 4
    assert all(float(each.get("x")) + 7 * len(each.text) <= drawing.width for each in texts)


@pytest.mark.parametrize(("low", "high"), [(0, 1), (0, 600), (-0.003, 0.004), (5, 5), (1e6, 3e6)])
def test_ticks_are_few_round_and_inside(low, high):
    found = ticks(low, high)
    assert 1 <= len(found) <= 7
    assert all(low - 1e-6 <= tick <= high + 1e-6 for tick in found)


def test_a_drawing_can_be_saved(tmp_path):
    squares({"": [[1]]}, alt="One").save(tmp_path / "one.svg")
    assert (tmp_path / "one.svg").read_text().startswith("<svg xmlns=")


def test_numbers_are_short():
    assert [number(value) for value in (1.0, 0.5, 1 / 3, 0.001)] == ["1", "0.5", "0.33", "0"]


def test_a_drawing_in_a_file_follows_the_theme_of_its_reader(tmp_path):
    drawing = curves({"loss": [(0, 1.0), (1, 0.0)]}, alt="A loss that falls")
    drawing.save(tmp_path / "loss.svg")
    root = ElementTree.parse(tmp_path / "loss.svg").getroot()
    style = root.find(f"{NAME}style").text
    dark = style.partition("prefers-color-scheme:dark")[2]
    used = {each.get("class") for each in root.iter() if each.get("class")}
    assert used >= {"stroke-1", "soft", "line", "ink"}
    assert all(f".{kind}{{" in dark for kind in used)
    assert "<style>" not in drawing._repr_svg_(), "in a page the style of the page counts"


def test_a_drawing_is_named_by_what_it_shows_and_not_by_its_lines():
    assert repr(squares({"": [[1]]}, alt="One square")) == "Drawing(alt='One square', width=26.0, height=44.0)"
