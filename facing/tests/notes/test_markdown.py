"""Notes: units, placeholders, and what is reported."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from facing.model import PLACEHOLDER, Page, Row, Unit
from facing.notes.check import check_originals
from facing.notes.markdown import render_note


def keys(text: str) -> list[str]:
    return [unit.key for unit in render_note(text, 1, "a.py").units]


def test_each_block_is_a_unit_with_its_line() -> None:
    units = render_note("# One\n\nTwo\nlines\n\n* a\n* b\n", 10, "a.py").units
    assert [unit.line for unit in units] == [10, 12, 15]
    assert [unit.key for unit in units] == ["<h1>One</h1>", "<p>Two lines</p>", "<ul>\n<li>a</li>\n<li>b</li>\n</ul>"]


def test_wrapping_a_paragraph_differently_leaves_its_key() -> None:
    assert keys("One two\nthree") == keys("One\ntwo three")


def test_code_math_and_images_are_placeholders_in_order() -> None:
    (unit,) = render_note("`a` is $b$ and ![c](d.png) and $$e$$", 1, "a.py").units
    assert PLACEHOLDER.findall(unit.key) == ["0", "1", "2", "3"]
    assert [original.text for original in unit.originals] == ["a", "b", "c", "e"]
    assert [original.kind for original in unit.originals] == ["code", "math", "image", "math"]


@pytest.mark.parametrize(
    "block", ["```python\nx = 1\n```", "$$\nx\n$$", "\\begin{align}\na &= b\n\\end{align}", "    code"]
)
def test_a_block_without_words_is_a_bare_placeholder(block: str) -> None:
    (unit,) = render_note(block, 1, "a.py").units
    assert PLACEHOLDER.fullmatch(unit.key)
    assert not unit.has_words


def test_render_puts_originals_back_into_a_translation() -> None:
    (unit,) = render_note("`a` before `b`", 1, "a.py").units
    swapped = "<p><span translate=no>_^_1_^_</span> nach <span translate=no>_^_0_^_</span></p>"
    assert unit.render(swapped) == f"<p>{unit.originals[1].html} nach {unit.originals[0].html}</p>"


def test_a_placeholder_without_an_original_stays_visible() -> None:
    (unit,) = render_note("text", 1, "a.py").units
    assert "_^_7_^_" in unit.render("<span translate=no>_^_7_^_</span>")


def test_lines_with_prompts_are_an_example_and_no_quotation() -> None:
    units = render_note("As in\n>>> f(\n...     1)\n2\n\n> A quotation.\n\n* a\n  >>> g()\n", 1, "a.py").units
    assert [unit.originals[0].text for unit in units if unit.originals] == [">>> f(\n...     1)\n2\n", ">>> g()\n"]
    assert [unit.line for unit in units] == [1, 2, 6, 8]
    assert "<blockquote>" in units[2].key


def test_tables_have_heads_and_cells() -> None:
    (key,) = keys("| a | b |\n|---|---|\n| 1 | `2` |")
    assert key.startswith("<table>")
    assert PLACEHOLDER.search(key)


def test_dollars_of_prices_are_no_formula() -> None:
    assert keys("It costs 5$ or 6$.") == ["<p>It costs 5$ or 6$.</p>"]


def test_only_an_address_with_a_scheme_becomes_a_link_by_itself() -> None:
    (key,) = keys("See https://example.org/a_b, layer.py and example.org.")
    assert key == '<p>See <a href="https://example.org/a_b">https://example.org/a_b</a>, layer.py and example.org.</p>'


def test_anchors_stay_and_other_raw_tags_are_shown_as_text() -> None:
    assert keys('<a id="x"></a>\n\ntext <sub>2</sub>') == ['<p><a id="x"></a></p>', "<p>text <sub>2</sub></p>"]
    rendered = render_note(
        '<script>alert(1)</script>\n\na <img src=x onerror=y> b <a href="javascript:x">c</a>', 1, "a.py"
    )
    assert all(
        "<script" not in unit.key and "<img" not in unit.key and "<a href" not in unit.key for unit in rendered.units
    )
    assert {finding.code for finding in rendered.findings} == {"raw-html"}


def check(text: str, line: int) -> list[tuple[str, int]]:
    rendered = render_note(text, line, "a.py")
    page = Page("a.py", Unit("a.py", kind="title"), rows=(Row(rendered.units),))
    return [(finding.code, finding.line) for finding in check_originals(page)]


def test_an_image_without_alternative_text_is_reported_with_its_line() -> None:
    assert check("One.\n\n![](a.png) and ![a plot](b.png)", 5) == [("alt-missing", 7)]


def test_an_unknown_command_is_reported_and_its_tex_stays_visible() -> None:
    assert check(r"$\nonsense{x}$ and $x$", 5) == [("math", 5)]
    (unit,) = render_note(r"$\nonsense{x}$", 5, "a.py").units
    assert r"\nonsense" in unit.originals[0].html


@given(st.text(max_size=200))
def test_any_text_renders_without_scripts_and_with_whole_placeholders(text: str) -> None:
    for unit in render_note(text, 1, "a.py").units:
        assert "<script" not in unit.key.lower()
        numbers = [int(number) for number in PLACEHOLDER.findall(unit.key)]
        assert sorted(set(numbers)) == list(range(len(unit.originals))) or "_^_" in text
