"""The live preview in Chromium: an open page follows its source."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from facing.config import Config
from facing.pages.build import build
from facing.pages.site import read_site
from facing.serve import Preview, server
from facing.source import Modern

from .conftest import Look

pytestmark = pytest.mark.browser


def wait_for(browser: Any, text: str) -> None:
    from selenium.webdriver.support.ui import WebDriverWait

    WebDriverWait(browser, 15).until(lambda driver: text in driver.execute_script("return document.body.innerText"))


def test_an_open_page_reloads_when_its_source_changes_and_shows_errors(
    browser: Any, look: Look, tmp_path: Path
) -> None:
    source = tmp_path / "a.py"
    source.write_text("# The first text.\nx = 1\n", encoding="utf-8")
    preview = Preview(lambda: build(read_site(tmp_path, Config(), Modern()), live=True))
    preview.refresh()
    running = server(preview, "127.0.0.1", 0)
    stop = threading.Event()
    threads = [
        threading.Thread(target=running.serve_forever),
        threading.Thread(target=preview.watch, args=([tmp_path], stop, 0.05)),
    ]
    for thread in threads:
        thread.start()
    try:
        browser.get(f"http://127.0.0.1:{running.server_address[1]}/a.html")
        wait_for(browser, "The first text.")
        # The page must have asked once before it can notice a change.
        browser.execute_async_script("setTimeout(arguments[0], 1500)")
        source.write_text("# A second text.\nx = 1\n", encoding="utf-8")
        wait_for(browser, "A second text.")
        source.write_text("# A third text.\nx = (\n", encoding="utf-8")
        wait_for(browser, "A page must be valid Python.")
        source.write_text("# A third text.\nx = 1\n", encoding="utf-8")
        wait_for(browser, "A third text.")
    finally:
        stop.set()
        browser.get("about:blank")
        running.shutdown()
        running.server_close()
        for thread in threads:
            thread.join()
