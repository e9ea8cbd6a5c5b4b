"""Nothing unsafe and nothing broken comes out of a translator."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from facing.catalogue import open_translator
from facing.catalogue.collection import open_collection
from facing.catalogue.match import match, propose
from facing.catalogue.state import name as name_of
from facing.model import Original, Unit, placeholder

A, B, C = (placeholder(number) for number in range(3))
CODE = Original("<code>x</code>", "x", "code")
UNIT = Unit(f'<p> <a id="gate"></a></p>\n<p>Use {A} and <a href="gate.html">the gate</a> here.</p>\n', (CODE,))
TITLE = Unit("The gate", kind="title")


def translator(tmp_path: Path, entries: dict[str, str], name: str = "gate.si.json"):
    (tmp_path / name).write_text(json.dumps(entries), "utf-8")
    return open_translator("si", tmp_path)


def test_sound_entry_is_given_with_tags_spelled_anew(tmp_path: Path) -> None:
    text = f"<p> <a id=gate></a></p>\n<p>Nimm {A} & das <a href='gate.html'>Tor</a>.</p>\n"
    (answer,) = translator(tmp_path, {UNIT.key: text}).translate("gate.py", [UNIT])
    assert answer.reason == "translated"
    assert answer.text == f'<p> <a id="gate"></a></p>\n<p>Nimm {A} &amp; das <a href="gate.html">Tor</a>.</p>\n'
    assert UNIT.render(answer.text).count("<code>x</code>") == 1


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "missing"),
        (" \n", "missing"),
        (UNIT.key, "same"),
        (UNIT.key.replace("<p>Use", "<p> Use"), "same"),
        ("<p>broken", "error"),
        (UNIT.key.replace("Use", "<script>x</script>"), "error"),
    ],
)
def test_entry_that_is_not_rendered_has_its_reason(tmp_path: Path, text: str, reason: str) -> None:
    (answer,) = translator(tmp_path, {UNIT.key: text}).translate("gate.py", [UNIT])
    assert (answer.text, answer.reason) == (None, reason)


def test_name_that_is_the_same_in_both_languages_counts_as_translated_once_that_is_said(tmp_path: Path) -> None:
    unit = Unit("facing", kind="title")
    (answer,) = translator(tmp_path, {"facing": "facing"}).translate("gate.py", [unit])
    assert answer.reason == "same"
    suppressed = [{"entry": name_of("facing"), "code": "untranslated", "reason": "a name"}]
    state = json.dumps({"version": 1, "entries": {}, "suppressed": suppressed})
    (tmp_path / "gate.si.state.json").write_text(state, "utf-8")
    (answer,) = open_translator("si", tmp_path).translate("gate.py", [unit])
    assert (answer.text, answer.reason) == ("facing", "translated")


def test_unit_without_words_needs_no_translation(tmp_path: Path) -> None:
    unit = Unit(f"<p>{A} </p>\n", (CODE,))
    (answer,) = translator(tmp_path, {}).translate("gate.py", [unit])
    assert (answer.text, answer.reason) == (unit.key, "translated")


def test_title_is_given_as_plain_text(tmp_path: Path) -> None:
    (answer,) = translator(tmp_path, {"The gate": "Das Tor & <mehr"}).translate("gate.py", [TITLE])
    assert answer.text == "Das Tor & <mehr"
    (answer,) = translator(tmp_path, {"The gate": "<img src=x onerror=y>"}).translate("gate.py", [TITLE])
    assert answer.reason == "error"


# Ways into a page that were ever tried on somebody, and pieces that could complete each other to one.
ATTACKS = r"""
<script>alert(1)</script> | <style>*{}</style> | <img src=x onerror=alert(1)> | <svg onload=alert(1)>
<iframe src=//evil.example> | <a href="javascript:alert(1)">x</a> | <a href='jAvAsCript&#58;alert(1)'>x</a>
<a href="//evil.example">x</a> | <a href=data:text/html,x>x</a> | <a href="gate.html" onclick="x">x</a>
<a href="gate.html"style="x">x</a> | <a href="gate.html">x</a> | <a id=gate></a> | <a id='x'></a> | <p> | </p>
<p onmouseover=x> | <em> | </em> | <em style=x> | </a> | <a | < | > | " | ' | &lt;script&gt; | &#60;script&#62;
<!-- | --> | <![CDATA[ | ]]> | <?php | <base href=//evil.example> | <meta http-equiv=refresh>
<form action=//evil.example> | <math><mtext><script>x</script> | <span translate=no>_^_0_^_</span>
<span translate=no>_^_1_^_</span> | <span translate=no>_%5e_0_%5e_</span> | <span translate=no> | _^_0_^_ | </span>
<span translate=no onclick=x>_^_0_^_</span> | </title> | </textarea> | <noscript> | <template> | <p/onclick=x>
<P ID=gate> | <A HREF=gate.html> | text | <xmp> | <plaintext> | <a href="gate.html&quot; onclick=x">x</a>
"""
HOSTILE = st.sampled_from([*ATTACKS.replace("\n", " | ").split(" | "), "\x00", "\u202e", "\ufeff", " ", "\n"])


class Strict(HTMLParser):
    """Fails on everything that the source note does not have."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in ("p", "a", "code", "b", "em", "i", "small", "strong", "sub", "sup"), tag
        for name, value in attrs:
            assert (tag, name, value) in (("a", "href", "gate.html"), ("a", "id", "gate")), (tag, name, value)
            self.links.append(name)

    def refuse(self, data: str) -> None:
        raise AssertionError(data)

    handle_comment = handle_decl = handle_pi = unknown_decl = refuse


def check_safe(rendered: str) -> None:
    reader = Strict()
    reader.feed(rendered)
    reader.close()
    assert sorted(reader.links) == ["href", "id"]
    assert "_^_" not in rendered and "%5e" not in rendered


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(HOSTILE, max_size=6).map("".join), st.integers(0, len(UNIT.key)))
def test_hostile_entry_never_reaches_a_page(tmp_path: Path, attack: str, at: int) -> None:
    text = UNIT.key.replace("Use", "Nimm").replace("here", "hier")
    (answer,) = translator(tmp_path, {UNIT.key: text[:at] + attack + text[at:]}).translate("gate.py", [UNIT])
    if answer.text is not None:
        check_safe(UNIT.render(answer.text))


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.one_of(st.text(max_size=60), st.lists(HOSTILE, max_size=12).map("".join)))
def test_hostile_text_alone_never_reaches_a_page(tmp_path: Path, attack: str) -> None:
    (answer,) = translator(tmp_path, {UNIT.key: attack}).translate("gate.py", [UNIT])
    if answer.text is not None:
        check_safe(UNIT.render(answer.text))


def test_blanks_in_the_source_may_change(tmp_path: Path) -> None:
    collection = open_translator(
        "si", write(tmp_path, {"gate.si.json": {"<p>Open  the gate </p>\n": "<p>Tor auf</p>"}})
    ).collection
    found = match(Unit("<p>Open the gate</p>"), "gate.py", collection)
    assert (found.rung, found.text, found.previous) == ("blanks", "<p>Tor auf</p>", "<p>Open  the gate </p>\n")


def test_key_of_another_file_is_found(tmp_path: Path) -> None:
    folder = write(tmp_path, {"gate.si.json": {}, "door.si.json": {"<p>Open it</p>\n": "<p>Auf</p>\n"}})
    collection = open_collection("si", folder)
    assert match(Unit("<p>Open it</p>\n"), "gate.py", collection).rung == "moved"
    assert match(Unit("<p>Open it</p>"), "gate.py", collection).rung == "moved"


def test_own_file_comes_first_even_with_an_error(tmp_path: Path) -> None:
    folder = write(
        tmp_path, {"gate.si.json": {"<p>Open it</p>": "<p>Auf"}, "door.si.json": {"<p>Open it</p>": "<p>Auf</p>"}}
    )
    answers = open_translator("si", folder).translate("gate.py", [Unit("<p>Open it</p>")])
    assert answers[0].reason == "error"


def test_note_is_put_together_from_remembered_blocks(tmp_path: Path) -> None:
    known = {
        f"<h2>Gates</h2>\n<p>Use {A} or {B}</p>\n": f"<h2>Tore</h2>\n<p>{B} oder {A} nutzen</p>\n",
        f"<p>Close {A} </p>\n": f"<p>{A} schliessen </p>\n",
    }
    collection = open_collection("si", write(tmp_path, {"gate.si.json": known}))
    unit = Unit(f"<p>Close {A}</p>\n<p>Use {B} or {C}</p>\n", (CODE,) * 3)
    found = match(unit, "new.py", collection)
    assert (found.rung, found.text) == ("memory", f"<p>{A} schliessen </p>\n<p>{C} oder {B} nutzen</p>\n")


def test_bare_block_and_block_without_words_are_taken_from_the_source(tmp_path: Path) -> None:
    collection = open_collection("si", write(tmp_path, {"a.si.json": {f"<p>Use {A}</p>\n": f"<p>{A} nutzen</p>\n"}}))
    found = match(Unit(f"<p>Use {A}</p>\n{B}<p> </p>\n", (CODE, CODE)), "a.py", collection)
    assert found.text == f"<p>{A} nutzen</p>\n{B}<p> </p>\n"


def test_note_with_one_unknown_block_is_not_put_together(tmp_path: Path) -> None:
    collection = open_collection("si", write(tmp_path, {"a.si.json": {"<p>Open it</p>\n": "<p>Auf</p>\n"}}))
    assert match(Unit("<p>Open it</p>\n<p>Close it</p>\n"), "b.py", collection).rung == "none"


def test_unfit_entry_is_not_remembered(tmp_path: Path) -> None:
    collection = open_collection(
        "si", write(tmp_path, {"a.si.json": {"<p>Open it</p>\n<p>Two</p>\n": "<p>Auf</p>\n<p>Zwei"}})
    )
    assert match(Unit("<p>Open it</p>\n"), "b.py", collection).rung == "none"


def test_similar_source_is_proposed_and_a_different_one_is_not() -> None:
    known = [("<p>Open the big gate now</p>", "<p>Auf</p>"), ("<p>Something else entirely here</p>", "<p>x</p>")]
    found = propose("<p>Open the gate now</p>", known)
    assert (found.rung, found.text, found.previous) == ("fuzzy", "<p>Auf</p>", known[0][0])
    assert propose("<p>Close a small window and lock</p>", known).rung == "none"


def test_proposal_is_never_rendered(tmp_path: Path) -> None:
    folder = write(tmp_path, {"gate.si.json": {"<p>Open the big gate now</p>": "<p>Auf</p>"}})
    (answer,) = open_translator("si", folder).translate("gate.py", [Unit("<p>Open the gate now</p>")])
    assert answer.text is None


def write(folder: Path, files: dict[str, dict[str, str]]) -> Path:
    for name, entries in files.items():
        (folder / name).write_text(json.dumps(entries), "utf-8")
    return folder
