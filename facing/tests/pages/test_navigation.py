"""The menu: folders have names for readers, and what is looked up is listed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from facing.config import Config
from facing.model import FacingError

from .test_build import Fake, make, text

SOURCES = {
    "index.md": "# Home\n",
    "mask/__init__.py": '"""# All masks"""\n',
    "mask/a.py": '"""# A"""\n',
    "bench/README.md": "# Benchmarks\n",
    "bench/z.md": "# Z\n",
    "bare/x.md": "# X\n",
    "notes/n.py": "# %% [markdown]\n# # N\n",
    "notes/index.md": "# Notebooks\n",
    "notes/n.ipynb": "{}",
}


def menu(page: str) -> list[str]:
    """The texts of the tree of pages, in order."""
    tree = page.partition('<h2 id="menu-pages">')[2].partition("</nav>")[0]
    return [each.strip() for each in re.findall(r">([^<>\n]+)<", tree)]


def test_a_folder_and_its_index_have_one_title_and_the_index_comes_first(tmp_path: Path) -> None:
    page = text(make(tmp_path, Config(name="Lib", order=("mask/a.py",)), sources=SOURCES), "mask/a.html")
    assert menu(page) == [
        "Home", "All masks", "All masks", "A", "bare", "X", "Benchmarks", "Benchmarks", "Z", "Notebooks", "Notebooks", "N",
    ]  # fmt: skip
    assert '<a href="index.html">All masks</a>' in page
    assert '<a href="../bench/README.html">Benchmarks</a>' in page
    assert '<li><a href="index.html">All masks</a></li>\n<li><span aria-current="page">A</span></li>' in page
    assert '<a href="README.html">Benchmarks</a>' in text(make(tmp_path, sources=SOURCES), "bench/z.html")


def test_names_of_folders_are_translated_and_those_without_a_title_say_their_language(tmp_path: Path) -> None:
    built = make(tmp_path, None, [Fake("ja", {"All masks": "マスク"})], SOURCES)
    page = text(built, "ja/mask/a.html")
    assert "<summary>マスク</summary>" in page
    assert '<summary lang="en">Benchmarks</summary>' in page
    assert '<summary lang="en">bare</summary>' in page
    assert '<a href="index.html">マスク</a>' in page


def test_what_is_looked_up_is_listed_below_the_order_of_reading(tmp_path: Path) -> None:
    config = Config(order=("mask/a.py",), also=("bench/README.md", "notes/index.md"))
    page = text(make(tmp_path, config, sources=SOURCES), "mask/a.html")
    listed = page.partition('<h2 id="menu-also">Look up</h2>')[2].partition("</nav>")[0]
    assert re.findall(r'<a href="([^"]+)">([^<]+)<', listed) == [
        ("../bench/README.html", "Benchmarks"),
        ("../notes/index.html", "Notebooks"),
    ]
    assert page.index("menu-reading") < page.index("menu-also") < page.index("menu-pages")
    assert "menu-also" not in text(make(tmp_path, sources=SOURCES), "mask/a.html")
    with pytest.raises(FacingError, match=r"Each entry of `also` must be a source of the site\. gone\.md is not\."):
        make(tmp_path, Config(also=("gone.md",)), sources=SOURCES)


def test_a_notebook_can_be_downloaded_and_its_folder_says_how_to_run_it(tmp_path: Path) -> None:
    config = Config(
        notebooks={"notes/n.py": "notes/n.ipynb", "mask/a.py": "notes/n.ipynb", "bench/z.md": "gone.ipynb"},
        colab_url="https://example.org/{notebook}",
        base=tmp_path,
    )
    built = make(tmp_path, config, sources=SOURCES)
    page = text(built, "mask/a.html")
    assert '<a href="../notes/n.ipynb" download>Download the notebook</a>' in page
    assert '<a href="../notes/index.html">How to run it</a>' in page
    assert '<a href="https://example.org/notes/n.ipynb">Open in Colab</a>' in page
    assert built.files["notes/n.ipynb"] == b"{}"
    assert '<a href="index.html">How to run it</a>' in text(built, "notes/n.html")
    other = text(built, "bench/z.html")
    assert "download" not in other and "How to run it" not in other


def test_only_pages_in_the_order_of_reading_lead_to_a_previous_and_a_next_one(tmp_path: Path) -> None:
    built = make(tmp_path, Config(order=("notes/n.py", "mask/a.py")), sources=SOURCES)

    def leads(path: str) -> list[tuple[str, str]]:
        return re.findall(r'rel="(prev|next)" href="([^"]+)"', text(built, path))

    assert leads("index.html") == [("next", "notes/n.html")]
    assert leads("notes/n.html") == [("prev", "../index.html"), ("next", "../mask/a.html")]
    assert leads("mask/a.html") == [("prev", "../notes/n.html")]
    assert leads("mask/index.html") == leads("bench/z.html") == leads("bare/x.html") == []
    assert "neighbours" not in text(built, "bench/z.html")
    plain = text(make(tmp_path, sources=SOURCES), "bench/z.html")
    assert re.findall(r'rel="(prev|next)" href="([^"]+)"', plain) == [
        ("prev", "README.html"),
        ("next", "../mask/index.html"),
    ]
