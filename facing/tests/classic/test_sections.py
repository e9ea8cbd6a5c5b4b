"""Where the sections of a classic source begin and end."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from facing.classic import Classic
from facing.classic.frontmatter import split
from facing.classic.sections import sections
from facing.model import FacingError, Page


def cut(source: str) -> list[tuple[str | None, list[int]]]:
    return [(section.note, section.code) for section in sections(textwrap.dedent(source).lstrip("\n"), "x.py")]


def read(tmp_path: Path, source: str, name: str = "page.py") -> Page:
    path = tmp_path / name
    path.write_text(textwrap.dedent(source).lstrip("\n"), encoding="utf-8")
    return Classic().read(path, tmp_path)


def test_comment_block_stands_beside_the_code_below_it() -> None:
    assert cut(
        """
        # First line
        # second line
        x = 1

        # Another
        y = 2  # stays code
        """
    ) == [("First line\nsecond line\n", [3]), ("Another\n", [6])]


def test_blank_line_ends_a_comment_block() -> None:
    assert cut("# A\n\n# B\nx = 1\n") == [("A\n", []), ("B\n", [4])]


def test_docstring_belongs_to_the_section_with_its_header() -> None:
    assert cut(
        '''
        x = 1
        class Gate(
            Base,
        ):
            """Opens."""
            y = 2
        '''
    ) == [(None, [1]), ("Opens.\n", [2, 3, 4]), (None, [6])]


def test_async_function_and_decorator_start_a_section_with_their_docstring() -> None:
    source = '''
        x = 1
        @decorated
        async def run():
            """
            Runs.
            """
            await x
    '''
    assert cut(source) == [(None, [1]), ("\nRuns.", [2, 3]), (None, [7])]


def test_comment_above_a_header_and_its_docstring_are_two_sections() -> None:
    assert cut('# Above\ndef f():\n    """Inside."""\n') == [("Above\n", [2]), ("Inside.\n", [])]


def test_hash_inside_a_string_stays_code() -> None:
    assert cut('x = """\n# no note\n"""\ny = "# none"\n') == [(None, [1, 2, 3, 4])]


def test_lone_hash_is_an_empty_note() -> None:
    assert cut("# A\nx = 1\n#\ny = 2\n") == [("A\n", [2]), ("\n", [4])]


def test_escapes_of_a_docstring_are_kept_as_written() -> None:
    assert cut('"""\n$\\frac{a}{b}$ and \\\\\n"""\n') == [("\n$\\frac{a}{b}$ and \\\\", [])]


def test_string_that_is_part_of_an_expression_is_no_note() -> None:
    assert cut('f(\n"""text"""\n)\n') == [(None, [1, 2, 3])]


def test_source_that_does_not_end_names_file_and_line(tmp_path: Path) -> None:
    with pytest.raises(FacingError, match=r"page\.py:\d+: The source must be Python"):
        read(tmp_path, 'x = """\nnever closed\n')


def test_front_matter_gives_title_and_summary(tmp_path: Path) -> None:
    page = read(
        tmp_path,
        '''
        """
        ---
        title: "Gates: open"
        summary: >
          One line
          and another.
        ---
        # Gates

        Text.
        """
        x = 1
        ''',
    )
    assert page.title.key == "Gates: open"
    assert page.summary is not None and page.summary.key == "One line and another."
    assert [unit.key for row in page.rows for unit in row.units] == ["<h1>Gates</h1>\n<p>Text.</p>\n"]
    assert page.rows[0].code == "x = 1\n" and page.rows[0].first_line == 12
    assert page.rows[0].units[0].line == 8


def test_front_matter_is_found_below_a_comment(tmp_path: Path) -> None:
    page = read(tmp_path, '#!/usr/bin/env python\n"""\n---\ntitle: Gates\n---\nText\n"""\n')
    assert page.title.key == "Gates"
    assert [unit.key for unit in page.units][-1] == "<p> Text</p>\n"


def test_plain_value_keeps_its_line_break_and_loses_its_quotes() -> None:
    parts = split("---\ntitle: 'One'\nsummary: two\n three\n---\nrest")
    assert parts is not None
    front, rest, taken = parts
    assert (front.title, front.summary, rest, taken) == ("One", "two\n three", "\nrest", 4)


def test_page_without_front_matter_is_called_after_its_file(tmp_path: Path) -> None:
    assert read(tmp_path, "x = 1\n").title.key == "page.py"


def test_page_that_redirects_has_no_rows(tmp_path: Path) -> None:
    page = read(tmp_path, '"""\n---\ntitle: Old\nredirect: new.html\n---\n"""\nx = 1\n')
    assert page.redirect == "new.html" and page.rows == ()


def test_markdown_file_is_one_note_without_code(tmp_path: Path) -> None:
    page = read(tmp_path, "# [Gates](gates.html)\n\nText\n", "readme.md")
    assert page.title.key == "Gates" and page.language == "markdown"
    assert [unit.key for unit in page.units][1:] == ['<h1><a href="gates.html">Gates</a></h1>\n<p>Text </p>\n']


def test_carriage_returns_and_declared_encodings_are_read(tmp_path: Path) -> None:
    path = tmp_path / "page.py"
    path.write_bytes("# -*- coding: latin-1 -*-\r\n\r\n# Caf\u00e9\r\nx = 1\r\n".encode("latin-1"))
    assert [unit.key for unit in Classic().read(path, tmp_path).units][-1] == "<p>Caf\u00e9 </p>\n"


def test_bytes_that_are_no_text_are_refused_with_their_file(tmp_path: Path) -> None:
    path = tmp_path / "page.py"
    path.write_bytes(b"# \xff\xfe\n")
    with pytest.raises(FacingError, match=r"page\.py:1: The file must be text"):
        Classic().read(path, tmp_path)


def test_symbols_have_dotted_names_and_lines(tmp_path: Path) -> None:
    page = read(tmp_path, "class A:\n    def f(self):\n        def g(): ...\n")
    assert [(symbol.name, symbol.line, symbol.kind) for symbol in page.symbols] == [
        ("A", 1, "class"),
        ("A.f", 2, "function"),
        ("A.f.g", 3, "function"),
    ]


def test_formula_that_cannot_be_read_and_image_without_text_are_reported_with_their_line(tmp_path: Path) -> None:
    page = read(tmp_path, "x = 1\n# See $\\unknownmacro{x}$ and ![](a.png)\ny = 2\n")
    assert [(finding.code, finding.line, finding.severity) for finding in page.findings] == [
        ("math", 2, "warning"),
        ("alt-missing", 2, "warning"),
    ]


def test_formatted_string_that_stands_alone_is_a_note() -> None:
    assert cut('x = 1\nf"""Text {x}"""\n') == [(None, [1]), ("Text {x}\n", [])]
