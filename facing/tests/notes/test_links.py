"""Links: every kind finds its target, and a broken one says so."""

from __future__ import annotations

import pytest

from facing.notes.finish import Heading, finish, scan, slug
from facing.notes.links import Links, Target, dotted_name

LINKS = Links(
    {
        "index.md": Target("index.html", frozenset(), 3),
        "mask/causal.py": Target("mask/causal.html", frozenset({"Causal", "why"}), 20),
        "mask/__init__.py": Target("mask/index.html", frozenset(), 2),
        "layer.py": Target("layer.html", frozenset({"Layer.forward"}), 9, (1, 3, 4, 8)),
    },
    {
        "lib.mask.causal.Causal": "mask/causal.py#Causal",
        "lib.layer": "layer.py",
        "lib.layer.Layer.forward": "layer.py#Layer.forward",
    },
    exists=lambda path: path == "mask/plot.png",
)


@pytest.mark.parametrize(
    ("href", "expected"),
    [
        ("../layer.py", "../layer.html"),
        ("../layer.html", "../layer.html"),
        ("../layer.py#L3", "../layer.html#L3"),
        ("../layer.py#L7", "../layer.html#L4"),
        ("../layer.py#Layer.forward", "../layer.html#Layer.forward"),
        ("/layer.py", "../layer.html"),
        ("causal.py", "causal.html"),
        ("#why", "#why"),
        ("__init__.py", "index.html"),
        ("./", "index.html"),
        ("..", "../index.html"),
        ("lib.mask.causal.Causal", "#Causal"),
        ("Layer.forward", "../layer.html#Layer.forward"),
        ("lib.layer", "../layer.html"),
        ("https://example.org/x?y#z", "https://example.org/x?y#z"),
        ("mailto:a@example.org", "mailto:a@example.org"),
    ],
)
def test_a_link_is_resolved(href: str, expected: str) -> None:
    resolved = LINKS.resolve(href, "mask/causal.py")
    assert (resolved.href, resolved.problem) == (expected, "")


@pytest.mark.parametrize("href", ["gone.py", "../layer.py#nothing", "#nothing", "#L21", "../../out.py", "no.such.Name"])
def test_a_broken_link_is_a_problem(href: str) -> None:
    assert "must lead somewhere" in LINKS.resolve(href, "mask/causal.py").problem


@pytest.mark.parametrize(
    "href",
    ["javascript:alert(1)", "JaVaScRiPt:x", "java\nscript:x", "data:text/html,x", "file:///etc/passwd", "vbscript:x"],
)
def test_a_link_that_could_run_or_read_something_leads_nowhere(href: str) -> None:
    resolved = LINKS.resolve(href, "layer.py")
    assert resolved.href == "#"
    assert resolved.problem


def test_a_file_beside_the_sources_is_an_asset() -> None:
    resolved = LINKS.resolve("plot.png", "mask/causal.py", "../../")
    assert (resolved.href, resolved.asset) == ("../../mask/plot.png", "mask/plot.png")


def test_dotted_names_are_those_of_imports() -> None:
    assert dotted_name("mask/causal.py", "Causal", "lib") == "lib.mask.causal.Causal"
    assert dotted_name("mask/__init__.py", "", "lib") == "lib.mask"
    assert dotted_name("__init__.py", "f", "lib") == "lib.f"


def test_finishing_changes_links_and_headings_only() -> None:
    html = '<h1>A &amp; <span translate=no>_^_0_^_</span></h1><p>x <em>y</em> <a href="a&amp;b" id="k">z</a> &#x27;</p>'
    done = finish(html, [Heading(2, "a")], lambda href: f"<{href}>")
    assert done == (
        '<h2 id="a">A &amp; <span translate=no>_^_0_^_</span></h2><p>x <em>y</em> <a href="&lt;a&amp;b&gt;" id="k">z</a> &#x27;</p>'
    )


def test_a_paragraph_in_a_list_becomes_an_item() -> None:
    assert (
        finish("<ul><li>a</li>\n<p><em>Returns</em> b</p></ul>", [], str)
        == "<ul><li>a</li>\n<li><em>Returns</em> b</li></ul>"
    )


def test_a_paragraph_of_anchors_alone_leaves_no_gap() -> None:
    assert finish('<p> <a id="x"></a></p>\n<p>y</p>', [], str) == '<a id="x"></a>\n<p>y</p>'


def test_a_bare_angle_bracket_never_becomes_a_tag() -> None:
    assert finish("<h2><<b></b>script>x</h2>", [Heading(2, "")], str) == "<h2>&lt;<b></b>script>x</h2>"
    assert scan("<h2><<b></b>script>x</h2>").headings == [(2, "&lt;script>x")]


def test_scanning_finds_anchors_links_and_headings() -> None:
    found = scan('<h2>A <em>b</em> <span translate=no>_^_0_^_</span></h2><p><a id="x"></a><a href="y">z</a></p>')
    assert (found.anchors, found.links) == (["x"], ["y"])
    assert found.headings == [(2, "A b <span translate=no>_^_0_^_</span>")]


def test_slugs_keep_letters_of_every_script() -> None:
    assert slug("A &amp; B: <span translate=no>_^_0_^_</span> c") == "a-b-c"
    assert slug("注意 力") == "注意-力"
    assert slug("!") == "section"
