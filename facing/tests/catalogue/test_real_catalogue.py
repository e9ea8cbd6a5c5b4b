"""A real catalogue, machine-translated into Sinhala, beside the source it belongs to."""

from __future__ import annotations

import json
import shutil
from collections import Counter, defaultdict
from pathlib import Path

import pytest
import tyro

from facing.catalogue import open_translator
from facing.catalogue.cli import Commands
from facing.classic import Classic
from facing.lint.words import find_dictionary


@pytest.fixture
def folder(tmp_path: Path, tutorials: Path, catalogues: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copyfile(tutorials / "transformers" / "mha.py", tmp_path / "mha.py")
    shutil.copyfile(catalogues / "mha.si.json", tmp_path / "mha.si.json")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments: str) -> int:
    return tyro.cli(Commands, args=arguments, prog="facing").run()


def body(text: str) -> str:
    return text[text.index("{") :]


def first(folder: Path) -> str:
    return next(iter(json.loads(body((folder / "mha.si.json").read_text("utf-8")))))


def test_extract_prints_all_keys(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("extract", "--profile", "classic", "mha.py", "--json") == 0
    keys = json.loads(capsys.readouterr().out)
    assert len(keys) == 37
    assert set(keys) == set(json.loads(body((folder / "mha.si.json").read_text("utf-8"))))


def test_extract_leaves_the_bytes_of_an_unchanged_page(folder: Path) -> None:
    before = (folder / "mha.si.json").read_text("utf-8")
    assert run("extract", "--profile", "classic", "mha.py", "--out", "mha.si.json") == 0
    assert body((folder / "mha.si.json").read_text("utf-8")) == body(before)


def lint(capsys: pytest.CaptureFixture[str]) -> dict[str, set[str]]:
    run("lint", "mha.si.json", "--source", "mha.py", "--profile", "classic", "--lang", "si", "--json")
    found: dict[str, set[str]] = defaultdict(set)
    for finding in json.loads(capsys.readouterr().out)["findings"]:
        found[finding["code"]].add(finding["entry"])
        if finding["severity"] == "error":
            found["errors"].add(finding["entry"])
    return found


def test_errors_stand_in_the_first_entry_only(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = lint(capsys)
    assert found["errors"] == {first(folder)}
    assert found["tag-stray"] == found["link-in-link"] == found["tag-misnested"] == {first(folder)}
    assert not found["placeholder-lost"] and not found["missing"] and not found["obsolete"]


def test_faults_of_wording_are_found(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = lint(capsys)
    assert len(found["joiner-lost"]) >= 8
    assert len(found["trailing-blank"]) == 6
    assert [entry for entry in found["debris"] if entry.startswith("<p>resulting mask")] == list(found["debris"])
    assert len(found["first-word-glued"]) >= (20 if find_dictionary("si") else 3)


def test_page_is_translated_but_for_its_first_note(folder: Path) -> None:
    page = Classic().read(folder / "mha.py", folder)
    answers = open_translator("si", folder / "mha.si.json").translate(page.path, page.units)
    assert Counter(answer.reason for answer in answers) == {"translated": 38, "error": 1}
    for unit, answer in zip(page.units, answers, strict=True):
        assert (answer.text is None) == (unit.key == first(folder))
        assert "_^_" not in unit.render(answer.text)


def test_repairs_leave_fewer_warnings_and_no_other_change(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = {code: len(entries) for code, entries in lint(capsys).items()}
    assert run("fix", "mha.si.json") == 0
    capsys.readouterr()
    after = {code: len(entries) for code, entries in lint(capsys).items()}
    assert after.get("trailing-blank", 0) == 0
    assert all(after[code] <= before.get(code, 0) for code in after)


def test_catalogue_goes_through_po_unchanged(folder: Path) -> None:
    before = body((folder / "mha.si.json").read_text("utf-8"))
    classic = ("--profile", "classic")
    assert run("po", "export", "mha.py", "--out", "mha.po", "--catalogue", "mha.si.json", *classic) == 0
    assert run("po", "import", "mha.po", "--source", "mha.py", "--out", "new.si.json", *classic) == 0
    assert (folder / "new.si.json").read_text("utf-8") == before
