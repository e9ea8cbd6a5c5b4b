"""The report in real Chromium: readable in both schemes and on a narrow screen, and without a violation for axe."""

from pathlib import Path

import pytest

from headwise.train.config import RunConfig
from headwise.train.report.page import write_report
from headwise.train.run_folder import RunFolder

pytestmark = pytest.mark.browser
AXE = Path(__file__).parents[3] / "facing" / ".browser" / "node_modules" / "axe-core" / "axe.min.js"
HEADS = {name: [0.5, 0.25] for name in ("entropy", "max", "distance", "first", "self")}


@pytest.fixture(scope="module")
def browser():
    webdriver = pytest.importorskip("selenium.webdriver", reason="needs selenium; `make test-browser` installs it")
    options = webdriver.ChromeOptions()
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1300,1000"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options)
    yield driver
    driver.quit()


@pytest.fixture
def report(tmp_path):
    paths = [tmp_path / name for name in ("plain", "a-run-with-a-name-that-is-much-longer-than-a-column-of-a-table")]
    for path in paths:
        path.mkdir()
        run = RunFolder(path)
        run.write_config(RunConfig())
        for step in (0, 10, 20):
            numbers = {"train_loss": 4 - step / 10, "validation_loss": 4 - step / 11, "gradient_norm": 1.0}
            attention = {"encoder.layers.0.attention": HEADS}
            run.append_log({"step": step, **numbers, "learning_rate": 1e-3, "seconds": step, "attention": attention})
        run.append_sample(20, "word " * 100 + "x" * 300)
    write_report(paths, tmp_path / "report.html")
    return tmp_path / "report.html"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_violation(browser, report, scheme):
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    browser.get(report.as_uri())
    browser.execute_script("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    browser.execute_script(AXE.read_text())
    found = browser.execute_async_script("const done = arguments[0]; axe.run().then(done)")
    assert [(each["id"], each["nodes"][0]["html"]) for each in found["violations"]] == []
    assert browser.get_log("browser") == []


def test_nothing_is_wider_than_the_window(browser, report):
    browser.get(report.as_uri())
    for width in (1300, 500):
        browser.set_window_size(width, 900)
        wide = browser.execute_script(
            "return [document.documentElement.scrollWidth, document.documentElement.clientWidth]"
        )
        assert wide[0] <= wide[1]
