"""What makes an entry unfit to be rendered."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from facing.lint.codes import CODES, severity
from facing.lint.entry import Entry
from facing.lint.run import fit
from facing.lint.structure import structure
from facing.lint.tree import parse, write
from facing.model import placeholder

A, B, C = (placeholder(number) for number in range(3))
KEY = (
    f'<p> <a id="gate"></a></p>\n<h2>The gate</h2>\n<p>Use {A} with <a href="gate.html">the <em>gate</em> {B}</a> here.</p>\n'
    f"<ul><li>{C} is one </li>\n<li>another</li></ul>\n"
)
GOOD = (
    f'<p> <a id="gate"></a></p>\n<h2>Das Tor</h2>\n<p>Mit {A} hier <a href="gate.html">das {B} <em>Tor</em></a> nutzen.</p>\n'
    f"<ul><li>{C} ist eins </li>\n<li>ein anderes</li></ul>\n"
)


def codes(text: str, key: str = KEY, *, plain: bool = False) -> set[str]:
    return {problem.code for problem in structure(Entry(key, text, plain))}


def test_sound_translation_has_no_problem() -> None:
    assert codes(GOOD) == set()
    assert codes(KEY) == set()


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        ("</h2>\n<p>", "</h2>\n</a><p>", "tag-stray"),
        ("<h2>", "<h2><em>", "tag-misnested"),
        ("<em>Tor</em></a>", "<em>Tor</a></em>", "tag-misnested"),
        ("</li></ul>\n", "</li>\n", "tag-unclosed"),
        ("nutzen", "< nutzen", "tag-broken"),
        ("nutzen", "<!-- x --> nutzen", "tag-broken"),
        ("nutzen", "<u>nutzen</u>", "tag-disallowed"),
        ("<h2>", '<h2 class="x">', "attribute-disallowed"),
        ('<a href="gate.html">', '<a href="gate.html" onclick="x()">', "attribute-disallowed"),
        ('<a href="gate.html">', '<a href="gate.html" href="gate.html">', "attribute-disallowed"),
        ("das ", '<a href="gate.html">das</a> ', "link-in-link"),
        ('<a href="gate.html">', '<a href="door.html">', "link-lost"),
        ('<a href="gate.html">', '<a href="door.html">', "link-new"),
        ('<a href="gate.html">', "<a href=door.html>", "link-new"),
        ('<a id="gate"></a>', "", "anchor-lost"),
        ('<a id="gate"></a>', '<a id="door"></a>', "anchor-new"),
        ("<h2>Das Tor</h2>", "<h3>Das Tor</h3>", "blocks-changed"),
        ("<h2>Das Tor</h2>", "", "blocks-changed"),
        ("</li>\n<li>ein anderes</li></ul>", "</li>\n</ul><li>ein anderes</li>", "blocks-changed"),
        ("nutzen.</p>", "nutzen</p>.", "text-outside"),
        ("<ul><li>", "<ul>x<li>", "text-outside"),
        (A, "", "placeholder-lost"),
        (A, f"{A}{A}", "placeholder-duplicated"),
        (A, f"{A}{placeholder(7)}", "placeholder-invented"),
        (A, "<span translate=no>_%5e_0_%5e_</span>", "placeholder-damaged"),
        (A, "_^_0_^_", "placeholder-damaged"),
        (A, "<span translate=no>0</span>", "placeholder-damaged"),
        ("Das Tor", "Das Tor \x07", "character-invalid"),
        ("Das Tor", "Das &#x202e; Tor", "character-invalid"),
        ("Das Tor", "Das \u202e Tor", "character-invalid"),
    ],
)
def test_fault_is_found_under_its_code(old: str, new: str, code: str) -> None:
    assert old in GOOD
    broken = GOOD.replace(old, new, 1)
    assert code in codes(broken)
    assert severity(code) == "error"
    assert not fit(KEY, broken, False)


def test_placeholder_that_changed_its_block_is_found() -> None:
    moved = GOOD.replace(C, "", 1).replace("Das Tor", f"Das {C} Tor")
    assert codes(moved) == {"placeholder-moved"}


def test_order_of_placeholders_inside_a_block_is_free() -> None:
    assert codes(f"<p>{B} before {A}</p>", f"<p>{A} after {B}</p>") == set()


def test_swapped_closing_tags_are_found_though_every_count_is_right() -> None:
    key = "<p>a <em>b</em></p>\n<p>c <strong>d</strong></p>\n"
    assert "tag-misnested" in codes("<p>a <em>b</p></em>\n<p>c <strong>d</strong></p>\n", key)


def test_bare_placeholder_between_blocks_is_a_block() -> None:
    key = f"<p>We use</p>\n{A}<p>then</p>\n"
    assert codes(f"<p>Wir nehmen</p>\n{A}<p>dann</p>\n", key) == set()
    assert "blocks-changed" in codes(f"<p>Wir nehmen {A}</p>\n<p>dann</p>\n", key)


def test_translation_without_words_is_lost_text() -> None:
    assert "text-lost" in codes(f"<p>{A}</p>\n", f"<p>Use {A}</p>\n")
    assert codes(f"<p>{A}</p>\n", f"<p>{A} </p>\n") == set()


def test_odd_list_of_the_classic_format_is_accepted_where_the_source_has_it() -> None:
    key = "<ul><li>a </li>\n<p><em>Returns</em>  b</p></ul>\n"
    assert codes("<ul><li>x </li>\n<p><em>y</em> z</p></ul>\n", key) == set()


def test_quoting_of_attributes_is_free() -> None:
    assert codes(GOOD.replace("translate=no", 'translate="no"').replace('href="gate.html"', "href=gate.html")) == set()


def test_emphasis_may_be_added() -> None:
    assert codes(GOOD.replace("Das Tor", "Das <strong>Tor</strong>")) == set()


def test_title_is_plain_text() -> None:
    assert codes("Das Tor & mehr", "The gate & more", plain=True) == set()
    assert codes("<b>Das</b> Tor", "The gate", plain=True) == {"tag-disallowed"}


def test_deep_nesting_is_refused_without_a_crash() -> None:
    assert "tag-deep" in codes("<p>" + "<em>" * 50_000 + "x", "<p>x</p>")


def test_message_about_a_key_is_short_and_printable() -> None:
    for problem in structure(Entry("<p>a</p>", "<p " + "x\x1b" * 500 + ">")):
        assert len(problem.message) < 200 and problem.message.isprintable()


def test_every_code_has_a_severity_and_a_sentence() -> None:
    assert all(kind in ("error", "warning", "info") and text.endswith(".") for kind, text in CODES.values())


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.seen: list[tuple[str, ...]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, *(f"{name}={value}" for name, value in attrs)))


PIECES = st.sampled_from(
    [
        "<p>",
        "</p>",
        "<em>",
        "</em>",
        "<a href='x'>",
        '<a href="x">',
        "</a>",
        A,
        B,
        "a",
        " ",
        "&lt;",
        "<",
        ">",
        '"',
        "'",
        "<i>",
        "=",
        "\n",
        "<!--",
    ]
)


@settings(max_examples=200, deadline=None)
@given(st.lists(PIECES, max_size=20).map("".join))
def test_what_is_written_is_read_by_a_browser_like_parser_as_it_was_meant(text: str) -> None:
    tree = parse(text)
    written = write(tree.root)
    reader = Tags()
    reader.feed(written)
    reader.close()
    meant = [
        (element.tag, *(f"{name}={value}" for name, value in element.attributes)) for element in tree.root.elements()
    ]
    assert [tag for tag in reader.seen if tag[0] != "span"] == [tag for tag in meant if tag[0] != "span"]
    assert write(parse(written).root) == written
