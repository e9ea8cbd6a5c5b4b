"""A real Chromium, and a site to open in it. `make test-browser` installs what this needs."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from facing.config import Config
from facing.model import Translated, Unit
from facing.pages.build import build
from facing.pages.site import read_site
from facing.source import Modern

HERE = Path(__file__).parent
AXE = Path(os.environ.get("FACING_AXE", HERE.parents[1] / ".browser/node_modules/axe-core/axe.min.js"))
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")


@dataclass(frozen=True)
class Half:
    """A translator that knows every second note."""

    lang: str

    def translate(self, page: str, units: Sequence[Unit]) -> list[Translated]:
        words = {"ar": "ملاحظة", "ja": "注記"}[self.lang]
        answers = []
        for number, unit in enumerate(units):
            plain = unit.key.replace("<p>", f"<p>{words} ") if unit.kind == "note" else words
            # A picture that says what a link says already would be read twice.
            plain = f"{words} {number}" if unit.kind == "alt" else plain
            answers.append(
                Translated(plain if number % 2 == 0 else None, "translated" if number % 2 == 0 else "missing")
            )
        return answers


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the site of the folder `pages` beside this file, in three languages."""
    out = tmp_path_factory.mktemp("site")
    config = Config(
        name="Sample",
        source_url="https://example.org/{path}#L{line}",
        order=("attention.py",),
        package="sample",
        api="names.py",
        run=True,
        base=tmp_path_factory.mktemp("base"),
    )
    built = build(read_site(HERE / "pages", config, Modern()), [Half("ar"), Half("ja")])
    assert built.findings == ()
    built.write(out)
    return out


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        return


@pytest.fixture(scope="session")
def served(site: Path) -> Iterator[str]:
    """Serve the site, and give its address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(site)))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}/"
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Start Chromium once for all tests."""
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
    if not (CHROMIUM and DRIVER):
        pytest.skip("Chromium or its driver is not installed")
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    yield driver
    driver.quit()


Look = Callable[..., None]


@pytest.fixture
def look(browser: Any) -> Iterator[Look]:
    """Give a function that sets the size of the window and the theme; everything is set back afterwards."""

    def set_look(
        width: int = 1440, height: int = 900, theme: str = "light", media: str = "", scripts: bool = True
    ) -> None:
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        features = [{"name": "prefers-color-scheme", "value": theme}]
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": media, "features": features})
        browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": not scripts})

    set_look()
    browser.get_log("browser")
    yield set_look
    set_look()
