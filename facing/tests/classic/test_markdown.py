"""The HTML of classic notes, byte for byte."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from facing.classic import markdown
from facing.model import placeholder

P = [placeholder(number) for number in range(4)]


def key(text: str) -> str:
    return "".join(unit.key for unit in markdown.units(text))


@pytest.mark.parametrize(
    ("text", "html"),
    [
        # The last line break of a comment is a space, and so is the first of a docstring.
        ("Add the bias\n", "<p>Add the bias </p>\n"),
        ("\nAdd the bias", "<p> Add the bias</p>\n"),
        ("\n", "<p> </p>\n"),
        ("First\n\nSecond\n", "<p>First</p>\n<p>Second </p>\n"),
        # A line break and the blanks behind it give one space each.
        ("one\n two\n", "<p>one  two </p>\n"),
        ("one  two \n", "<p>one two </p>\n"),
        # Headings end with their line and take no space from it.
        ("\n## Gate ##\n\nOpens", "<h2>Gate</h2>\n<p>Opens</p>\n"),
        ("### Gate\nOpens", "<h3>Gate</h3>\n<p>Opens</p>\n"),
        ("##Gate", "<h2>Gate</h2>\n"),
        # Lists: no line break after the tag, a space at the end of every item but the last.
        ("* one\n* two", "<ul><li>one </li>\n<li>two</li></ul>\n"),
        ("* one\n* two\n", "<ul><li>one </li>\n<li>two </li></ul>\n"),
        ("* one\n  more\n* two\n\nText", "<ul><li>one  more </li>\n<li>two</li></ul>\n<p>Text</p>\n"),
        ("* one\n    * two", "<ul><li>one  </li>\n<li>two</li></ul>\n"),
        # A star below a line of text opens an emphasis.
        ("Kinds:\n* **a**: x\n* **b**: y", "<p>Kinds: <em> <strong>a</strong>: x </em> <strong>b</strong>: y</p>\n"),
        ("- one\n- two", "<p>- one - two</p>\n"),
        (":param x: is it\n:param y: too", f"<ul><li>{P[0]}  is it </li>\n<li>{P[1]}  too</li></ul>\n"),
        (":param x: is it\n:return: all", f"<ul><li>{P[0]}  is it </li>\n<p><em>Returns</em>  all</p></ul>\n"),
        # Inline markup.
        ("**b** *i* ---s---", "<p><strong>b</strong> <em>i</em> <small>s</small></p>\n"),
        ("---*x* y---", "<p><small><em>x</em> y</small></p>\n"),
        ("[t](u?a=1&b=2)", '<p><a href="u?a=1&b=2">t</a></p>\n'),
        ("[rows, 5]", '<p><a href="rows, 5">rows, 5</a></p>\n'),
        ("[`x[0]`](u)", f'<p><a href="u">{P[0]}</a></p>\n'),
        ('<a id="x"></a>', '<p><a id="x"></a></p>\n'),
        ('<b>it\'s & "so"</b>', "<p>&lt;b&gt;it&#x27;s &amp; &quot;so&quot;&lt;/b&gt;</p>\n"),
        # Everything that is not translated is numbered in document order.
        ("`a` and $b$ and $$c$$ and ![d](e)", f"<p>{P[0]} and {P[1]} and {P[2]} and {P[3]}</p>\n"),
        ("cost 5$ or `", "<p>cost 5$ or `</p>\n"),
        ("Use\n\n```python\nx\n```\n\nthen", f"<p>Use</p>\n{P[0]}<p>then</p>\n"),
        ("They are\n\\begin{align}\nx &= y\n\\end{align}\n", f"<p>They are</p>\n{P[0]}<p> </p>\n"),
        ("Get\n\n    \\begin{align}x\\end{align}\n\nusing it", f"<p>Get</p>\n{P[0]}<p>using it</p>\n"),
    ],
)
def test_note_has_the_html_of_its_key(text: str, html: str) -> None:
    assert key(text) == html


def test_originals_stand_behind_their_placeholders() -> None:
    (unit,) = markdown.units("`a` is $b$, see ![c](d.png)\n")
    assert [(original.kind, original.text) for original in unit.originals] == [
        ("code", "a"),
        ("math", "b"),
        ("image", "![c](d.png)"),
    ]
    rendered = unit.render()
    assert "<math" in rendered and '<img alt="c" src="d.png">' in rendered and "_^_" not in rendered


def test_quote_in_an_image_address_stays_inside_the_attribute() -> None:
    (unit,) = markdown.units('![x](a" onerror="b)\n')
    assert 'onerror="' not in unit.render()


def test_long_note_is_cut_into_blocks_numbered_from_zero() -> None:
    text = "\n\n".join(f"Sentence {number} about `code`, " + "word " * 40 for number in range(30))
    units = markdown.units(text, line=10)
    assert len(units) == 30
    assert all(re.findall(r"_\^_(\d+)_\^_", unit.key) == ["0"] and len(unit.originals) == 1 for unit in units)
    assert [unit.line for unit in units[:3]] == [10, 12, 14]


def test_note_of_four_thousand_characters_stays_whole() -> None:
    assert len(markdown.units("a" * (markdown.LONGEST - len("<p></p>\n")))) == 1
    assert len(markdown.units("a\n\n" + "b" * markdown.LONGEST)) == 2


@pytest.mark.parametrize(
    ("text", "title"), [("# Gates\n", "Gates"), ("text\n\n## [Gates](x.html) ##\n", "Gates"), ("no heading", None)]
)
def test_title_of_a_markdown_page_is_its_first_heading_without_markup(text: str, title: str | None) -> None:
    assert markdown.heading(text) == title


@given(st.text(alphabet="ab `$*[]()#-\n\\:<>&\"'!|_", max_size=200))
def test_any_text_becomes_units_with_their_placeholders_in_order(text: str) -> None:
    for unit in markdown.units(text):
        numbers = [int(number) for number in re.findall(r"_\^_(\d+)_\^_", unit.key)]
        assert numbers == list(range(len(unit.originals)))
        assert unit.key.count("<p>") == unit.key.count("</p>")
