"""What stands beside the text covers none of it, on a phone and on a wide screen."""

from __future__ import annotations

from typing import Any

import pytest

from .conftest import Look
from .test_browser import js

pytestmark = pytest.mark.browser

# Which pieces of code lie below their button: the boxes of the text are those of its lines, not of the block.
COVERED = """
const hits = [];
for (const button of document.querySelectorAll('.copy')) {
  if (!button.checkVisibility()) continue;
  const box = button.getBoundingClientRect();
  const range = document.createRange();
  range.selectNodeContents(button.closest('pre').querySelector('code'));
  for (const line of range.getClientRects()) {
    const wide = line.right > box.left + 1 && line.left < box.right - 1;
    const high = line.bottom > box.top + 1 && line.top < box.bottom - 1;
    if (wide && high && line.width < button.closest('pre').clientWidth - 1) hits.push([line.left, line.right, box.left, box.right]);
  }
}
return [document.querySelectorAll('.copy').length, hits];
"""
# Whether the way to the page is one line, and what stands around its first step.
WAY = """
const boxes = [...document.querySelectorAll('.way li')].map(each => each.getBoundingClientRect());
const item = document.querySelector('.way li:not(:last-child)');
const line = Math.max(...boxes.map(box => box.top)) < Math.min(...boxes.map(box => box.bottom));
return [line, getComputedStyle(item, '::before').content, getComputedStyle(item, '::after').content];
"""


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize(
    "page", ["attention.html", "guide.html", "runs.html", "ja/attention.html", "ar/attention.html"]
)
def test_a_button_covers_no_code(browser: Any, look: Look, served: str, page: str, width: int) -> None:
    look(width, 844)
    browser.get(served + page)
    count, hits = js(browser, COVERED)
    assert count > 0
    assert hits == []


def test_on_a_phone_the_way_to_a_page_has_a_line_of_its_own_and_none_starts_with_a_slash(
    browser: Any, look: Look, served: str
) -> None:
    look(390, 844)
    browser.get(served + "mask/causal.html")
    one_line, before, after = js(browser, WAY)
    assert one_line
    assert before == "none"
    assert after == '"/"'
