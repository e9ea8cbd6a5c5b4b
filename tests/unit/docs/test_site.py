"""The site of headwise: it builds without a finding, its front page is light, and nothing comes from elsewhere."""

import ast
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The site without running its pages; that they run is tested beside this file."""
    out = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-c", "from facing.cli import main; main()", "build", "--no-run", "--out", str(out)]
    ran = subprocess.run([*command, "--repository", "owner/name"], cwd=ROOT, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    return out, ran.stderr


def test_nothing_is_reported_but_that_pages_were_not_run(site):
    findings = [line for line in site[1].splitlines() if ": info not-run: " not in line]
    # Catalogues are held to their sources by `facing report`.
    assert [line for line in findings if not re.search(r"pages written|^translations/", line)] == []


def test_front_page_takes_less_than_150_kb_in_all(site):
    out, _ = site
    page = (out / "index.html").read_text()
    loaded = re.findall(r'<(?:link rel="(?:stylesheet|icon)"|script|img)[^>]*?(?:href|src)="([^"]+)"', page)
    assert {"_facing/style.css", "_facing/page.js", "_facing/search.js"} <= set(loaded)
    assert len(page.encode()) + sum((out / path).stat().st_size for path in loaded) < 150_000


def test_no_page_loads_anything_from_elsewhere(site):
    for page in site[0].rglob("*.html"):
        text = page.read_text()
        assert not re.search(r'<(?:script|img|iframe|source)[^>]*src="(?:https?:)?//', text), page
        assert not re.search(r'<link rel="(?:stylesheet|icon)"[^>]*href="(?:https?:)?//', text), page


def test_front_page_asks_the_four_questions_and_leads_to_their_rooms(site):
    page = (site[0] / "index.html").read_text()
    for question, room in (
        ("Where do queries, keys and values come from?", "source"),
        ("How do positions enter?", "position"),
        ("Which keys may a query see?", "mask"),
        ("How do scores become weights?", "score"),
    ):
        assert question in page
        assert f'href="{room}/index.html"' in page


def test_reading_path_is_numbered_and_begins_with_attention(site):
    order = tomllib.loads((ROOT / "facing.toml").read_text())["order"]
    assert order[:2] == ["functional.py", "reference.py"]
    page = (site[0] / "index.html").read_text()
    listed = re.search(r'<h2 id="menu-reading">.*?</ol>', page, re.DOTALL)[0]
    assert listed.count("<li>") == len(order)


def counted(source):
    """Lines of code and lines of notes; blank lines are neither."""
    text = source.read_text()
    notes = {number for number, line in enumerate(text.splitlines(), 1) if line.strip().startswith("#")}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            notes |= set(range(node.lineno, node.end_lineno + 1))
    filled = {number for number, line in enumerate(text.splitlines(), 1) if line.strip()}
    return len(filled - notes), len(filled & notes)


@pytest.mark.parametrize(
    ("page", "heading"), [("docs/index.md", "## Where to begin"), ("README.md", "## Reading path")]
)
def test_first_pages_to_read_are_as_long_as_is_said(page, heading):
    begin = (ROOT / page).read_text().partition(heading)[2].partition("\n## ")[0]
    steps = "\n".join(re.findall(r"^\d\. .*", begin, flags=re.MULTILINE))
    paths = [path.removeprefix("src/headwise/") for path in re.findall(r"\(([^)]+\.py)\)", steps)]
    order = tomllib.loads((ROOT / "facing.toml").read_text())["order"]
    assert paths == order[:8]
    said = [int(number) for number in re.search(r"bout (\d+) lines of code.*?(\d+) lines of notes", begin).groups()]
    found = [sum(numbers) for numbers in zip(*(counted(ROOT / "src/headwise" / path) for path in paths), strict=True)]
    assert found == pytest.approx(said, rel=0.1)


def test_heart_and_training_can_be_opened_as_notebooks(site):
    for page, name in (("functional", "attention_from_the_inside"), ("train/loop", "train_a_transformer")):
        text = (site[0] / f"{page}.html").read_text()
        assert f'/github/owner/name/blob/main/notebooks/{name}.ipynb"' in text
        assert (ROOT / f"notebooks/{name}.ipynb").exists()


def test_every_public_name_is_in_the_reference(site):
    import headwise as hw

    page = (site[0] / "api.html").read_text()
    assert [name for name in hw.__all__ if f'id="{name}"' not in page] == ["__version__"]


def test_no_two_pages_have_the_same_title(site):
    index = (site[0] / "_facing/search.en.js").read_text().removeprefix("window.facingIndex = ").rstrip(";\n")
    titles = [title for _, title in json.loads(index)["pages"]]
    assert len(titles) > 200
    assert sorted(title for title in set(titles) if titles.count(title) > 1) == []
    assert [title for title in titles if title.endswith(".py")] == [], "a page without a title is called after its file"


def test_commands_and_notebooks_are_found_in_the_menu_of_every_page(site):
    page = (site[0] / "mask/causal.html").read_text()
    menu = page.partition('id="menu-also"')[2].partition("</nav>")[0]
    for target in ("../api.html", "../commands.html", "../notebooks/index.html", "../examples/papers/index.html"):
        assert f'href="{target}"' in menu


def test_a_chart_on_a_page_brings_both_themes(site):
    charts = list((site[0] / "benchmarks").rglob("*.svg"))
    assert len(charts) >= 4
    assert [chart.name for chart in charts if "prefers-color-scheme:dark" not in chart.read_text()] == []
