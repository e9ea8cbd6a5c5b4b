"""The commands for translators, as they are run."""

from __future__ import annotations

import json
from pathlib import Path

import polib
import pytest
import tyro

from facing.catalogue.cli import Commands
from facing.catalogue.files import dump
from facing.model import FacingError

SOURCE = '"""\n---\ntitle: Gates\n---\n\nOpen the gate with `key`.\n"""\n\n# Close it\nx = 1\n'
NOTE = "<p>Close it </p>\n"


def run(*arguments: object) -> int:
    return tyro.cli(Commands, args=[str(each) for each in arguments], prog="facing").run()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "gate.py").write_text(SOURCE, "utf-8")
    (tmp_path / "gate.de.json").write_text(dump({"Gates": "Tore", NOTE: "<p>Zu "}), "utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_extract_prints_keys_as_json_and_nothing_else(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("extract", "gate.py", "--profile", "classic", "--json") == 0
    keys = json.loads(capsys.readouterr().out)
    assert keys == ["Gates", "<p>Open the gate with <span translate=no>_^_0_^_</span>.</p>\n", NOTE]
    assert run("extract", ".", "--profile", "classic", "--json") == 0
    assert json.loads(capsys.readouterr().out) == {"gate.py": keys}


@pytest.mark.parametrize("profile", ["modern", "classic"])
def test_extract_fills_a_catalogue_that_lint_then_measures(
    folder: Path, capsys: pytest.CaptureFixture[str], profile: str
) -> None:
    assert run("extract", "gate.py", "--profile", profile, "--out", "new.de.json", "--json") == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert (row["catalogue"], row["added"]) == ("new.de.json", 3)
    assert run("lint", "new.de.json", "--source", "gate.py", "--profile", profile, "--json") == 0
    assert json.loads(capsys.readouterr().out)["counts"] == {"error": 0, "warning": 0, "info": 3}


def test_lint_fails_on_errors_and_prints_one_document(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("lint", "gate.de.json", "--source", "gate.py", "--profile", "classic", "--lang", "de", "--json") == 1
    report = json.loads(capsys.readouterr().out)
    errors = [finding for finding in report["findings"] if finding["severity"] == "error"]
    assert {(finding["entry"], finding["line"]) for finding in errors} == {(NOTE, 9)}
    assert {finding["code"] for finding in errors} == {"tag-unclosed"}


def test_strict_lint_fails_on_warnings(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "gate.de.json").write_text(dump({"Gates": "Gates"}), "utf-8")
    assert run("lint", "gate.de.json") == 0
    assert run("lint", "gate.de.json", "--strict") == 1
    assert "untranslated" in capsys.readouterr().out


def test_suppressed_warning_needs_a_reason_and_is_gone(folder: Path) -> None:
    (folder / "gate.de.json").write_text(dump({"Gates": "Gates"}), "utf-8")
    with pytest.raises(FacingError, match="with --reason"):
        run("review", "gate.de.json", "--entry", "Gates", "--suppress", "untranslated")
    with pytest.raises(FacingError, match="must be in the catalogue"):
        run("review", "gate.de.json", "--entry", "Doors")
    assert run("review", "gate.de.json", "--entry", "Gates", "--suppress", "untranslated", "--reason", "a name") == 0
    assert run("lint", "gate.de.json", "--strict") == 0
    assert run("review", "gate.de.json", "--entry", "Gates") == 0
    assert '"reviewed"' in (folder / "gate.de.state.json").read_text("utf-8")


def test_review_of_no_entry_says_what_is_needed_and_all_marks_every_translation(folder: Path) -> None:
    (folder / "gate.de.json").write_text(dump({"Gates": "Tore", "Doors": ""}), "utf-8")
    for arguments in ((), ("--entry", "Gates", "--all"), ("--all", "--suppress", "length", "--reason", "short")):
        with pytest.raises(FacingError, match="or mark all that are translated with --all"):
            run("review", "gate.de.json", *arguments)
    assert not (folder / "gate.de.state.json").exists()
    assert run("review", "gate.de.json", "--all") == 0
    assert (folder / "gate.de.state.json").read_text("utf-8").count('"reviewed"') == 1


def test_a_root_may_be_named_where_the_configuration_has_further_folders(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("src", "docs"):
        (folder / name).mkdir()
        (folder / name / f"{name}.py").write_text('"""Text."""\n', "utf-8")
    (folder / "facing.toml").write_text('root = "src"\n[folders]\n"." = "docs"\n', "utf-8")
    assert run("extract", "src", "--root", "src", "--json") == 0
    assert "<p>Text.</p>" in capsys.readouterr().out


def test_review_keeps_what_an_entry_was_made_from(folder: Path) -> None:
    assert run("extract", "gate.py", "--profile", "classic", "--out", "gate.de.json") == 0
    entries = json.loads((folder / "gate.de.json").read_text("utf-8"))
    (folder / "gate.de.json").write_text(dump({key: text or "Text" for key, text in entries.items()}), "utf-8")
    assert run("extract", "gate.py", "--profile", "classic", "--out", "gate.de.json") == 0
    before = json.loads((folder / "gate.de.state.json").read_text("utf-8"))["entries"]
    assert run("review", "gate.de.json", "--all") == 0
    after = json.loads((folder / "gate.de.state.json").read_text("utf-8"))["entries"]
    assert {entry["status"] for entry in after.values()} == {"reviewed"}
    assert [entry.get("source") for entry in after.values()] == [before[name].get("source") for name in after]
    assert any(entry.get("source") for entry in after.values())


def test_damaged_state_is_reported_and_not_written_over(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "gate.de.state.json").write_text("{", "utf-8")
    run("lint", "gate.de.json", "--json")
    assert "state-unreadable" in {finding["code"] for finding in json.loads(capsys.readouterr().out)["findings"]}
    with pytest.raises(FacingError, match="A state file must be"):
        run("review", "gate.de.json", "--entry", "Gates")
    with pytest.raises(FacingError, match="A state file must be"):
        run("extract", "gate.py", "--profile", "classic", "--out", "gate.de.json")
    assert (folder / "gate.de.state.json").read_text("utf-8") == "{"


def test_status_has_a_gate(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ("status", "gate.py", "--profile", "classic", "--catalogue", "de=gate.de.json")
    assert run(*arguments, "--json", "--least", "0.3") == 0
    report = json.loads(capsys.readouterr().out)
    assert report["pages"][0]["coverage"] == 0.3333 and report["pages"][0]["error"] == 1
    assert run(*arguments, "--least", "0.5", "--none", "error") == 1
    assert capsys.readouterr().err.splitlines() == [
        "all pages (de): coverage must be at least 50%. It is 33.3%.",
        "gate.py (de): no entry may be error. 1 are.",
    ]


def test_status_of_many_pages_ends_with_the_languages_and_lists_pages_when_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("a", "b", "c"):
        (tmp_path / f"{name}.py").write_text(f"# One of {name}.\n\n# Two of {name}.\nx = 1\n")
    (tmp_path / "de").mkdir()
    (tmp_path / "de/a.json").write_text(json.dumps({"<p>One of a.</p>": "<p>Eins von a.</p>"}))
    both = {"b.py": "b", "<p>One of b.</p>": "<p>Eins.</p>", "<p>Two of b.</p>": "<p>Zwei.</p>"}
    (tmp_path / "de/b.json").write_text(json.dumps(both))
    (tmp_path / "de/b.state.json").write_text("{}")
    arguments = ("status", str(tmp_path), "--catalogue", f"de={tmp_path}/de")
    assert run(*arguments) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[:2]] == ["page", "all"]
    assert lines[2:] == ["de: pages finished 1, begun 1, not begun 1.", "--pages shows those that are begun."]
    assert run(*arguments, "--pages") == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == ["page", "a.py", "all", "de:"]


@pytest.mark.parametrize("option", ["de", "=x", "de="])
def test_catalogue_without_language_or_path_is_refused(folder: Path, option: str) -> None:
    with pytest.raises(FacingError, match="LANG=PATH"):
        run("status", "gate.py", "--catalogue", option)


def test_fix_writes_what_is_certain_and_a_dry_run_nothing(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = dump({"<p>Close it</p>": "<p>Zu damit </p>"})
    (folder / "gate.de.json").write_text(before, "utf-8")
    assert run("fix", "gate.de.json", "--dry-run", "--json") == 0
    (repair,) = json.loads(capsys.readouterr().out)["repairs"]
    assert (repair["entry"], repair["code"]) == ("<p>Close it</p>", "trailing-blank")
    assert (folder / "gate.de.json").read_text("utf-8") == before
    assert run("fix", "gate.de.json") == 0
    assert json.loads((folder / "gate.de.json").read_text("utf-8")) == {"<p>Close it</p>": "<p>Zu damit</p>"}


def test_fix_leaves_a_broken_catalogue_alone(folder: Path) -> None:
    text = '{"<p>a</p>": "<p>b </p>", "x": 1}'
    (folder / "gate.de.json").write_text(text, "utf-8")
    assert run("fix", "gate.de.json") == 1
    assert (folder / "gate.de.json").read_text("utf-8") == text


def test_po_goes_out_and_comes_back(folder: Path) -> None:
    assert (
        run("po", "export", "gate.py", "--out", "gate.po", "--catalogue", "gate.de.json", "--profile", "classic") == 0
    )
    file = polib.pofile(str(folder / "gate.po"))
    assert [entry.msgstr for entry in file] == ["Tore", "", "<p>Zu "]
    file.find(NOTE).msgstr = "<p>Zu damit </p>\n"
    file.save()
    assert run("po", "import", "gate.po", "--source", "gate.py", "--out", "gate.de.json", "--profile", "classic") == 0
    assert json.loads((folder / "gate.de.json").read_text("utf-8"))[NOTE] == "<p>Zu damit </p>\n"
    assert run("po", "export", "gate.py", "--out", "gate.pot", "--profile", "classic") == 0
    assert all(not entry.msgstr for entry in polib.pofile(str(folder / "gate.pot")))


def test_language_that_nothing_tells_is_asked_for(folder: Path) -> None:
    with pytest.raises(FacingError, match="give --lang"):
        run("extract", "gate.py", "--out", "gate.json")


def test_source_that_is_not_there_is_named(folder: Path) -> None:
    with pytest.raises(FacingError, match=r"none\.py: The source must be"):
        run("extract", "none.py")


def test_folder_of_sources_needs_a_folder_of_catalogues(folder: Path) -> None:
    (folder / "door.py").write_text("# Door\n", "utf-8")
    with pytest.raises(FacingError, match="let --out be a folder"):
        run("extract", ".", "--out", "all.de.json")
    assert run("extract", ".", "--out", "de", "--lang", "de") == 0
    assert sorted(path.name for path in (folder / "de").iterdir()) == [
        "door.json",
        "door.state.json",
        "gate.json",
        "gate.state.json",
    ]


def test_two_sources_of_one_name_share_a_catalogue_and_lose_nothing(folder: Path) -> None:
    (folder / "gate.md").write_text("# Gates of old\n\nThey were open.\n", "utf-8")
    assert run("extract", ".", "--out", "de", "--lang", "de", "--prune", "--profile", "classic") == 0
    assert run("extract", ".", "--out", "de", "--lang", "de", "--prune", "--profile", "classic") == 0
    keys = set(json.loads((folder / "de" / "gate.json").read_text("utf-8")))
    assert {"Gates", NOTE, "Gates of old", "<h1>Gates of old</h1>\n<p>They were open. </p>\n"} <= keys


def test_configuration_names_sources_profile_and_catalogues(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "src" / "deep").mkdir(parents=True)
    (folder / "src" / "deep" / "gate.py").write_text(SOURCE, "utf-8")
    (folder / "facing.toml").write_text('root = "src"\nprofile = "classic"\n[catalogues]\nde = "de"\n', "utf-8")
    assert run("extract", "src/deep/gate.py", "--out", "de", "--lang", "de") == 0
    assert next(iter(json.loads((folder / "de" / "deep" / "gate.json").read_text("utf-8")))) == NOTE
    capsys.readouterr()
    assert run("status", "--json") == 0
    assert [row["page"] for row in json.loads(capsys.readouterr().out)["pages"]] == ["deep/gate.py"]


def test_glossary_in_the_folder_of_catalogues_is_used(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "de").mkdir()
    (folder / "de" / "gate.json").write_text(dump({"Gates": "Türen"}), "utf-8")
    (folder / "de" / "glossary.toml").write_text('"gate" = "Tor"\n', "utf-8")
    run("lint", "de", "--lang", "de", "--json")
    (finding,) = json.loads(capsys.readouterr().out)["findings"]
    assert (finding["code"], finding["entry"], len(finding["name"])) == ("glossary", "Gates", 16)


def test_report_joins_coverage_staleness_and_lint(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ("report", "gate.py", "--profile", "classic", "--catalogue", "de=gate.de.json")
    assert run(*arguments, "--json") == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert (row["lang"], row["covered"], row["pages"]) == ("de", "33% of 3", "0 of 1")
    assert row["errors"] > 0
    assert run(*arguments, "--strict") == 1
    head, line = capsys.readouterr().out.splitlines()
    assert head.split()[:2] == ["lang", "covered"]
    assert line.startswith("de    33% of 3")
