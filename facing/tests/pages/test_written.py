"""Writing a site: what is no longer made goes, and what somebody else has put there stays."""

from __future__ import annotations

import json
from pathlib import Path

from facing.pages.build import Built
from facing.pages.written import LIST, fingerprint


def site(*paths: str) -> Built:
    return Built({path: f"page {path}".encode() for path in paths}, ())


def names(out: Path) -> set[str]:
    return {path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file()} - {LIST}


def test_the_page_of_a_source_that_is_gone_goes_and_its_empty_folder_with_it(tmp_path: Path) -> None:
    out = tmp_path / "site"
    site("index.html", "old/deep/a.html", "si/old/deep/a.html").write(out)
    assert site("index.html").write(out) == ["old/deep/a.html", "si/old/deep/a.html"]
    assert names(out) == {"index.html"}
    assert not (out / "old").exists()


def test_files_that_facing_has_not_written_stay(tmp_path: Path) -> None:
    out = tmp_path / "site"
    (out / "old").mkdir(parents=True)
    (out / "old/CNAME").write_text("example.org")
    site("index.html", "old/a.html").write(out)
    site("index.html").write(out)
    assert names(out) == {"index.html", "old/CNAME"}


def test_a_page_that_somebody_has_changed_stays(tmp_path: Path) -> None:
    site("index.html", "a.html").write(tmp_path)
    (tmp_path / "a.html").write_text("my own")
    assert site("index.html").write(tmp_path) == []
    assert (tmp_path / "a.html").read_text() == "my own"


def test_two_sources_in_one_folder_leave_each_others_pages_alone(tmp_path: Path) -> None:
    out = tmp_path / "site"
    site("a.html", "_facing/style.css").write(out, tmp_path / "a.py")
    site("b.html", "_facing/style.css").write(out, tmp_path / "b.py")
    site("c.html").write(out, tmp_path / "b.py")
    assert names(out) == {"a.html", "c.html", "_facing/style.css"}


def test_a_list_that_names_files_elsewhere_takes_nothing_away(tmp_path: Path) -> None:
    out = tmp_path / "site"
    out.mkdir()
    (tmp_path / "mine.txt").write_text("mine")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/b.txt").write_text("mine")
    (out / "link").symlink_to(tmp_path / "outside")
    (out / "c.txt").symlink_to(tmp_path / "mine.txt")
    mine = fingerprint(b"mine")
    paths = ("../mine.txt", str(tmp_path / "mine.txt"), "link/b.txt", "c.txt")
    (out / LIST).write_text(json.dumps({"": dict.fromkeys(paths, mine)}))
    assert site("index.html").write(out) == []
    assert (tmp_path / "mine.txt").read_text() == (tmp_path / "outside/b.txt").read_text() == "mine"
    assert (out / "c.txt").is_symlink()


def test_a_list_that_cannot_be_read_is_made_anew(tmp_path: Path) -> None:
    for broken in ("{", "[1]", '{"": [1]}', '{"": {"a.html": 3}}'):
        (tmp_path / LIST).write_text(broken)
        (tmp_path / "a.html").write_text("page a.html")
        assert site("index.html").write(tmp_path) == []
        assert names(tmp_path) == {"index.html", "a.html"}
        assert json.loads((tmp_path / LIST).read_text())[""].keys() == {"index.html"}


def test_writing_the_same_site_twice_touches_no_file(tmp_path: Path) -> None:
    site("index.html", "a.html").write(tmp_path)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    site("index.html", "a.html").write(tmp_path)
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before
