"""Catalogues are read whatever they hold, and written byte for byte."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from facing.catalogue import open_translator
from facing.catalogue.collection import open_collection
from facing.catalogue.files import LARGEST, dump, load
from facing.model import FacingError, Unit

UNIT = Unit("<p>Open the gate</p>\n")


def test_header_before_the_object_is_accepted(tmp_path: Path) -> None:
    path = tmp_path / "gate.si.json"
    path.write_text('gate.si.json\n\n{\n "a": "b"\n}', "utf-8")
    assert (load(path).entries, load(path).findings) == ({"a": "b"}, [])


def test_writing_gives_sorted_keys_one_blank_of_indent_and_no_final_line_break() -> None:
    assert dump({"b": "\u0d9a", "a": ""}) == '{\n "a": "",\n "b": "\\u0d9a"\n}'


BROKEN = {
    "not json": (b'{"a": ', "catalogue-unreadable"),
    "empty": (b"", "catalogue-unreadable"),
    "a list": (b'["a"]', "catalogue-unreadable"),
    "binary": (bytes(range(256)), "catalogue-unreadable"),
    "cut off": (b'{"a": "b", "c', "catalogue-unreadable"),
    "too deep": (b'{"a":' * 100_000, "catalogue-unreadable"),
    "long header": (b"x\n" * 50 + b'{"a": "b"}', "catalogue-unreadable"),
    "wrong types": (b'{"a": 1, "b": null, "c": ["x"], "d": {"e": "f"}}', "value-type"),
    "duplicate keys": (b'{"a": "b", "a": "c"}', "key-duplicate"),
    "half a surrogate pair": (b'{"\\ud800": "b"}', "character-invalid"),
    "half a pair in a value": (b'{"a": "\\ud800"}', "character-invalid"),
    "huge number": (b'{"a": ' + b"9" * 5000 + b"}", "catalogue-unreadable"),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_bad_catalogue_is_reported_and_never_raises(tmp_path: Path, kind: str) -> None:
    data, code = BROKEN[kind]
    path = tmp_path / "gate.si.json"
    path.write_bytes(data)
    catalogue = load(path)
    assert code in {finding.code for finding in catalogue.findings}
    assert all(finding.severity == "error" and finding.file == str(path) for finding in catalogue.findings)
    translator = open_translator("si", path)
    assert [answer.text for answer in translator.translate("gate.py", [UNIT])] == [None]
    assert translator.findings


def test_duplicate_key_costs_only_itself(tmp_path: Path) -> None:
    path = tmp_path / "gate.si.json"
    path.write_text('{"a": "1", "b": "2", "a": "3", "c": {"b": "x"}}', "utf-8")
    assert load(path).entries == {"b": "2"}


def test_catalogue_that_is_not_there_breaks_no_build(tmp_path: Path) -> None:
    translator = open_translator("si", tmp_path / "none")
    assert [answer.text for answer in translator.translate("gate.py", [UNIT])] == [None]
    assert [(finding.code, finding.severity) for finding in translator.findings] == [("catalogue-unreadable", "error")]


def test_huge_file_is_refused_unread(tmp_path: Path) -> None:
    path = tmp_path / "gate.si.json"
    with path.open("wb") as file:
        file.truncate(LARGEST + 1)
    assert [finding.code for finding in load(path).findings] == ["catalogue-unreadable"]


def test_folder_or_missing_file_in_place_of_a_catalogue_is_reported(tmp_path: Path) -> None:
    assert [finding.code for finding in load(tmp_path).findings] == ["catalogue-unreadable"]
    assert [finding.code for finding in load(tmp_path / "none.json").findings] == ["catalogue-unreadable"]
    with pytest.raises(FacingError, match="Nothing is there"):
        open_collection("si", tmp_path / "none")


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may read every file")
def test_file_without_permission_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "gate.si.json"
    path.write_text("{}")
    path.chmod(0)
    assert [finding.code for finding in load(path).findings] == ["catalogue-unreadable"]


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.dictionaries(st.text(), st.text()))
def test_any_entries_are_read_back_as_written(tmp_path: Path, entries: dict[str, str]) -> None:
    path = tmp_path / "any.si.json"
    path.write_text(dump(entries), "utf-8")
    catalogue = load(path)
    assert catalogue.entries == entries and dump(catalogue.entries) == json.dumps(entries, indent=1, sort_keys=True)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=200))
def test_any_bytes_are_read_without_raising(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "any.si.json"
    path.write_bytes(data)
    catalogue = load(path)
    assert catalogue.findings or isinstance(catalogue.entries, dict)


def test_languages_side_by_side_are_told_apart_by_their_names(tmp_path: Path) -> None:
    for name in ("gate.si.json", "gate.zh.json", "gate.si.state.json", "deep/door.si.json"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("{}")
    collection = open_collection("si", tmp_path)
    assert sorted(path.relative_to(tmp_path).as_posix() for path in collection.files) == [
        "deep/door.si.json",
        "gate.si.json",
    ]
    assert collection.path_of("deep/door.py") == tmp_path / "deep" / "door.si.json"
    assert collection.path_of("new.py") == tmp_path / "new.si.json"


def test_folder_of_one_language_has_plain_names(tmp_path: Path) -> None:
    (tmp_path / "gate.json").write_text("{}")
    collection = open_collection("zh-Hant", tmp_path)
    assert collection.path_of("gate.py") == tmp_path / "gate.json"
    assert collection.path_of("mask/base.py") == tmp_path / "mask" / "base.json"


def test_language_that_is_no_tag_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FacingError, match=r"such as `si`"):
        open_collection("../si", tmp_path)
