"""The modern profile: rows with notes, titles, and front matter."""

from __future__ import annotations

from pathlib import Path

import pytest

from facing.model import FacingError, Page
from facing.source import Modern


def read(tmp_path: Path, text: str, name: str = "page.py") -> Page:
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", newline="")
    return Modern().read(path, tmp_path)


def test_front_matter_gives_title_and_summary(tmp_path: Path) -> None:
    page = read(tmp_path, '"""---\ntitle: The title\nsummary: >\n  One\n  sentence.\n---\nThe note.\n"""\nx = 1\n')
    assert (page.title.key, page.summary and page.summary.key) == ("The title", "One sentence.")
    assert [(unit.key, unit.line) for unit in page.rows[0].units] == [("<p>The note.</p>", 7)]


def test_a_summary_with_a_colon_is_taken_as_it_stands(tmp_path: Path) -> None:
    page = read(tmp_path, '"""---\ntitle: A title\nsummary: Masks: which pairs see each other.\n---\n"""\nx = 1\n')
    assert page.summary is not None
    assert page.summary.key == "Masks: which pairs see each other."


@pytest.mark.parametrize(
    ("matter", "line"), [("---\ntitle: [a\nb\n---\n", 3), ("---\ntitle: a\n", 1), ("---\n- a\n---\n", 1)]
)
def test_broken_front_matter_names_its_line(tmp_path: Path, matter: str, line: int) -> None:
    with pytest.raises(FacingError, match=rf"page\.py:{line}: Front matter must"):
        read(tmp_path, f'"""{matter}"""\n')


def test_a_title_comes_from_the_first_heading_else_from_the_file(tmp_path: Path) -> None:
    assert read(tmp_path, '"""# A & B\n\nText."""\n').title.key == "A & B"
    assert read(tmp_path, "x = 1\n").title.key == "page.py"
    assert read(tmp_path, "x = 1\n", "mask/__init__.py").title.key == "mask"


def test_a_rule_in_another_docstring_is_not_front_matter(tmp_path: Path) -> None:
    page = read(tmp_path, 'def f():\n    """---\n    title: no\n    ---\n    """\n')
    assert page.title.key == "page.py"


def test_code_of_a_row_leaves_out_the_docstring_and_keeps_the_numbers(tmp_path: Path) -> None:
    page = read(tmp_path, 'def f():\n    """Doc."""\n\n    x = 1\n\n    return x\n\n\ny = 2\n')
    assert page.rows[0].code == "def f():\n    x = 1\n\n    return x"
    assert page.rows[0].lines == (1, 4, 5, 6)
    assert page.rows[1].lines == (9,)


def test_every_code_line_appears_once_with_its_own_number(tmp_path: Path) -> None:
    source = Path(__file__).read_text(encoding="utf-8")
    page = read(tmp_path, source)
    lines = source.split("\n")
    shown = [(number, text) for row in page.rows for number, text in zip(row.lines, row.code.split("\n"), strict=True)]
    assert all(lines[number - 1] == text for number, text in shown)
    assert len({number for number, _ in shown}) == len(shown)


def test_carriage_returns_leave_no_trace_in_notes_and_code(tmp_path: Path) -> None:
    page = read(tmp_path, "# A\r\n# B\r\nx = 1\r\ny = 2\r\n")
    assert page.rows[0].units[0].key == "<p>A B</p>"
    assert page.rows[0].code == "x = 1\ny = 2"


def test_an_escape_in_a_docstring_that_is_not_raw_is_reported(tmp_path: Path) -> None:
    page = read(tmp_path, '"""One.\n\n$\\frac12$\n"""\n')
    assert [(finding.code, finding.line) for finding in page.findings if finding.code == "docstring-escape"] == [
        ("docstring-escape", 3)
    ]


def test_a_markdown_file_is_a_page_of_one_row(tmp_path: Path) -> None:
    page = read(tmp_path, "---\ntitle: Guide\n---\n\n## One\n\nText\n", "guide.md")
    assert (page.title.key, page.output, len(page.rows)) == ("Guide", "guide.html", 1)
    assert [unit.line for unit in page.rows[0].units] == [5, 7]


def test_a_redirect_is_a_page_without_rows(tmp_path: Path) -> None:
    assert read(tmp_path, "---\nredirect: other.html\n---\n", "old.md").redirect == "other.html"


def test_a_definition_right_below_the_docstring_of_its_module_keeps_its_own_docstring(tmp_path: Path) -> None:
    page = read(tmp_path, '"""Module."""\n\n\ndef f():\n    """Function."""\n    return 1\n')
    assert [[unit.key for unit in row.units] for row in page.rows] == [["<p>Module.</p>"], ["<p>Function.</p>"]]


def test_the_text_of_a_notebook_stands_beside_the_cell_below_it_and_cell_lines_are_not_shown(tmp_path: Path) -> None:
    page = read(
        tmp_path,
        "# %% [markdown]\n# # Title\n#\n# Text.\n\n# %%\nx = 1\n# %% tags=['a']\ny = 2\n# %% [markdown]\n# Alone.\n\n"
        "# %% [markdown]\n# Then a class.\n\n\n# %%\nclass A:\n    pass\n",
    )
    assert [([unit.key for unit in row.units], row.code) for row in page.rows] == [
        (["<h1>Title</h1>", "<p>Text.</p>"], "x = 1"),
        ([], "y = 2"),
        (["<p>Alone.</p>"], ""),
        (["<p>Then a class.</p>"], "class A:\n    pass"),
    ]
    assert page.title.key == "Title"


def test_a_cell_that_starts_with_a_comment_has_a_row_of_its_own(tmp_path: Path) -> None:
    page = read(tmp_path, "# %% [markdown]\n# Text.\n\n# %%\n# Why.\nx = 1\n")
    assert [([unit.key for unit in row.units], row.code) for row in page.rows] == [
        (["<p>Text.</p>"], ""),
        (["<p>Why.</p>"], "x = 1"),
    ]


def test_the_comment_that_starts_a_file_may_hold_front_matter(tmp_path: Path) -> None:
    page = read(tmp_path, "# ---\n# title: A notebook\n# run: true\n# ---\n\n# %% [markdown]\n# # Heading\nx = 1\n")
    assert (page.title.key, page.run, len(page.rows)) == ("A notebook", True, 1)
    assert page.rows[0].units[0].line == 7
    later = read(tmp_path, "x = 1\n# ---\n# title: No front matter\n# ---\n", "later.py")
    assert later.title.key == "later.py"


@pytest.mark.parametrize(
    ("docstring", "title"),
    [
        ("What it costs: one run, `python cost.py`.", "What it costs"),
        ("Packed rows. Each document counts from 0.", "Packed rows"),
        ("One sentence without a stop", "One sentence without a stop"),
        ("Version 2.0 of it; more.", "Version 2.0 of it"),
        ("`code` first.", "page.py"),
        ("Long " * 30, "page.py"),
        ("* a list", "page.py"),
    ],
)
def test_without_front_matter_a_page_is_named_by_the_beginning_of_its_docstring(
    tmp_path: Path, docstring: str, title: str
) -> None:
    assert read(tmp_path, f'"""\n{docstring}\n"""\nx = 1\n', "page.py").title.key == title
    assert read(tmp_path, f"# {docstring}\nx = 1\n", "page.py").title.key == "page.py"
