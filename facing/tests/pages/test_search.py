"""The search index: what of a page can be found, and where it leads."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from facing.config import Config

from .test_build import Fake, make, text


def index(folder: Path, language: str = "en", *translators: Fake) -> dict[str, Any]:
    script = text(make(folder, Config(name="Lib", package="lib"), translators), f"_facing/search.{language}.js")
    before, _, data = script.partition(" = ")
    assert before == "window.facingIndex"
    found: dict[str, Any] = json.loads(data.rstrip().removesuffix(";"))
    return found


def test_pages_symbols_and_headings_can_be_found(tmp_path: Path) -> None:
    found = index(tmp_path)
    pages = [path for path, _ in found["pages"]]
    assert sorted(pages) == ["guide.html", "index.html", "layer.html", "mask/causal.html"]
    layer = [entry[1:] for entry in found["entries"] if pages[entry[0]] == "layer.html"]
    assert ["layer", "Layer", "Why."] in layer
    assert ["Layer.forward", "Layer.forward", ""] in layer
    assert ["L16", "", "The square of x, see masks."] in layer


def test_every_entry_leads_to_an_anchor_of_its_page(tmp_path: Path) -> None:
    built = make(tmp_path)
    data = json.loads(text(built, "_facing/search.en.js").partition(" = ")[2].rstrip().removesuffix(";"))
    for number, anchor, _, _ in data["entries"]:
        page = text(built, data["pages"][number][0])
        assert not anchor or f'id="{anchor}"' in page, anchor


def test_each_language_finds_its_own_words(tmp_path: Path) -> None:
    fake = Fake("si", {"What it is for.": "ඇයි.", "Causal masks": "හේතු"})
    found = index(tmp_path, "si", fake)
    assert "ඇයි." in [words for *_, words in found["entries"]]
    assert ["mask/causal.html", "හේතු"] in found["pages"]


def test_formulas_and_blocks_of_code_are_no_words(tmp_path: Path) -> None:
    sources = {"a.md": "The $x^2$ of `<b>` &amp; co.\n\n```\ncode\n```\n"}
    built = make(tmp_path, sources=sources)
    assert '"The of <b> & co."' in text(built, "_facing/search.en.js")
    assert "code" not in text(built, "_facing/search.en.js")
