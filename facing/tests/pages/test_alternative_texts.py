"""What an image shows is said in the reader's language, too."""

from __future__ import annotations

import json
from pathlib import Path

from facing.catalogue.extract import keys
from facing.catalogue.translator import open_translator
from facing.config import Config
from facing.pages.build import build
from facing.pages.site import read_site
from facing.source import Modern

from .test_build import Fake, make, text

SOURCES = {
    "index.md": (
        "---\ntitle: Home\nsummary: Where it begins.\n---\nBefore.\n\n![Bars of time](a.svg)\n\n"
        "See ![a dot](a.svg) & ![Bars of time](a.svg).\n"
    ),
    "a.svg": "<svg xmlns='http://www.w3.org/2000/svg'/>",
}


def test_alternative_texts_are_keys_of_their_own_and_leave_those_of_notes_as_they_were(tmp_path: Path) -> None:
    make(tmp_path, sources=SOURCES)
    page = Modern().read(tmp_path / "index.md", tmp_path)
    assert keys(page) == [
        "Home",
        "Where it begins.",
        "<p>Before.</p>",
        "<p><span translate=no>_^_0_^_</span></p>",
        "<p>See <span translate=no>_^_0_^_</span> &amp; <span translate=no>_^_1_^_</span>.</p>",
        "Bars of time",
        "a dot",
    ]


def test_a_translated_alternative_text_stands_in_every_image_that_has_it(tmp_path: Path) -> None:
    built = make(
        tmp_path, None, [Fake("de", {"Bars of time": "Balken <der> Zeit", "<p>Before.</p>": "<p>Davor.</p>"})], SOURCES
    )
    page = text(built, "de/index.html")
    assert page.count('alt="Balken &lt;der&gt; Zeit"') == 2
    assert page.count('alt="a dot"') == 1
    assert "<p>Davor.</p>" in page
    assert 'alt="Bars of time"' in text(built, "index.html")


def test_a_catalogue_holds_it_as_plain_text(tmp_path: Path) -> None:
    make(tmp_path, sources=SOURCES)
    (tmp_path / "de").mkdir()
    (tmp_path / "de/index.json").write_text(json.dumps({"Bars of time": "Balken der Zeit", "a dot": "<b>Punkt</b>"}))
    translator = open_translator("de", tmp_path / "de")
    page = text(build(read_site(tmp_path / "index.md", Config(), Modern()), [translator]), "de/index.html")
    assert page.count('alt="Balken der Zeit"') == 2
    assert "<b>Punkt" not in page
