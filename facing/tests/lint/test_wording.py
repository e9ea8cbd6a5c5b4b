"""What a reader would notice, in any language and in single ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from facing.lint.entry import Context, Entry
from facing.lint.run import examine, inconsistent, lint_entries, make_context, read_glossary
from facing.lint.tree import clip
from facing.lint.words import Dictionary, Words, read_dictionary
from facing.model import FacingError, Unit, placeholder

A, B = placeholder(0), placeholder(1)


def codes(key: str, text: str, lang: str = "zh", context: Context | None = None) -> set[str]:
    return {problem.code for problem in examine(Entry(key, text), context or Context(lang))}


@pytest.mark.parametrize(
    ("lang", "key", "text", "code"),
    [
        ("de", "<p>Open the gate</p>", "<p>Open  the gate</p>", "untranslated"),
        ("zh", "<h3>Train StyleGAN2</h3>", "<h3>Train styleGan2</h3>", "untranslated"),
        ("zh", "<p>Expand and for the block</p>", "<p>展开 and for 块</p>", "leftover"),
        ("zh", "<p>The value of it</p>", "<p>它 of 值</p>", "leftover"),
        (
            "de",
            "<p>This is the way in which gates are opened by all</p>",
            "<p>Es heißt: the way in which gates are opened</p>",
            "leftover",
        ),
        ("si", "<p>resulting mask </p>", "<p>එහි ing ලයක් </p>", "debris"),
        ("zh", "<p>It says so</p>", "<p>它@@ 说</p>", "debris"),
        ("zh", "<p>See <a href='x'>PyTorch</a></p>", "<p>看 PyT<a href='x'>orch</a></p>", "word-cut"),
        ("de", "<p>All <em>open</em> gates</p>", "<p>Alle <em>offenen</em>Tore</p>", "blank-lost"),
        ("de", "<p>It opens.</p>", "<p>Es geht auf. </p>", "trailing-blank"),
        ("de", "<p>After 128 steps</p>", "<p>Nach vielen Schritten</p>", "number-lost"),
        ("de", "<p>The gate opens after each of the steps that were taken</p>", "<p>Auf.</p>", "length"),
        ("de", "<p>It opens</p>\n<p>and closes again</p>\n", "<p>Es geht auf und zu</p>\n<p></p>\n", "block-empty"),
        ("zh", "<p>It opens the gate</p>", "<p>它打开 大门</p>", "blank-inside"),
        ("ja", "<p>It opens the gate</p>", "<p>これは 門です</p>", "blank-inside"),
        ("si", "<p>In order</p>", "<p>ක්රමය පිළිවෙල</p>", "joiner-lost"),
    ],
)
def test_fault_of_wording_is_found_and_does_not_stop_rendering(lang: str, key: str, text: str, code: str) -> None:
    found = codes(key, text, lang)
    assert code in found
    findings = lint_entries({key: text}, Context(lang))
    assert all(finding.severity != "error" for finding in findings)


@pytest.mark.parametrize(
    ("lang", "key", "text"),
    [
        ("zh", "<p>PyTorch softmax of the logits</p>", "<p>PyTorch 的 logits softmax</p>"),
        ("zh", "<p>Use 16 heads</p>", "<p>使用１６个头</p>"),
        ("zh", "<p>GPT-NeoX</p>", "<p>GPT-NEOX</p>"),
        ("de", f"<p>Use {A} heads.</p>", f"<p>{A} Köpfe verwenden.</p>"),
        ("zh", f"<p>Use {A} heads.</p>", f"<p>使用{A}头。</p>"),
        ("si", "<p>In order</p>", "<p>ක්\u200dරමය පිළිවෙල</p>"),
        ("si", "<p>The task</p>", "<p>කාර්ය පිළිවෙල</p>"),
        ("ja", "<p>A deep learning model</p>", "<p>PyTorch の深層学習モデル</p>"),
    ],
)
def test_good_wording_is_left_in_peace(lang: str, key: str, text: str) -> None:
    assert codes(key, text, lang) == set()


def si_words() -> Words:
    return Words(
        Dictionary(stems={"මෙය": frozenset(), "ලබා": frozenset({"1"}), "ගණනය": frozenset(), "කරන්න": frozenset()})
    )


def test_first_word_glued_to_the_second_is_found_with_its_two_words() -> None:
    problems = examine(Entry("<p>This gets it</p>", "<p>මෙයලබා දෙයි</p>"), Context("si", si_words()))
    assert [problem.message for problem in problems if problem.code == "first-word-glued"] == [
        "Words must be apart. `මෙයලබා` is `මෙය` and `ලබා`."
    ]


def test_known_word_is_not_cut_and_other_words_are_not_looked_at() -> None:
    context = Context("si", si_words())
    assert "first-word-glued" not in codes("<p>This gets it</p>", "<p>මෙය ගණනයකරන්න</p>", context=context)
    assert "first-word-glued" not in codes("<p>x y</p>", f"<p>{A}මෙයලබා දෙයි</p>", context=context)


def test_words_of_other_catalogues_count_as_known() -> None:
    context = make_context("si", [("<p>It is a gate</p>", "<p>පද රේඛීය පරිවර්තනය</p>")], dictionary=None)
    assert context.words.knows("රේඛීය")
    assert "first-word-glued" in codes("<p>Linear transform</p>", "<p>රේඛීයපරිවර්තනය </p>", context=context)


def test_dictionary_with_affixes_knows_inflected_words(tmp_path: Path) -> None:
    (tmp_path / "x.aff").write_text(
        "SET UTF-8\nFLAG num\nPFX 9 Y 1\nPFX 9 0 un .\nSFX 12 Y 2\nSFX 12 y ies [^a]y\nSFX 12 0 s a\n", "utf-8"
    )
    (tmp_path / "x.dic").write_text("3\ncity/12\nsofa/12,9\nplain\n", "utf-8")
    dictionary = read_dictionary(tmp_path / "x.dic")
    assert all(map(dictionary.knows, ["city", "cities", "sofas", "unsofa", "unsofas", "plain"]))
    assert not any(map(dictionary.knows, ["citys", "uncity", "plains", "sofaies", ""]))


def test_dictionary_in_another_encoding_is_read_by_its_own_word(tmp_path: Path) -> None:
    (tmp_path / "x.aff").write_bytes(b"SET ISO8859-1\n")
    (tmp_path / "x.dic").write_bytes("1\ncaf\u00e9\n".encode("latin-1"))
    assert read_dictionary(tmp_path / "x.dic").knows("café")


def test_missing_dictionary_is_named(tmp_path: Path) -> None:
    with pytest.raises(FacingError, match=r"none\.dic: A dictionary must be a readable"):
        make_context("si", dictionary=tmp_path / "none.dic")


@pytest.mark.parametrize("text", ["<p>内積（dot product）を使う</p>", "<p>内積(Dot products)を使う</p>"])
def test_term_of_the_glossary_in_brackets_is_no_leftover(text: str) -> None:
    context = Context("ja", glossary={"dot product": ("内積",)})
    assert codes("<p>It takes the dot products</p>", text, context=context) == set()


def test_singular_of_a_term_in_brackets_is_no_debris() -> None:
    key, text = "<p>Attention has heads</p>", "<p>注意はヘッド（head）を持つ</p>"
    assert codes(key, text, context=Context("ja", glossary={"head": ("ヘッド",)})) == set()
    assert codes(key, text, context=Context("ja")) == {"debris"}


def test_terms_in_brackets_do_not_count_as_length() -> None:
    key = "<p>Multi-head attention of queries and keys</p>"
    text = "<p>查询（query）和键（key）的多头注意力（multi-head attention）</p>"
    terms = {"query": ("查询",), "key": ("键",), "multi-head attention": ("多头注意力",)}
    assert codes(key, text, context=Context("zh", glossary=terms)) == set()
    assert "length" in codes(key, text)


def test_words_in_brackets_that_are_no_term_are_a_leftover() -> None:
    key, context = "<p>It takes the dot product</p>", Context("ja", glossary={"dot product": ("内積",)})
    assert "leftover" in codes(key, "<p>内積（the dot product）を使う</p>", context=context)
    assert "leftover" in codes(key, "<p>内積 dot product を使う</p>", context=context)


def test_glossary_holds_terms_to_one_translation(tmp_path: Path) -> None:
    path = tmp_path / "glossary.toml"
    path.write_text('"attention" = ["Aufmerksamkeit"]\n"gate" = "Tor"\n', "utf-8")
    context = Context("de", glossary=read_glossary(path))
    assert "glossary" in codes("<p>Attention is all</p>", "<p>Beachtung ist alles</p>", context=context)
    assert codes("<p>Attention is all</p>", "<p>Aufmerksamkeit ist alles</p>", context=context) == set()
    assert codes("<p>The agate is red</p>", "<p>Der Achat ist rot</p>", context=context) == set()
    path.write_text("gate = 3\n", "utf-8")
    with pytest.raises(FacingError, match="`gate` has something else"):
        read_glossary(path)


def test_same_text_translated_in_two_ways_is_found_in_both_files() -> None:
    found = inconsistent({"a": {"k": "one"}, "b": {"k": "two"}, "c": {"k": " two\n"}, "d": {"j": "x"}})
    assert [(finding.file, finding.code) for finding in found] == [
        ("a", "inconsistent"),
        ("b", "inconsistent"),
        ("c", "inconsistent"),
    ]


def test_missing_and_obsolete_entries_are_told_by_the_page() -> None:
    units = [Unit("<p>new</p>", line=3), Unit(f"<p>{A}</p>"), Unit("<p>kept</p>")]
    found = lint_entries({"<p>kept</p>": "<p>neu</p>", "<p>old</p>": "<p>alt</p>"}, Context("de"), units=units)
    assert {(finding.code, finding.entry, finding.line) for finding in found} == {
        ("missing", "<p>new</p>", 3),
        ("obsolete", "<p>old</p>", 1),
    }


def test_message_keeps_the_joiners_of_a_word_and_cuts_no_conjunct() -> None:
    conjunct = "\u0d9a\u0dca\u200d\u0dbb\u0dd3"
    assert clip(conjunct) == conjunct
    assert {clip(conjunct * 5, longest) for longest in range(13, 18)} == {conjunct * 2 + "..."}
    assert clip("a\u202eb\x1b") == "a\ufffdb\ufffd"
