"""Repairs: certain ones are made, all others are not."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from facing.lint.entry import Context, Entry
from facing.lint.fix import repair
from facing.lint.run import examine
from facing.lint.words import Dictionary, Words, read_dictionary
from facing.model import placeholder

A, B = placeholder(0), placeholder(1)


def fixed(key: str, text: str, lang: str = "zh", words: Words | None = None) -> str:
    return repair(Entry(key, text), Context(lang, words or Words()))[0]


@pytest.mark.parametrize(
    ("lang", "key", "text", "wanted"),
    [
        ("zh", f"<p>Use {A} it</p>\n", "<p>使用<span translate=no>_%5e_0_%5e_</span>它</p>\n", f"<p>使用{A}它</p>\n"),
        (
            "zh",
            f"<p>Use {A} it</p>\n",
            '<p>使用<span translate="no"> _ ^ _ 0 _ ^ _ </span>它</p>\n',
            f"<p>使用{A}它</p>\n",
        ),
        ("ja", "<p>It opens.</p>\n", "<p>開きます</p>。\n", "<p>開きます。</p>\n"),
        (
            "zh",
            "<h3>Gate</h3>\n<p>The paper</p>\n",
            "<h3>门</h3>\n本@@ <p>文没有</p>\n",
            "<h3>门</h3>\n<p>本文没有</p>\n",
        ),
        (
            "zh",
            f"<ul><li>{A} one </li>\n<li>{B} two</li></ul>\n",
            f"<ul><li>{A}一</li>\n</ul><li>{B}二</li>\n",
            f"<ul><li>{A}一</li>\n<li>{B}二</li></ul>\n",
        ),
        (
            "de",
            "<p>It opens.</p>\n<p>So </p>\n",
            "<p>Es öffnet. </p>\n<p>So so </p>\n",
            "<p>Es öffnet.</p>\n<p>So so </p>\n",
        ),
        ("zh", "<p>It opens it</p>\n", "<p>它 打开</p>\n", "<p>它打开</p>\n"),
    ],
)
def test_certain_repair_leaves_nothing_to_find(lang: str, key: str, text: str, wanted: str) -> None:
    assert fixed(key, text, lang) == wanted
    assert not examine(Entry(key, wanted), Context(lang))


@pytest.mark.parametrize(
    ("lang", "key", "text"),
    [
        # A number that the source does not have, a blank between words in katakana, words outside a block, glued words.
        ("zh", f"<p>Use {A} it</p>\n", "<p>使用<span translate=no>_%5e_4_%5e_</span>它</p>\n"),
        ("ja", "<p>The model trains</p>\n", "<p>モデル トレーニング</p>\n"),
        ("zh", "<p>It opens</p>\n", "<p>它打开</p>大门\n"),
        ("si", "<p>This gets</p>\n", "<p>මෙයලබා</p>\n"),
        ("si", "<p>In order</p>\n", "<p>ක්රමය</p>\n"),
    ],
)
def test_uncertain_fault_is_left_as_it_is(lang: str, key: str, text: str) -> None:
    assert fixed(key, text, lang) == text


def test_joiner_is_restored_where_the_dictionary_has_one_spelling(tmp_path: Path) -> None:
    (tmp_path / "si.aff").write_text("SET UTF-8\nSFX A Y 1\nSFX A 0 ට .\n", "utf-8")
    (tmp_path / "si.dic").write_text("2\nක්\u200dරමය/A\nප්\u200dරධාන\n", "utf-8")
    words = Words(read_dictionary(tmp_path / "si.dic"))
    assert (
        fixed("<p>In order of it</p>", "<p>ප්රධාන ක්රමයට ප්රවේශය</p>", "si", words)
        == "<p>ප්\u200dරධාන ක්\u200dරමයට ප්රවේශය</p>"
    )


def test_word_with_two_spellings_is_left_alone() -> None:
    words = Words(Dictionary(stems={"ක්රමය": frozenset()}, joined={"ක්රමය": {"ක්රමය", "ක්\u200dරමය"}}))
    assert fixed("<p>In order</p>", "<p>ක්රමය එය</p>", "si", words) == "<p>ක්රමය එය</p>"


PIECES = st.sampled_from(
    [
        A,
        B,
        "<p>",
        "</p>",
        "<ul>",
        "<li>",
        "</li>",
        "</ul>",
        "。",
        "字",
        " ",
        "@@ ",
        "ක්රමය",
        "x",
        "\n",
        "<span translate=no>_%5e_0_%5e_</span>",
    ]
)


@settings(max_examples=150, deadline=None)
@given(st.lists(PIECES, max_size=15).map("".join), st.sampled_from(["zh", "ja", "si", "de"]))
def test_repair_never_adds_a_fault_and_repeats_to_the_same_text(text: str, lang: str) -> None:
    key, context = f"<p>Use {A} it</p>\n<ul><li>{B} is</li></ul>\n", Context(lang)
    result, _ = repair(Entry(key, text), context)
    before, after = ({problem.code for problem in examine(Entry(key, each), context)} for each in (text, result))
    assert after <= before
    assert repair(Entry(key, result), context)[0] == result
