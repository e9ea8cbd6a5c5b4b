"""Extracting, state, status and PO."""

from __future__ import annotations

import json
from pathlib import Path

import polib
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from facing.catalogue import extract, po
from facing.catalogue.collection import Collection, open_collection
from facing.catalogue.files import dump
from facing.catalogue.state import (
    Record,
    State,
    Suppressed,
    apply_suppressions,
    dump_state,
    load_state,
    name,
    source_hash,
    state_path,
)
from facing.catalogue.status import failures, status, total
from facing.catalogue.translator import CatalogueTranslator
from facing.model import FacingError, Finding, Original, Page, Row, Unit, placeholder

A = placeholder(0)


def page(*units: Unit, path: str = "gate.py") -> Page:
    return Page(path, Unit("Gates", kind="title"), rows=tuple(Row((unit,)) for unit in units))


def coded(text: str, key: str = f"<p>Use {A} now</p>\n") -> Unit:
    return Unit(key, (Original(f"<code>{text}</code>", text, "code"),), 7)


def run(tmp_path: Path, source: Page, *, prune: bool = False) -> extract.Update:
    path = tmp_path / "gate.si.json"
    collection = open_collection("si", path) if path.exists() else Collection("si", path)
    result = extract.update(source, collection, prune=prune)
    extract.write(source, collection, result)
    return result


def stored(tmp_path: Path) -> dict[str, str]:
    return json.loads((tmp_path / "gate.si.json").read_text("utf-8"))


def test_new_keys_are_added_empty_and_those_without_words_as_they_are(tmp_path: Path) -> None:
    result = run(tmp_path, page(coded("x"), coded("y", f"<p>{A} </p>\n")))
    assert stored(tmp_path) == {"Gates": "", f"<p>Use {A} now</p>\n": "", f"<p>{A} </p>\n": f"<p>{A} </p>\n"}
    assert len(result.added) == 3


def test_unchanged_source_leaves_every_byte(tmp_path: Path) -> None:
    run(tmp_path, page(coded("x")))
    text = dump({"Gates": "Tore", f"<p>Use {A} now</p>\n": f"<p>{A} nutzen</p>\n"})
    (tmp_path / "gate.si.json").write_text(text, "utf-8")
    run(tmp_path, page(coded("x")))
    state = (tmp_path / "gate.si.state.json").read_bytes()
    run(tmp_path, page(coded("x")))
    assert (tmp_path / "gate.si.json").read_text("utf-8") == text
    assert (tmp_path / "gate.si.state.json").read_bytes() == state


def test_translation_whose_code_changed_is_stale_and_still_rendered(tmp_path: Path) -> None:
    (tmp_path / "gate.si.json").write_text(
        dump({"Gates": "Tore", f"<p>Use {A} now</p>\n": f"<p>{A} nutzen</p>\n"}), "utf-8"
    )
    run(tmp_path, page(coded("x")))
    run(tmp_path, page(coded("y")))
    collection = open_collection("si", tmp_path / "gate.si.json")
    answers = CatalogueTranslator(collection).translate("gate.py", page(coded("y")).units)
    assert [(answer.text is not None, answer.reason) for answer in answers] == [(True, "translated"), (True, "stale")]
    assert status(page(coded("y")), collection).stale == 1


def test_changed_note_gets_a_proposal_with_its_previous_text_and_nothing_is_rendered(tmp_path: Path) -> None:
    old, new = Unit("<p>Open the big gate now</p>\n"), Unit("<p>Open the big old gate now</p>\n")
    (tmp_path / "gate.si.json").write_text(dump({"Gates": "Tore", old.key: "<p>Auf</p>\n"}), "utf-8")
    result = run(tmp_path, page(new))
    assert result.proposed == [new.key] and result.obsolete == [old.key]
    assert stored(tmp_path) == {"Gates": "Tore", old.key: "<p>Auf</p>\n", new.key: ""}
    collection = open_collection("si", tmp_path / "gate.si.json")
    record = collection.state_of("gate.py").record(new.key)
    assert (record.status, record.previous, record.proposal) == ("fuzzy", old.key, "<p>Auf</p>\n")
    counted = status(page(new), collection)
    assert (counted.fuzzy, counted.obsolete, counted.translated, counted.total) == (1, 1, 1, 2)


def test_pruned_entry_is_kept_in_the_state_and_comes_back_with_its_note(tmp_path: Path) -> None:
    gone = Unit("<p>Open it</p>\n")
    (tmp_path / "gate.si.json").write_text(dump({"Gates": "Tore", gone.key: "<p>Auf</p>\n"}), "utf-8")
    run(tmp_path, page(), prune=True)
    assert stored(tmp_path) == {"Gates": "Tore"}
    run(tmp_path, page(gone))
    assert stored(tmp_path) == {"Gates": "Tore", gone.key: "<p>Auf</p>\n"}


def test_broken_catalogue_is_never_written_over(tmp_path: Path) -> None:
    path = tmp_path / "gate.si.json"
    path.write_text('{"a": "b", "a": "c"}', "utf-8")
    with pytest.raises(FacingError, match="must be sound before it is updated"):
        run(tmp_path, page())
    assert path.read_text("utf-8") == '{"a": "b", "a": "c"}'


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[]",
        '{"entries": {"x": {"status": "odd"}}}',
        '{"entries": {"x": 1}}',
        '{"suppressed": [{"a": 1}]}',
        "\udcff",
    ],
)
def test_damaged_state_counts_as_empty_and_says_so(tmp_path: Path, text: str) -> None:
    path = tmp_path / "gate.si.state.json"
    path.write_text(text, "utf-8", errors="surrogateescape")
    state = load_state(path)
    assert state.records == {} and "A state file must be" in state.problem


def test_state_is_read_back_as_written(tmp_path: Path) -> None:
    state = State(
        {"b": Record("reviewed", "x", "y"), "a": Record("fuzzy", previous="old", proposal="new")},
        [Suppressed("a", "length", "a list")],
        {"k": "v"},
    )
    path = state_path(tmp_path / "gate.si.json")
    path.write_text(dump_state(state), "utf-8")
    assert load_state(path) == state


def test_suppressed_warning_disappears_and_an_error_does_not() -> None:
    findings = [
        Finding("f", "k", 1, "length", "warning", "m"),
        Finding("f", "k", 1, "link-new", "error", "m"),
        Finding("f", "j", 1, "length", "warning", "m"),
    ]
    state = State(
        suppressed=[
            Suppressed(name("k"), "length", "a list"),
            Suppressed(name("k"), "link-new", "no"),
            Suppressed(name("j"), "length", " "),
        ]
    )
    assert apply_suppressions(findings, state) == findings[1:]


def test_gate_names_what_is_short(tmp_path: Path) -> None:
    (tmp_path / "gate.si.json").write_text(dump({"Gates": "Tore"}), "utf-8")
    row = status(page(coded("x")), open_collection("si", tmp_path / "gate.si.json"))
    assert row.coverage == 0.5 and row.as_json()["coverage"] == 0.5
    assert failures([row], least=0.5) == []
    assert failures([row], least=0.6, none_of=["missing"]) == [
        "gate.py (si): coverage must be at least 60%. It is 50.0%.",
        "gate.py (si): no entry may be missing. 1 are.",
    ]
    assert total([row, row], "si").total == 4


def exported(entries: dict[str, str], source: Page, state: State | None = None) -> str:
    return po.export(source, entries, state or State(), "si")


def test_placeholders_are_explained_and_the_previous_source_is_given() -> None:
    unit = coded("x + 1\n")
    state = State({name(unit.key): Record("fuzzy", previous="<p>Old</p>\n", proposal="<p>Alt</p>\n")})
    entry = polib.pofile(exported({}, page(unit), state))[1]
    assert entry.comment == "0: code x + 1"
    assert (entry.msgstr, entry.previous_msgid, entry.flags) == ("<p>Alt</p>\n", "<p>Old</p>\n", ["fuzzy"])
    assert entry.occurrences == [("gate.py", "7")]


def test_template_has_no_translations_and_no_language() -> None:
    text = po.export(page(coded("x")), {"Gates": "Tore"}, State())
    file = polib.pofile(text)
    assert [entry.msgstr for entry in file] == ["", ""] and "Language" not in file.metadata


def test_fuzzy_and_unknown_entries_stay_out_of_the_catalogue(tmp_path: Path) -> None:
    path = tmp_path / "gate.po"
    file = polib.POFile(wrapwidth=0)
    file.append(polib.POEntry(msgid="Gates", msgstr="Tore", flags=["fuzzy"]))
    file.append(polib.POEntry(msgid="Doors", msgstr="Türen"))
    path.write_text(str(file), "utf-8")
    assert po.read(path, page()) == po.Imported({}, ["Gates"], ["Doors"])


def test_file_that_is_no_po_is_named(tmp_path: Path) -> None:
    path = tmp_path / "gate.po"
    path.write_text("nonsense\n", "utf-8")
    with pytest.raises(FacingError, match=r"gate\.po: A PO file must be"):
        po.read(path, page())


TEXT = st.text(
    st.characters(blacklist_categories=("Cs",), blacklist_characters="\x00"), min_size=1, max_size=40
).filter(str.strip)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.dictionaries(TEXT.map(lambda text: f"<p>w{text}</p>\n"), TEXT, max_size=4))
def test_catalogue_comes_back_from_po_byte_for_byte(tmp_path: Path, entries: dict[str, str]) -> None:
    source = page(*(Unit(key) for key in entries))
    path = tmp_path / "gate.po"
    path.write_bytes(exported(entries, source).encode("utf-8"))
    imported = po.read(path, source)
    assert po.merge(source, imported, {}, State()) == entries


def test_import_settles_what_was_stale(tmp_path: Path) -> None:
    unit = coded("y")
    state = State({name(unit.key): Record("stale", "older")})
    merged = po.merge(page(unit), po.Imported({unit.key: f"<p>{A} nun</p>\n"}), {unit.key: f"<p>{A} nun</p>\n"}, state)
    assert merged[unit.key] == f"<p>{A} nun</p>\n"
    assert state.record(unit.key) == Record("translated", source_hash(unit), name(merged[unit.key]))


def test_summary_that_differs_in_blanks_keeps_its_key(tmp_path: Path) -> None:
    (tmp_path / "gate.si.json").write_text(dump({"All the gates": "Alle Tore", "Gates": "Tore"}), "utf-8")
    source = Page("gate.py", Unit("Gates", kind="title"), Unit("All the\n gates", kind="summary"))
    result = run(tmp_path, source)
    assert stored(tmp_path) == {"All the gates": "Alle Tore", "Gates": "Tore"} and not result.obsolete


def test_stale_translation_is_settled_by_changing_or_reviewing_it(tmp_path: Path) -> None:
    path, key = tmp_path / "gate.si.json", f"<p>Use {A} now</p>\n"
    path.write_text(dump({"Gates": "Tore", key: f"<p>{A} nutzen</p>\n"}), "utf-8")
    run(tmp_path, page(coded("x")))
    assert run(tmp_path, page(coded("y"))).state.record(key).status == "stale"
    assert run(tmp_path, page(coded("y"))).state.record(key).status == "stale"
    path.write_text(dump({"Gates": "Tore", key: f"<p>{A} jetzt nutzen</p>\n"}), "utf-8")
    collection = open_collection("si", path)
    assert CatalogueTranslator(collection).translate("gate.py", [coded("y")])[0].reason == "translated"
    assert run(tmp_path, page(coded("y"))).state.record(key).status == "translated"


def test_reviewed_translation_that_is_changed_is_no_longer_reviewed(tmp_path: Path) -> None:
    path = tmp_path / "gate.si.json"
    path.write_text(dump({"Gates": "Tore"}), "utf-8")
    state_path(path).write_text(dump_state(State({name("Gates"): Record("reviewed", text=name("Tore"))})), "utf-8")
    assert run(tmp_path, page()).state.record("Gates").status == "reviewed"
    path.write_text(dump({"Gates": "Pforten"}), "utf-8")
    assert run(tmp_path, page()).state.record("Gates").status == "translated"
