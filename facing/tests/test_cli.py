"""The command line: what it writes, what it says, how it ends."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from facing.cli import main

SOURCE = '"""# Title\n\nText with $x$ and [a link](gone.py).\n"""\n\nx = 1\n'


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    """Run a command; give its status and what it said."""
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    captured = capsys.readouterr()
    assert captured.out == ""
    return int(ended.value.code or 0), captured.err


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib/page.py").write_text(SOURCE, encoding="utf-8")
    return tmp_path


def test_build_writes_the_site_of_a_folder(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, said = run(capsys, "build", "lib", "--out", "out")
    assert status == 0
    assert "page.py:3: warning link-broken: A link must lead somewhere." in said
    assert "2 pages written, 1 findings" in said
    assert (folder / "out/page.html").exists()
    assert (folder / "out/index.html").exists()


def test_build_of_one_file_needs_no_configuration(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "build", "lib/page.py")[0] == 0
    assert (folder / "site/page.html").exists()


def test_strict_fails_and_writes_nothing(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, said = run(capsys, "build", "lib", "--out", "out", "--strict")
    assert status == 1
    assert "2 pages not written" in said
    assert not (folder / "out").exists()


def test_a_syntax_error_names_file_and_line_and_nothing_is_written(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "lib/broken.py").write_text("x = 1\ny = (\n", encoding="utf-8")
    status, said = run(capsys, "build", "lib", "--out", "out")
    assert status == 2
    assert "lib/broken.py:2: A page must be valid Python." in said
    assert "Traceback" not in said
    assert not (folder / "out").exists()


def test_a_source_that_is_not_there_is_one_message(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "build", "nowhere") == (
        2,
        "facing: nowhere: The source must be a file or a folder. Nothing is there.\n",
    )


@pytest.mark.parametrize("value", ["si", "=x", "si=", "../x=y", "s=x", "si/../..=x"])
def test_a_catalogue_that_is_no_pair_of_language_and_path_is_refused(
    folder: Path, capsys: pytest.CaptureFixture[str], value: str
) -> None:
    status, said = run(capsys, "build", "lib", "--catalogue", value)
    assert status == 2
    assert "--catalogue must be a language and a path" in said


def test_a_catalogue_gives_the_pages_of_its_language(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    catalogue = {"Title": "Titel", "<h1>Title</h1>": "<h1>Titel</h1>"}
    (folder / "page.de.json").write_text(json.dumps(catalogue), encoding="utf-8")
    assert run(capsys, "build", "lib/page.py", "--catalogue", "de=page.de.json", "--out", "out")[0] == 0
    page = (folder / "out/de/page.html").read_text(encoding="utf-8")
    assert "Titel</h1>" in page
    assert 'class="untranslated" lang="en"' in page


@pytest.mark.parametrize("text", ["", "{", "[]", '{"Title": 3}', '{"Title": "<script>x</script>"}', "\x00"])
def test_a_bad_catalogue_never_breaks_a_build(folder: Path, capsys: pytest.CaptureFixture[str], text: str) -> None:
    (folder / "page.de.json").write_text(text, encoding="utf-8")
    assert run(capsys, "build", "lib/page.py", "--catalogue", "de=page.de.json", "--out", "out")[0] == 0
    assert "<script>x" not in (folder / "out/de/page.html").read_text(encoding="utf-8")


def test_configuration_is_read_and_the_command_line_wins(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "facing.toml").write_text(
        'root = "lib"\nname = "Named"\nout = "built"\nurl = "https://example.org/"\n', encoding="utf-8"
    )
    assert run(capsys, "build", "--url", "https://example.com/x")[0] == 0
    page = (folder / "built/page.html").read_text(encoding="utf-8")
    assert "<title>Title · Named</title>" in page
    assert '<link rel="canonical" href="https://example.com/x/page.html">' in page
    assert (folder / "built/sitemap.xml").exists()


def test_configuration_may_stand_in_pyproject(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "pyproject.toml").write_text('[tool.facing]\nroot = "lib"\nname = "Named"\n', encoding="utf-8")
    assert run(capsys, "build")[0] == 0
    assert "Named" in (folder / "site/page.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nmae = 'x'", "Settings must be one of name, root,"),
        ("name = 3", "`name` must be a text. It is 3."),
        ("order = 'x'", "`order` must be a list."),
        ("name = ", "must be valid TOML"),
        ("profile = 'old'", "The profile must be modern or classic. It is `old`."),
    ],
)
def test_a_wrong_setting_is_one_message(
    folder: Path, capsys: pytest.CaptureFixture[str], text: str, message: str
) -> None:
    (folder / "facing.toml").write_text(text + "\n", encoding="utf-8")
    status, said = run(capsys, "build", "lib")
    assert status == 2
    assert message in said


def test_building_twice_leaves_files_that_do_not_change_alone(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(capsys, "build", "lib", "--out", "out")
    before = (folder / "out/page.html").stat().st_mtime_ns
    run(capsys, "build", "lib", "--out", "out")
    assert (folder / "out/page.html").stat().st_mtime_ns == before


def test_help_imports_neither_markdown_nor_templates() -> None:
    code = "import sys, facing.cli; print([m for m in ('markdown_it', 'jinja2', 'latex2mathml', 'pygments') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
