"""What search shows of a text begins and ends at a word, and never inside a letter."""

from __future__ import annotations

import unicodedata
from pathlib import Path
from typing import Any

import pytest

from facing.config import Config
from facing.pages.build import build
from facing.pages.site import read_site
from facing.source import Modern

from .conftest import Look
from .test_search import search

pytestmark = pytest.mark.browser

# In the middle of each text, far from both ends, stands the word that is looked for.
TEXTS = {
    "blanks": f"{'ක්‍රමයේ විශ්වාසය ' * 30}needle {'ක්‍රමයේ විශ්වාසය ' * 30}",
    "none": f"{'ක්‍රමයේවිශ්වාසය' * 30}needle{'ක්‍රමයේවිශ්වාසය' * 30}",
    "pairs": f"{'𝛼𝛽' * 60}needle{'𝛼𝛽' * 60}",
}


@pytest.mark.parametrize("kind", TEXTS)
def test_an_excerpt_is_cut_between_letters(browser: Any, look: Look, tmp_path: Path, kind: str) -> None:
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages/index.md").write_text(f"# Home\n\n{TEXTS[kind]}\n", encoding="utf-8")
    build(read_site(tmp_path / "pages", Config(name="Lib"), Modern())).write(tmp_path / "site")
    search(browser, tmp_path / "site/index.html", "needle")
    shown = browser.execute_script("return document.querySelector('.results small').textContent")
    assert shown.startswith("… ") and shown.endswith(" …") and "needle" in shown
    inside = shown.removeprefix("… ").removesuffix(" …")
    assert unicodedata.category(inside[0]) in ("Lo", "Ll"), "no sign without its letter, no half of a pair"
    at = TEXTS[kind].index("needle") - inside.index("needle")
    assert TEXTS[kind][at:].startswith(inside)
    assert at == 0 or TEXTS[kind][at - 1] != "\u200d"
    after = TEXTS[kind][at + len(inside)]
    assert not unicodedata.category(after).startswith("M") and inside[-1] != "\u200d"
    if kind == "blanks":
        assert inside.split()[0] in TEXTS[kind].split()
