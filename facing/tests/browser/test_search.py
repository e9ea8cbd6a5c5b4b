"""Search in Chromium: in languages with and without blanks, from disk, by keyboard."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from facing.config import Config
from facing.model import Translated, Unit
from facing.pages.build import build
from facing.pages.site import read_site
from facing.source import Modern

from .conftest import Look

pytestmark = pytest.mark.browser

SOURCE = '''"""---
title: Attention
summary: What a query finds.
---
Attention finds the keys that match a query.
"""


def get_scores(query, key):
    """The dot product measures the match, na\\u00efvely."""
    return query @ key
'''
WORDS = {
    "ja": {
        "Attention": "注意機構",
        "<p>Attention finds the keys that match a query.</p>": "<p>注意機構は、クエリに合うキーを見つけます。</p>",
    },
    "zh": {
        "Attention": "注意力",
        "<p>Attention finds the keys that match a query.</p>": "<p>注意力机制会找到与查询匹配的键。</p>",
    },
    "si": {
        "Attention": "අවධානය",
        "<p>Attention finds the keys that match a query.</p>": "<p>අවධානය මගින් විමසුමට ගැළපෙන යතුරු සොයා ගනී; ක්‍රමය සරලයි.</p>",
    },
}
HITS = "return [...document.querySelectorAll('.results a')].map(a => [a.getAttribute('href'), a.innerText])"


@dataclass(frozen=True)
class Fixed:
    lang: str

    def translate(self, page: str, units: Sequence[Unit]) -> list[Translated]:
        found = [WORDS[self.lang].get(unit.key) for unit in units]
        return [Translated(text, "translated" if text else "missing") for text in found]


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("small")
    (folder / "room").mkdir()
    (folder / "room/attention.py").write_text(SOURCE, encoding="utf-8")
    (folder / "room/other.md").write_text("# Something else\n\nNothing of interest, keyhole aside.\n", encoding="utf-8")
    built = build(read_site(folder, Config(name="Small"), Modern()), [Fixed(lang) for lang in WORDS])
    built.write(folder / "out")
    return folder / "out"


def search(browser: Any, page: Path, query: str) -> list[tuple[str, str]]:
    from selenium.webdriver.support.ui import WebDriverWait

    browser.get(page.as_uri())
    browser.find_element("css selector", ".search input").send_keys(query)
    WebDriverWait(browser, 10).until(lambda b: b.find_element("css selector", ".results [role=status]").text)
    return [tuple(hit) for hit in browser.execute_script(HITS)]


@pytest.mark.parametrize(
    ("page", "query", "place"),
    [
        ("room/other.html", "match query", "attention.html#L1"),
        ("room/other.html", "get_sc", "attention.html#get_scores"),
        ("room/other.html", "NAIVELY", "attention.html#get_scores"),
        ("ja/room/other.html", "クエリに合うキー", "attention.html#L1"),
        ("ja/room/other.html", "注意機構", "attention.html"),
        ("zh/room/other.html", "匹配的键", "attention.html#L1"),
        ("zh/room/other.html", "查询注意力机制", "attention.html#L1"),
        ("si/room/other.html", "යතුරු", "attention.html#L1"),
        ("si/room/other.html", "ක්රමය", "attention.html#L1"),
    ],
)
def test_words_of_each_language_are_found_from_disk(
    browser: Any, look: Look, small: Path, page: str, query: str, place: str
) -> None:
    hits = search(browser, small / page, query)
    folder = (small / page).parent
    assert any((folder / href.partition("#")[0]).resolve() == folder / place.partition("#")[0] for href, _ in hits)
    assert any(href.endswith(place.partition("attention.html")[2]) for href, _ in hits)
    assert not [entry for entry in browser.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")]


def test_whole_words_come_before_parts_of_words(browser: Any, look: Look, small: Path) -> None:
    assert "attention.html" in search(browser, small / "index.html", "key")[0][0]


def test_what_is_nowhere_is_said_to_be_nowhere(browser: Any, look: Look, small: Path) -> None:
    assert search(browser, small / "index.html", "elephant") == []
    assert browser.find_element("css selector", ".results [role=status]").text == "Nothing found"


def test_the_keyboard_finds_chooses_and_leaves(browser: Any, look: Look, small: Path) -> None:
    from selenium.webdriver import ActionChains, Keys

    browser.get((small / "index.html").as_uri())
    ActionChains(browser).send_keys("/").perform()
    ActionChains(browser).send_keys("dot product").perform()
    time.sleep(0.5)
    ActionChains(browser).send_keys(Keys.ARROW_DOWN).perform()
    assert browser.execute_script("return document.activeElement.closest('.results') !== null")
    ActionChains(browser).send_keys(Keys.ESCAPE).perform()
    assert not browser.find_element("css selector", ".results").is_displayed()
    ActionChains(browser).send_keys("dot product").send_keys(Keys.ENTER).perform()
    time.sleep(0.5)
    assert browser.current_url.endswith("room/attention.html#get_scores")


def test_results_fit_a_phone(browser: Any, look: Look, small: Path) -> None:
    look(375, 812)
    search(browser, small / "index.html", "query")
    box = browser.execute_script("return document.querySelector('.results').getBoundingClientRect()")
    assert box["left"] >= 0
    assert box["right"] <= 375
    assert browser.execute_script("return document.documentElement.scrollWidth") <= 375


def test_without_scripts_there_is_no_search_field(browser: Any, look: Look, small: Path) -> None:
    look(scripts=False)
    browser.get((small / "index.html").as_uri())
    assert not browser.find_element("css selector", ".search").is_displayed()
