"""Pages in Chromium: how they look, how they are used, and that nobody is left out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from .conftest import AXE, Look

pytestmark = pytest.mark.browser

PAGES = [
    "index.html",
    "attention.html",
    "mask/causal.html",
    "guide.html",
    "runs.html",
    "api.html",
    "ar/attention.html",
    "ja/guide.html",
    "ar/api.html",
]
SIZES = [(375, 812), (768, 1024), (1440, 900), (2200, 1200)]


# Measures elements found in the first row that has both a note and code.
MEASURE = """
const row = document.querySelector('.row:has(.note):has(.code)');
return ['.note', '.code'].map(name => row.querySelector(name).getBoundingClientRect()).map(box => [box.left, box.top]);
"""
HEIGHTS = """
const formula = document.querySelectorAll('.formula')[arguments[0]];
return arguments[1].map(name => formula.querySelector(name).getBoundingClientRect().height);
"""
ALIGNED = """
const cells = document.querySelectorAll('mtable.align > mtr > mtd:nth-child(2)');
return [...cells].map(cell => cell.querySelector('mo').getBoundingClientRect().left);
"""
REACHABLE = """
const all = document.querySelectorAll('a[href], button, summary, [tabindex="0"]');
return [...all].filter(each => each.tabIndex >= 0 && each.checkVisibility()).length;
"""
FOCUSED = """
const each = document.activeElement;
return [getComputedStyle(each).outlineStyle, [...document.querySelectorAll('*')].indexOf(each)];
"""


def js(browser: Any, code: str, *values: Any) -> Any:
    return browser.execute_script(code, *values)


def complaints(browser: Any) -> list[str]:
    return [entry["message"] for entry in browser.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")]


def press(browser: Any, *keys: str) -> None:
    from selenium.webdriver import ActionChains

    for key in keys:
        ActionChains(browser).send_keys(key).perform()


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("size", [SIZES[0], SIZES[2]])
@pytest.mark.parametrize("page", PAGES)
def test_axe_finds_nothing(browser: Any, look: Look, served: str, page: str, size: tuple[int, int], theme: str) -> None:
    assert AXE.exists(), "axe-core is not installed; run `make test-browser`"
    look(*size, theme=theme)
    browser.get(served + page)
    js(browser, AXE.read_text(encoding="utf-8"))
    found = browser.execute_async_script("axe.run(document, {resultTypes: ['violations']}).then(arguments[0])")
    problems = [
        f"{each['id']}: {node['html'][:150]} {node['failureSummary']}"
        for each in found["violations"]
        for node in each["nodes"]
    ]
    assert problems == []


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("page", PAGES)
def test_no_page_scrolls_sideways(browser: Any, look: Look, served: str, page: str, size: tuple[int, int]) -> None:
    look(*size)
    browser.get(served + page)
    assert js(browser, "return document.documentElement.scrollWidth") <= size[0]


@pytest.mark.parametrize("page", PAGES)
def test_a_page_from_disk_is_whole_and_nothing_is_refused(browser: Any, look: Look, site: Path, page: str) -> None:
    browser.get((site / page).as_uri())
    assert complaints(browser) == []
    assert js(browser, "return getComputedStyle(document.body).marginTop") == "0px"
    assert js(browser, "return document.styleSheets.length") >= 1


@pytest.mark.parametrize("page", PAGES)
def test_a_page_from_a_server_makes_no_other_request(browser: Any, look: Look, served: str, page: str) -> None:
    browser.get(served + page)
    assert complaints(browser) == []
    assert all(
        name.startswith((served, "data:"))
        for name in js(browser, "return performance.getEntriesByType('resource').map(e => e.name)")
    )


def test_notes_stand_left_of_their_code_on_a_wide_screen_and_above_it_on_a_phone(
    browser: Any, look: Look, served: str
) -> None:
    browser.get(served + "attention.html")
    (note_left, note_top), (code_left, code_top) = js(browser, MEASURE)
    assert note_left < code_left
    assert note_top == code_top
    look(375, 812)
    (note_left, note_top), (code_left, code_top) = js(browser, MEASURE)
    assert note_top < code_top
    assert note_left == code_left


def test_on_a_right_to_left_page_notes_stand_right_and_code_runs_left_to_right(
    browser: Any, look: Look, served: str
) -> None:
    browser.get(served + "ar/attention.html")
    (note, _), (code, _) = js(browser, MEASURE)
    assert note > code
    assert js(browser, "return getComputedStyle(document.querySelector('.code')).direction") == "ltr"


def test_radicals_and_braces_grow_with_what_they_hold(browser: Any, look: Look, served: str) -> None:
    browser.get(served + "attention.html")
    js(browser, "return document.fonts.ready.then(() => true)")
    assert js(browser, "return document.fonts.check('16px \"STIX Two Math\"')")
    root, plain = js(browser, HEIGHTS, 0, ["msqrt", "msqrt mi"])
    assert root > plain
    brace, line = js(browser, HEIGHTS, 1, ["mo[stretchy=true][form=prefix]", "mtr"])
    assert brace > 1.6 * line


def test_equations_are_aligned_at_their_signs(browser: Any, look: Look, served: str) -> None:
    browser.get(served + "attention.html")
    lefts = js(browser, ALIGNED)
    assert len(lefts) == 2
    assert abs(lefts[0] - lefts[1]) < 1


def test_the_first_tab_reaches_the_skip_link_and_it_leads_to_the_page(browser: Any, look: Look, served: str) -> None:
    browser.get(served + "attention.html")
    press(browser, "\ue004")
    assert js(browser, "return document.activeElement.className") == "skip"
    press(browser, "\ue007")
    assert js(browser, "return document.activeElement.id") == "main"


def test_every_control_can_be_reached_and_seen_with_the_keyboard(browser: Any, look: Look, served: str) -> None:
    browser.get(served + "mask/causal.html")
    count = js(browser, REACHABLE)
    seen = set()
    for _ in range(count):
        press(browser, "\ue004")
        outline, place = js(browser, FOCUSED)
        assert outline != "none"
        seen.add(place)
    assert len(seen) == count


@pytest.mark.parametrize("scripts", [True, False])
def test_the_menu_of_a_phone_opens_and_closes_with_the_keyboard(
    browser: Any, look: Look, served: str, scripts: bool
) -> None:
    look(375, 812, scripts=scripts)
    browser.get(served + "attention.html")
    menu = browser.find_element("id", "menu")
    assert not menu.is_displayed()
    button = browser.find_element("class name", "open-menu")
    button.send_keys("\ue007")
    assert menu.is_displayed()
    press(browser, "\ue00c")
    assert not menu.is_displayed()


def test_without_a_script_the_page_is_complete(browser: Any, look: Look, served: str) -> None:
    browser.get(served + "attention.html")
    script = "const b = document.body.cloneNode(true); b.querySelectorAll('.copy').forEach(e => e.remove()); return b.textContent"
    with_script = js(browser, script)
    look(scripts=False)
    browser.get(served + "attention.html")
    look(scripts=True)
    assert js(browser, script) == with_script


def test_hovering_a_name_shows_its_other_uses(browser: Any, look: Look, served: str) -> None:
    from selenium.webdriver import ActionChains

    browser.get(served + "attention.html")
    name = next(each for each in browser.find_elements("css selector", ".code .n") if each.text == "scores")
    ActionChains(browser).move_to_element(name).perform()
    marked = [each.text for each in browser.find_elements("class name", "same")]
    assert len(marked) > 2
    assert set(marked) == {"scores"}


def test_copying_leaves_line_numbers_out(browser: Any, look: Look, served: str) -> None:
    permissions = {"permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"], "origin": served.rstrip("/")}
    browser.execute_cdp_cmd("Browser.grantPermissions", permissions)
    browser.get(served + "mask/causal.html")
    row = browser.find_elements("css selector", ".code")[-1]
    button = row.find_element("class name", "copy")
    js(browser, "arguments[0].click()", button)
    copied = browser.execute_async_script("setTimeout(() => navigator.clipboard.readText().then(arguments[0]), 100)")
    assert copied == "        return scores.tril()\n"
    assert button.get_attribute("textContent") == "Copied"


def test_selecting_code_leaves_line_numbers_out_and_keeps_lines(browser: Any, look: Look, served: str) -> None:
    browser.get(served + "attention.html")
    selected = js(
        browser,
        "const c = [...document.querySelectorAll('.code code')].pop(); getSelection().selectAllChildren(c); return getSelection().toString()",
    )
    assert next(line for line in selected.split("\n") if line.strip()) == "        if self.mask is not None:"
    assert not any(character.isdigit() for character in selected.replace("-1", ""))


def test_the_language_switch_keeps_the_place(browser: Any, look: Look, served: str) -> None:
    browser.get(served + "attention.html#Attention.forward")
    link = browser.find_element("css selector", ".languages a[hreflang=ja]")
    js(browser, "arguments[0].click()", link)
    assert browser.current_url == served + "ja/attention.html#Attention.forward"


def test_a_line_that_is_linked_to_is_marked(browser: Any, look: Look, served: str) -> None:
    browser.get(served + "mask/causal.html#L9")
    tint, plain = js(
        browser,
        "return ['.l:has(#L9)', '.l:not(:has(#L9))'].map(s => getComputedStyle(document.querySelector(s)).backgroundColor)",
    )
    assert tint != plain


def test_print_leaves_out_what_only_a_screen_needs(browser: Any, look: Look, served: str) -> None:
    look(media="print")
    browser.get(served + "attention.html")
    for name in ("top", "menu", "foot", "neighbours"):
        assert not browser.find_element("class name", name).is_displayed()
    assert browser.find_element("tag name", "h1").is_displayed()


def test_wide_formulas_can_be_scrolled_with_the_keyboard(browser: Any, look: Look, served: str) -> None:
    look(375, 812)
    browser.get(served + "attention.html")
    wide = js(
        browser,
        "return [...document.querySelectorAll('.formula')].filter(f => f.scrollWidth > f.clientWidth).map(f => f.tabIndex)",
    )
    assert wide
    assert set(wide) == {0}


def test_copying_an_example_takes_only_what_was_typed(browser: Any, look: Look, served: str) -> None:
    permissions = {"permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"], "origin": served.rstrip("/")}
    browser.execute_cdp_cmd("Browser.grantPermissions", permissions)
    browser.get(served + "guide.html")
    js(browser, "document.querySelector('.note pre .copy').click()")
    copied = browser.execute_async_script("setTimeout(() => navigator.clipboard.readText().then(arguments[0]), 100)")
    assert copied == "attention(q, k, v).shape\nfor i in range(2):\n    print(i)"
