"""The classic profile on the tutorials it was made for."""

from __future__ import annotations

import io
import json
import re
import tokenize
from html.parser import HTMLParser
from pathlib import Path

import pytest

from facing.classic import Classic

# The package has 225 sources.
SOURCES = 200


class Balanced(HTMLParser):
    """Checks that tags close in order; the classic format puts a paragraph into a list and nothing else is odd."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_page_has_every_key_of_its_catalogue_byte_for_byte(tutorials: Path, catalogues: Path) -> None:
    page = Classic().read(tutorials / "transformers" / "mha.py", tutorials)
    text = (catalogues / "mha.si.json").read_text("utf-8")
    wanted = set(json.loads(text[text.index("{") :]))
    assert len(wanted) == 37
    assert {unit.key for unit in page.units} == wanted
    assert len(page.rows) == 41
    assert sum(bool(row.units) for row in page.rows) == 37


@pytest.fixture(scope="module")
def pages(tutorials: Path) -> list:
    paths = [*sorted(tutorials.rglob("*.py")), *sorted(tutorials.rglob("*.md"))]
    assert len(paths) > SOURCES
    return [Classic().read(path, tutorials) for path in paths]


def test_every_page_has_sound_keys(pages: list) -> None:
    for page in pages:
        for unit in page.units:
            numbers = [int(number) for number in re.findall(r"_\^_(\d+)_\^_", unit.key)]
            assert numbers == list(range(len(unit.originals))), (page.path, unit.key)
            if unit.kind == "note":
                assert unit.key.endswith(("\n", "</span>")), (page.path, unit.key)
                reader = Balanced()
                reader.feed(unit.key)
                reader.close()
                assert reader.open == [], (page.path, unit.key)


def test_every_line_of_code_stands_in_one_row_in_order(pages: list) -> None:
    for page in pages:
        numbers = [number for row in page.rows for number in row.lines]
        assert numbers == sorted(set(numbers)), page.path
        lines = page.source.split("\n")
        for row in page.rows:
            assert row.code.split("\n")[:-1] == [lines[number - 1] for number in row.lines], page.path
        if page.language == "python" and not page.redirect:
            left = set(range(1, len(lines) + 1)) - set(numbers) - noted(page.source)
            assert not any(lines[number - 1].strip() for number in left), page.path


def noted(source: str) -> set[int]:
    """The lines of comments and of strings."""
    found: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type in (tokenize.COMMENT, tokenize.STRING):
            found.update(range(token.start[0], token.end[0] + 1))
    return found


def test_long_notes_are_cut_and_short_ones_are_not(pages: list) -> None:
    cut = {page.path: len(row.units) for page in pages for row in page.rows if len(row.units) > 1}
    assert {
        "__init__.py",
        "transformers/__init__.py",
        "cfr/__init__.py",
        "normalization/batch_norm/__init__.py",
        "optimizers/radam.py",
    } <= set(cut)
    assert len(cut) < 12
