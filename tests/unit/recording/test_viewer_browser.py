"""The viewer in real Chromium: it opens quickly, serves keyboard and screen readers, and asks for nothing from outside."""

import time
from pathlib import Path

import numpy as np
import pytest

from headwise.recording.maps import Maps
from headwise.recording.tokens import visible_all
from headwise.recording.viewer import write_page

pytestmark = pytest.mark.browser
AXE = Path(__file__).parents[3] / "facing" / ".browser" / "node_modules" / "axe-core" / "axe.min.js"
TEXTS = ["The", " cat", "\n", " <b>mat</b>", " שלום", "</script>", "\u202eabc", "."]


def weights(layers, heads, length):
    numbers = np.tril(np.random.default_rng(0).random((layers, heads, length, length)) ** 8)
    return numbers / numbers.sum(-1, keepdims=True)


@pytest.fixture(scope="module")
def browser():
    webdriver = pytest.importorskip("selenium.webdriver", reason="needs selenium; `make test-browser` installs it")
    options = webdriver.ChromeOptions()
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1400,1000"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options)
    yield driver
    driver.quit()


@pytest.fixture
def opened(browser, tmp_path):
    def open_page(maps, scheme="light"):
        write_page(maps, tmp_path / "page.html", title="Heads & tails")
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        browser.get((tmp_path / "page.html").as_uri())
        began = time.monotonic()
        while not browser.execute_script("return document.body.dataset.ready") and time.monotonic() < began + 20:
            time.sleep(0.02)
        return browser

    return open_page


def small():
    texts = visible_all(TEXTS)
    return Maps({f"layers.{layer}": each for layer, each in enumerate(weights(2, 3, len(texts)))}, texts, texts)


def press(browser, selector, *keys):
    from selenium.webdriver.common.by import By

    browser.find_element(By.CSS_SELECTOR, selector).send_keys(*keys)


def text_of(browser, name):
    return browser.execute_script("return document.getElementById(arguments[0]).textContent", name)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_violation(opened, scheme):
    browser = opened(small(), scheme)
    browser.execute_script("document.getElementById('all').open = true")
    assert browser.execute_script("return document.documentElement.dataset.theme") == scheme
    browser.execute_script(AXE.read_text())
    found = browser.execute_async_script("const done = arguments[0]; axe.run().then(done)")
    assert [(each["id"], each["nodes"][0]["html"]) for each in found["violations"]] == []
    assert browser.get_log("browser") == []


def test_arrow_keys_move_over_layers_heads_queries_and_keys(opened):
    from selenium.webdriver.common.keys import Keys

    browser, maps = opened(small()), small()
    press(browser, "[data-layer='0'][data-head='0']", Keys.ARROW_DOWN)
    browser.switch_to.active_element.send_keys(Keys.ARROW_RIGHT)
    assert text_of(browser, "map-title") == "Layer 1, head 1"
    press(browser, "#map", Keys.ARROW_UP, Keys.ARROW_UP, Keys.ARROW_RIGHT)
    weight = maps.layers["layers.1"][1, 5, 1]
    status = text_of(browser, "status")
    assert status.startswith("Query 5") and "key 1" in status
    assert float(status.rstrip(".").split()[-1]) == pytest.approx(weight, abs=0.004)
    press(browser, "#queries", Keys.HOME)
    assert text_of(browser, "status").startswith("Query 0")


def test_tokens_are_text_and_right_to_left_words_stay_in_their_place(opened):
    browser = opened(small())
    shown = browser.execute_script("return [...document.querySelectorAll('#keys > *')].map((each) => each.textContent)")
    assert shown == visible_all(TEXTS)
    places = browser.execute_script(
        "return [...document.querySelectorAll('#keys > *')].map((each) => each.getBoundingClientRect().left)"
    )
    assert places == sorted(places)


def test_a_page_of_144_heads_and_256_tokens_opens_and_is_under_five_megabytes(opened, tmp_path):
    texts = ["x"] * 256
    browser = opened(Maps({str(layer): each for layer, each in enumerate(weights(12, 12, 256))}, texts, texts))
    assert (tmp_path / "page.html").stat().st_size < 5_000_000
    assert browser.execute_script("return document.querySelectorAll('#thumbs canvas').length") == 144


def test_nothing_is_wider_than_the_window(opened):
    browser = opened(small())
    for width in (1400, 500):
        browser.set_window_size(width, 900)
        wide = browser.execute_script(
            "return [document.documentElement.scrollWidth, document.documentElement.clientWidth]"
        )
        assert wide[0] <= wide[1]
