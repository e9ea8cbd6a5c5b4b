"""Pages that run: what they show stands beside its line, and what goes wrong ends the build."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from facing.config import Config
from facing.model import FacingError, Output, Page
from facing.pages.build import build
from facing.pages.site import read_site
from facing.run.figure import FigureError, figure
from facing.source import Modern

HEAD = '"""---\ntitle: A page\nrun: true\n---\n"""\n'
SVG = (
    "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 9 9'><title>A dot</title><circle class='fill-1' r='2'/></svg>"
)


def page(folder: Path, code: str, **settings: object) -> Page:
    """Read one page that runs."""
    (folder / "page.py").write_text(HEAD + code, encoding="utf-8")
    config = Config(base=folder, run=bool(settings.pop("run", True)), **settings)  # type: ignore[arg-type]
    site = read_site(folder, config, Modern())
    return next(each for each in site.pages if each.path == "page.py")


def test_what_is_printed_belongs_to_the_line_that_printed_it(tmp_path: Path) -> None:
    found = page(
        tmp_path, "print('a')\nfor x in range(2):\n    # A note.\n    print(x)\n    y = x\nprint(\n    'b'\n)\n"
    )
    assert found.outputs == (Output(6, "text", "a\n"), Output(9, "text", "0\n1\n"), Output(13, "text", "b\n"))


def test_what_a_function_prints_belongs_to_the_line_that_called_it(tmp_path: Path) -> None:
    found = page(tmp_path, "def say():\n    print('a')\n\n\nsay()\n")
    assert found.outputs == (Output(10, "text", "a\n"),)


def test_an_expression_shows_its_value_as_text_or_as_a_picture(tmp_path: Path) -> None:
    code = f'class Dot:\n    def _repr_svg_(self):\n        return """{SVG}"""\n\n\n1 + 1\nNone\nobject()\nDot()\n'
    text, picture = page(tmp_path, code).outputs
    assert text == Output(11, "text", "2\n")
    assert (picture.line, picture.kind, picture.alt) == (14, "figure", "A dot")
    assert (
        picture.text
        == '<svg viewBox="0 0 9 9" role="img" aria-label="A dot"><circle class="fill-1" r="2"></circle></svg>'
    )


def test_an_expression_inside_a_block_is_shown_and_one_inside_a_function_is_not(tmp_path: Path) -> None:
    code = "def f():\n    5\n\n\nif __name__ == '__main__':\n    'text'\n    2 + 2\nf()\n"
    assert page(tmp_path, code).outputs == (Output(12, "text", "4\n"),)


def test_outputs_stand_behind_their_lines_in_every_language(tmp_path: Path) -> None:
    (tmp_path / "page.py").write_text(HEAD + "x = 1\nprint('<b>')\ny = 2\n", encoding="utf-8")
    html = build(read_site(tmp_path, Config(base=tmp_path, run=True), Modern())).files["page.html"].decode()
    first, _, rest = html.partition('<pre class="output"')
    assert 'id="L7"' in first
    assert 'id="L8"' in rest
    assert "<samp>&lt;b&gt;\n</samp>" in rest


def test_a_page_that_fails_ends_the_build_with_its_line(tmp_path: Path) -> None:
    with pytest.raises(FacingError, match=r"page\.py:9: .*ends with ZeroDivisionError"):
        page(tmp_path, "def f():\n    y = 1\n\n    return y / 0\n\n\nf()\n")


def test_a_page_that_takes_too_long_ends_the_build_and_leaves_no_process(tmp_path: Path) -> None:
    code = "import subprocess, pathlib\np = subprocess.Popen(['sleep', '60'])\npathlib.Path('pid').write_text(str(p.pid))\np.wait()\n"
    with pytest.raises(FacingError, match="within run_seconds = 2"):
        page(tmp_path, code.replace("'pid'", repr(str(tmp_path / "pid"))), run_seconds=2)
    number = (tmp_path / "pid").read_text()
    state = subprocess.run(["ps", "-o", "stat=", "-p", number], capture_output=True, text=True).stdout
    assert state.strip() == "" or state.startswith("Z")


def test_a_process_that_dies_ends_the_build(tmp_path: Path) -> None:
    with pytest.raises(FacingError, match="ended with status 3"):
        page(tmp_path, "import os\nos._exit(3)\n")


def test_what_was_shown_is_kept_until_the_page_or_an_import_changes(tmp_path: Path) -> None:
    (tmp_path / "helper.py").write_text("VALUE = 1\n")
    code = "import time\nimport helper\nprint(time.time_ns(), helper.VALUE)\n"
    first = page(tmp_path, code).outputs
    assert page(tmp_path, code).outputs == first
    (tmp_path / "helper.py").write_text("VALUE = 23\n")
    second = page(tmp_path, code).outputs
    assert second[0].text.endswith("23\n")
    assert page(tmp_path, code + "x = 1\n").outputs != second


def test_what_is_kept_and_cannot_be_read_is_made_again(tmp_path: Path) -> None:
    assert page(tmp_path, "print(1)\n").outputs
    (kept,) = (tmp_path / ".facing/run").glob("*.json")
    kept.write_text("{")
    assert page(tmp_path, "print(1)\n").outputs == (Output(6, "text", "1\n"),)


def test_no_page_runs_unless_it_is_allowed(tmp_path: Path) -> None:
    found = page(tmp_path, "raise SystemExit(1)\n", run=False)
    assert found.outputs == ()
    assert [(each.code, each.severity) for each in found.findings] == [("not-run", "info")]
    assert not Config().run


def test_a_page_that_does_not_ask_is_not_run(tmp_path: Path) -> None:
    (tmp_path / "page.py").write_text("raise SystemExit(1)\n")
    assert read_site(tmp_path, Config(base=tmp_path, run=True), Modern()).pages[1].outputs == ()


def test_a_figure_without_an_alternative_text_is_reported(tmp_path: Path) -> None:
    code = "class Dot:\n    def _repr_svg_(self):\n        return '<svg/>'\n\n\nDot()\n"
    assert [(each.code, each.line) for each in page(tmp_path, code).findings] == [("alt-missing", 11)]


@pytest.mark.parametrize(
    ("svg", "problem"),
    [
        ("<svg><script>x</script></svg>", "It holds <script>"),
        ("<svg><foreignObject/></svg>", "It holds <foreignObject>"),
        ("<svg><image href='https://example.org'/></svg>", "It holds <image>"),
        ("<!DOCTYPE svg><svg/>", "document type"),
        ("<b/>", "must be an SVG element"),
        ("<svg>", "valid XML"),
    ],
)
def test_a_figure_is_a_plain_drawing(svg: str, problem: str) -> None:
    with pytest.raises(FigureError, match=problem):
        figure(svg)


def test_attributes_of_a_figure_load_and_run_nothing() -> None:
    html, _ = figure(
        "<svg onload='x()' style='fill:red'><rect fill='url(http://x)' id='L1' width='2'>&lt;</rect></svg>", 'a"b'
    )
    assert html == '<svg role="img" aria-label="a&quot;b"><rect width="2">&lt;</rect></svg>'


def test_the_command_line_allows_and_forbids(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from facing.cli import main

    monkeypatch.chdir(tmp_path)
    (tmp_path / "facing.toml").write_text('root = "src"\nrun = true\n')
    (tmp_path / "src").mkdir()
    (tmp_path / "src/page.py").write_text(HEAD + "print(6 * 7)\n", encoding="utf-8")
    for arguments, shown in (((), True), (("--no-run",), False), (("src", "--run"), True)):
        with pytest.raises(SystemExit):
            main(("build", *arguments))
        assert ("<samp>42" in (tmp_path / "site/page.html").read_text()) == shown
