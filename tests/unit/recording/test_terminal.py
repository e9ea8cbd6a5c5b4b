import io

import numpy as np
import pytest
from rich.console import Console

from headwise.recording.terminal import LABEL, draw_map

CAUSAL = np.tril(np.ones((6, 6)))
MAP = CAUSAL / CAUSAL.sum(-1, keepdims=True)
TEXTS = ["The", "␣cat", "↵", "שלום", "猫猫猫猫猫猫猫", "a very long token"]


def drawn(weights, texts, *, width=80, colour=None):
    stream = io.StringIO()
    console = Console(file=stream, width=width, force_terminal=colour is not None, color_system=colour, highlight=False)
    draw_map(console, weights, texts)
    return stream.getvalue().splitlines()


def test_a_short_text_shows_each_weight_in_percent():
    lines = drawn(MAP, TEXTS)
    assert lines[0].split() == ["0", "1", "2", "3", "4", "5"]
    assert lines[1].startswith("  0 The")
    assert lines[1][LABEL:].split() == ["▪▪", *"·····"]
    assert lines[3][LABEL:].split() == ["33", "33", "33", "·", "·", "·"]


def test_rows_begin_in_one_column_whatever_the_width_of_characters():
    from rich.cells import cell_len

    lines = drawn(MAP, TEXTS)
    assert {cell_len(line) for line in lines[1:]} == {LABEL + 3 * 6}


def test_a_long_text_is_a_picture_as_wide_as_the_terminal():
    weights = np.tril(np.ones((200, 200)))
    lines = drawn(weights / weights.sum(-1, keepdims=True), ["x"] * 200, width=50)
    assert len(lines) == 25
    assert {len(line) for line in lines} == {50}
    assert lines[0][0] == "@"
    assert lines[0][-1] == " "


@pytest.mark.parametrize("size", [6, 200])
def test_without_colours_there_are_no_control_characters(size):
    weights = np.eye(size)
    assert not any("\x1b" in line for line in drawn(weights, ["x"] * size))
    assert any("\x1b" in line for line in drawn(weights, ["x"] * size, colour="truecolor"))


def test_a_picture_with_an_odd_number_of_rows_shows_all_of_them():
    assert len(drawn(np.eye(41), ["x"] * 41, colour="truecolor")) == 21
