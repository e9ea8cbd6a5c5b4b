"""The live preview: it serves from memory, builds again on a change, and survives an error."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from facing.config import Config
from facing.pages.build import Built, build
from facing.pages.site import read_site
from facing.serve import Preview, Remembering, server, state
from facing.source import Modern


@pytest.fixture
def preview(tmp_path: Path) -> Preview:
    (tmp_path / "a.py").write_text("# One.\nx = 1\n", encoding="utf-8")
    profile = Remembering(Modern())

    def make() -> Built:
        return build(read_site(tmp_path, Config(), profile), live=True)

    found = Preview(make)
    found.refresh()
    return found


def test_a_change_gives_a_new_version_and_no_change_does_not(preview: Preview, tmp_path: Path) -> None:
    assert preview.version == 1
    preview.refresh()
    assert preview.version == 1
    (tmp_path / "a.py").write_text("# Two, and longer.\nx = 1\n", encoding="utf-8")
    preview.refresh()
    assert preview.version == 2
    assert b"Two, and longer." in preview.built.files["a.html"]


def test_an_error_keeps_the_last_good_pages_and_is_shown(preview: Preview, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = (\n", encoding="utf-8")
    preview.refresh()
    found = preview.answer("/_facing/version.json")
    assert found is not None
    assert "a.py:1: A page must be valid Python." in json.loads(found[0])["error"]
    assert b"One." in preview.built.files["a.html"]
    (tmp_path / "a.py").write_text("# One.\nx = 12\n", encoding="utf-8")
    preview.refresh()
    assert preview.error == ""


def test_a_preview_may_ask_its_server_and_a_written_page_may_not(preview: Preview) -> None:
    assert b"connect-src 'self'" in preview.built.files["a.html"]
    assert b"live.js" in preview.built.files["a.html"]


def test_paths_are_answered_with_their_types(preview: Preview) -> None:
    for path, kind in (
        ("/", "text/html"),
        ("/a.html?x#y", "text/html"),
        ("/_facing/style.css", "text/css"),
        ("/_facing/page.js", "text/javascript"),
    ):
        found = preview.answer(path)
        assert found is not None
        assert found[1].startswith(kind)
    assert preview.answer("/../a.py") is None
    assert preview.answer("/nothing.html") is None


def test_the_state_of_sources_changes_when_one_is_added(preview: Preview, tmp_path: Path) -> None:
    before = state([tmp_path])
    (tmp_path / "b.md").write_text("B\n", encoding="utf-8")
    assert state([tmp_path]) != before


def test_the_watcher_refreshes_and_stops(preview: Preview, tmp_path: Path) -> None:
    stop, done = threading.Event(), threading.Event()
    preview.refresh = done.set  # type: ignore[method-assign]
    thread = threading.Thread(target=preview.watch, args=([tmp_path], stop, 0.01))
    thread.start()
    # The watcher takes its first look when it starts, so files are added until it has seen one come.
    for number in range(1000):
        (tmp_path / f"n{number}.md").write_text("N\n", encoding="utf-8")
        if done.wait(0.02):
            break
    stop.set()
    thread.join()
    assert done.is_set()


def test_the_server_answers(preview: Preview) -> None:
    running = server(preview, "127.0.0.1", 0)
    thread = threading.Thread(target=running.serve_forever, daemon=True)
    thread.start()
    address = f"http://127.0.0.1:{running.server_address[1]}"
    try:
        with urlopen(f"{address}/a.html") as answer:
            assert (answer.status, answer.headers["Cache-Control"]) == (200, "no-store")
            assert b"One." in answer.read()
        with pytest.raises(HTTPError) as missing:
            urlopen(f"{address}/missing")
        with missing.value as answer:
            assert answer.code == 404
    finally:
        running.shutdown()
        running.server_close()
        thread.join()
