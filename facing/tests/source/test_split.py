"""Splitting: every line has its place, and nothing is lost."""

from __future__ import annotations

import sysconfig
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from facing.model import FacingError
from facing.source.split import Split, split
from facing.source.text import decode, raw_lines

STDLIB = sorted(path for path in Path(sysconfig.get_path("stdlib")).rglob("*.py") if "site-packages" not in path.parts)


def kinds(text: str) -> list[list[str]]:
    return [list(piece.kinds) for piece in split(text).pieces]


def check(parts: Split, text: str) -> None:
    """Joining gives the text back, and each line is in exactly one piece, in order."""
    assert parts.join() == text
    assert [piece.first for piece in parts.pieces] == sorted({piece.first for piece in parts.pieces})
    assert sum(len(piece.lines) for piece in parts.pieces) == len(raw_lines(text))


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(STDLIB))
def test_a_file_of_the_standard_library_joins_back_to_its_own_text(path: Path) -> None:
    try:
        text = decode(path)
        parts = split(text, str(path))
    except FacingError as error:
        # Some files of its own tests are broken on purpose; the error must say where.
        assert error.line is not None or error.path is not None
        return
    check(parts, text)


@pytest.mark.slow
def test_every_file_of_the_standard_library_joins_back_to_its_own_text() -> None:
    for path in STDLIB:
        try:
            text = decode(path)
            parts = split(text, str(path))
        except FacingError:
            continue
        check(parts, text)


LINES = [
    "# a note",
    "#",
    "x = 1  # no note",
    "",
    "def f():",
    '    """Doc."""',
    "    return '# no'",
    "@f",
    "class A:",
    "    y = 2",
    "    # inner",
    "\t",
    '"""text"""',
]


@given(st.lists(st.sampled_from(LINES), max_size=12), st.sampled_from(["\n", "\r\n", "\r"]))
def test_any_lines_join_back_or_are_refused_with_a_line(lines: list[str], ending: str) -> None:
    text = "".join(line + ending for line in lines)
    try:
        parts = split(text)
    except FacingError as error:
        assert error.line is not None
        return
    check(parts, text)


def test_a_comment_stands_beside_the_code_that_follows() -> None:
    assert kinds("x = 1\n# Why.\ny = 2\n") == [["code"], ["comment", "code"]]


def test_a_blank_line_ends_a_comment_block() -> None:
    assert kinds("# One.\n\n# Two.\nx = 1\n") == [["comment", "blank"], ["comment", "code"]]


def test_a_string_that_looks_like_a_comment_is_code() -> None:
    assert kinds('x = """\n# no note\n\n"""\n') == [["code"] * 4]


def test_three_quotes_inside_a_comment_or_a_string_open_nothing() -> None:
    assert kinds('# say """\nx = \'"""\'\n# end\n') == [["comment", "code"], ["comment"]]


def test_a_docstring_stands_beside_its_header_and_what_follows_it() -> None:
    text = '@cached\nasync def f(\n    a,\n):\n    """Doc.\n\n    More.\n    """\n    return a\n'
    (piece,) = split(text).pieces
    assert piece.kinds == ["code"] * 4 + ["docstring"] * 4 + ["code"]
    assert split(text).docstrings[5].text == "Doc.\n\n    More.\n    "


def test_a_docstring_that_shares_its_line_with_code_stays_code() -> None:
    assert kinds('def f(): "doc"\n') == [["code"]]
    assert kinds('class A:\n    "doc"; x = 1\n') == [["code", "code"]]


def test_a_nested_function_has_a_row_and_what_follows_it_another() -> None:
    text = "def outer():\n    x = 1\n    def inner():\n        return x\n    return inner\n"
    assert [piece.first for piece in split(text).pieces] == [1, 3, 5]


def test_a_decorator_starts_the_row_of_its_function() -> None:
    text = "x = 1\n@a\n@b(\n  1)\ndef f(): pass\n"
    assert [piece.first for piece in split(text).pieces] == [1, 2]


def test_comments_that_speak_to_tools_stay_in_the_code() -> None:
    assert kinds("#!/usr/bin/env python\n# -*- coding: utf-8 -*-\n# fmt: off\nx = 1\n") == [["code"] * 4]


def test_symbols_have_dotted_names_and_the_lines_of_their_headers() -> None:
    text = "class A:\n    @property\n    def b(self): ...\n    @b.setter\n    def b(self, v): ...\nasync def c():\n    def d(): ...\n"
    assert [(symbol.name, symbol.line) for symbol in split(text).symbols] == [
        ("A", 1),
        ("A.b", 3),
        ("c", 6),
        ("c.d", 7),
    ]


def test_form_feeds_and_unusual_separators_do_not_shift_line_numbers() -> None:
    text = "x = '\x0c'\n\x0c\n# note \u2028 still the note\ny = 1\n"
    assert split(text).pieces[1].first == 3
    assert split(text).join() == text


@pytest.mark.parametrize("text", ["x = (\n", "def f(:\n", "  x = 1\n y\n", "x = 'a\n", "\x00"])
def test_a_syntax_error_names_file_and_line(text: str) -> None:
    with pytest.raises(FacingError, match=r"page\.py:\d+: A page must be valid Python"):
        split(text, "page.py")


def test_a_declared_encoding_is_used(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_bytes("# -*- coding: latin-1 -*-\n# caf\u00e9\n".encode("latin-1"))
    assert "café" in decode(path)


def test_an_unknown_or_a_wrong_encoding_is_an_error_with_a_line(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_bytes(b"# coding: nonsense\n")
    with pytest.raises(FacingError, match=r"a\.py:1: .*known to Python"):
        decode(path)
    path.write_bytes(b"x = 1\ny = '\xff'\n")
    with pytest.raises(FacingError, match=r"a\.py:2: .*0xff is not"):
        decode(path)


def test_a_long_chain_of_branches_is_not_too_deep() -> None:
    text = "if x == 0:\n    pass\n" + "".join(f"elif x == {number}:\n    pass\n" for number in range(1, 900))
    assert split(text + "else:\n    def f(): ...\n").symbols[0].name == "f"
