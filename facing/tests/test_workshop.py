"""The preview makes only what has changed, and what it shows is what a build would write."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from facing.catalogue.translator import open_translator
from facing.config import Config
from facing.pages.build import build
from facing.pages.site import read_site
from facing.serve import Preview, Workshop
from facing.source import Modern

PAGES = {
    "index.md": "# Home\n\nSee [A](a.py).\n",
    "a.py": '"""# A"""\n\n\ndef one():\n    """One."""\n',
    "b.py": "# See [one](a.py#one).\nx = 1\n",
    "c.py": "# Alone.\nx = 1\n",
}


@pytest.fixture
def workshop(tmp_path: Path) -> Workshop:
    for name, text in PAGES.items():
        write(tmp_path / name, text)
    write(tmp_path / "de/a.json", json.dumps({"<p>One.</p>": "<p>Eins.</p>"}))
    config = Config(name="Lib", base=tmp_path, exclude=("de/*",))
    return Workshop(tmp_path, config, Modern(), {"de": tmp_path / "de"})


def write(path: Path, text: str) -> None:
    """Write a file so that its time differs, however fast the test is."""
    path.parent.mkdir(parents=True, exist_ok=True)
    before = path.stat().st_mtime_ns if path.exists() else 0
    path.write_text(text, encoding="utf-8")
    if path.stat().st_mtime_ns == before:
        import os

        os.utime(path, ns=(before + 1_000_000, before + 1_000_000))


def made(workshop: Workshop) -> int:
    """Build, compare with a build from nothing, and give the number of pages that were made."""
    found = workshop.make()
    translators = [open_translator(language, path) for language, path in workshop.places.items()]
    assert found.files == build(read_site(workshop.source, workshop.config, Modern()), translators, live=True).files
    return workshop.kept.made_now


def test_nothing_is_made_where_nothing_has_changed(workshop: Workshop) -> None:
    assert made(workshop) == 8
    assert made(workshop) == 0


def test_a_changed_note_makes_its_page_in_each_language_and_no_other(workshop: Workshop, tmp_path: Path) -> None:
    made(workshop)
    write(tmp_path / "c.py", "# Alone, and longer.\nx = 1\n")
    assert made(workshop) == 2


def test_a_catalogue_makes_the_pages_whose_words_it_changes(workshop: Workshop, tmp_path: Path) -> None:
    made(workshop)
    write(tmp_path / "de/a.json", json.dumps({"<p>One.</p>": "<p>Nur eins.</p>"}))
    assert made(workshop) == 1
    write(tmp_path / "de/c.json", json.dumps({"<p>Alone.</p>": "<p>Allein.</p>"}))
    assert made(workshop) == 1


def test_a_link_is_followed_when_what_it_leads_to_goes(workshop: Workshop, tmp_path: Path) -> None:
    made(workshop)
    write(tmp_path / "a.py", '"""# A"""\n\n\ndef two():\n    """One."""\n')
    # The page itself and the one with the link, each in two languages.
    assert made(workshop) == 4


def test_a_new_title_or_a_new_page_makes_every_page(workshop: Workshop, tmp_path: Path) -> None:
    made(workshop)
    write(tmp_path / "a.py", '"""# Another A"""\n\n\ndef one():\n    """One."""\n')
    assert made(workshop) == 8
    write(tmp_path / "d.py", "# New.\nx = 1\n")
    assert made(workshop) == 10
    (tmp_path / "d.py").unlink()
    assert made(workshop) == 8


def runs(tmp_path: Path) -> tuple[Preview, Workshop]:
    """A page that runs and imports another."""
    write(tmp_path / "index.md", "# Home\n")
    write(tmp_path / "other.py", "value = 1\n")
    write(tmp_path / "page.py", '"""---\nrun: true\n---\n"""\nimport other\nprint("it is", other.value)\n')
    config = Config(name="Lib", base=tmp_path, run=True, run_seconds=20)
    workshop = Workshop(tmp_path, config, Modern())
    preview = Preview(workshop.make, workshop.later)
    preview.refresh()
    return preview, workshop


def test_pages_that_run_do_not_keep_the_preview_waiting(tmp_path: Path) -> None:
    preview, workshop = runs(tmp_path)
    assert b"<samp>it is" not in preview.built.files["page.html"]
    preview.catch_up()
    assert b"<samp>it is 1" in preview.built.files["page.html"]
    assert not workshop.later.waiting
    write(tmp_path / "other.py", "value = 22\n")
    preview.refresh()
    assert b"<samp>it is 1" in preview.built.files["page.html"], "the last results stand there until the page has run"
    preview.catch_up()
    assert b"<samp>it is 22" in preview.built.files["page.html"]


def test_a_page_that_fails_says_so_and_is_not_run_again_before_a_change(tmp_path: Path) -> None:
    preview, workshop = runs(tmp_path)
    write(tmp_path / "other.py", "value = 1 / 0\n")
    preview.refresh()
    preview.catch_up()
    assert "page.py:5: A page must run without an error." in preview.error
    preview.refresh()
    assert "A page must run without an error." in preview.error
    assert not workshop.later.waiting


def test_what_is_not_allowed_to_run_does_not(tmp_path: Path) -> None:
    _, workshop = runs(tmp_path)
    workshop.config = replace(workshop.config, run=False)
    workshop.later.waiting.clear()
    assert workshop.make().findings[0].code == "not-run"
    assert not workshop.later.waiting
