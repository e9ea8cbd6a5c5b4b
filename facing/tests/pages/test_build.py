"""Sites: structure, languages, navigation, and what is reported."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest

from facing.config import Config
from facing.model import FacingError, Translated, Unit
from facing.pages.build import Built, build
from facing.pages.site import read_site
from facing.source import Modern

SOURCES = {
    "__init__.py": '"""---\ntitle: A library\nsummary: What it is for.\n---\nSee [the layer](layer.py#Layer.forward).\n"""\n',
    "layer.py": (
        '"""# The layer\n\nIt computes $x^2$.\n"""\n\nimport math\n\n\nclass Layer:\n    """## Layer\n\n    <a id="why"></a>Why.\n    """\n\n'
        "    def forward(self, x):\n        # The square of `x`, see [masks](mask/causal.py).\n        return x * x\n"
    ),
    "mask/causal.py": '"""---\ntitle: Causal masks\n---\nBack to [the layer](../layer.py#why).\n"""\nx = 1\n',
    "guide.md": "# Guide\n\n![A plot](plot.svg) and ![Far](https://example.org/far.png)\n",
}


@dataclass
class Fake:
    """A translator that knows some notes."""

    lang: str
    known: dict[str, str] = field(default_factory=dict)

    def translate(self, page: str, units: Sequence[Unit]) -> list[Translated]:
        return [
            Translated(self.known.get(unit.key), "translated" if unit.key in self.known else "missing")
            for unit in units
        ]


class Reader(HTMLParser):
    """Collects elements, and checks that tags nest."""

    VOID = frozenset({"input", "meta", "link", "br", "hr", "img", "wbr", "mspace"})

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.stack: list[str] = []
        self.feed(html)
        assert not self.stack, self.stack

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in self.VOID:
            self.stack.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        assert self.stack.pop() == tag

    def all(self, tag: str) -> list[dict[str, str]]:
        return [values for name, values in self.elements if name == tag]

    @property
    def ids(self) -> list[str]:
        return [values["id"] for _, values in self.elements if "id" in values]


def make(
    folder: Path, config: Config | None = None, translators: Sequence[Fake] = (), sources: dict[str, str] = SOURCES
) -> Built:
    for name, text in sources.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    if sources is SOURCES:
        (folder / "plot.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'/>", encoding="utf-8")
    return build(read_site(folder, config or Config(name="Lib"), Modern()), translators)


def text(built: Built, path: str) -> str:
    return built.files[path].decode()


def test_paths_of_pages_mirror_paths_of_sources(tmp_path: Path) -> None:
    built = make(tmp_path)
    pages = {path for path in built.files if path.endswith(".html")}
    assert pages == {"index.html", "layer.html", "mask/causal.html", "guide.html"}
    assert built.findings == ()


@pytest.mark.parametrize("page", ["index.html", "layer.html", "mask/causal.html", "guide.html", "ar/layer.html"])
def test_each_page_is_well_formed_with_one_h1_landmarks_and_unique_anchors(tmp_path: Path, page: str) -> None:
    built = make(tmp_path, translators=[Fake("ar")])
    reader = Reader(text(built, page))
    tags = [tag for tag, _ in reader.elements]
    assert tags[0] == "html"
    assert (tags.count("h1"), tags.count("main"), tags.count("header"), tags.count("footer")) == (1, 1, 1, 1)
    assert len(set(reader.ids)) == len(reader.ids)
    levels = [int(tag[1]) for tag in tags if re.fullmatch("h[1-6]", tag) and tag != "h1"]
    assert levels == [] or levels[0] == 2


def test_every_link_inside_the_site_leads_to_a_file_and_an_anchor(tmp_path: Path) -> None:
    built = make(tmp_path, translators=[Fake("si")])
    readers = {path: Reader(text(built, path)) for path in built.files if path.endswith(".html")}
    for path, reader in readers.items():
        for tag, values in reader.elements:
            href = values.get("href") or (values.get("src") if tag in ("img", "script") else None)
            if not href or re.match(r"[a-z]+:", href):
                continue
            name, _, anchor = href.partition("#")
            target = (Path("/") / Path(path).parent / name).resolve().relative_to("/").as_posix() if name else path
            assert target in built.files, (path, href)
            assert not anchor or anchor in readers[target].ids, (path, href)


def test_symbols_lines_and_authors_anchors_can_be_linked_to(tmp_path: Path) -> None:
    ids = Reader(text(make(tmp_path), "layer.html")).ids
    assert {"Layer", "Layer.forward", "why", "L17"} <= set(ids)


def test_nothing_is_requested_from_elsewhere(tmp_path: Path) -> None:
    built = make(tmp_path, Config(url="https://example.org/lib"))
    for path in built.files:
        if path.endswith(".html"):
            for tag, values in Reader(text(built, path)).elements:
                if tag in ("img", "script", "iframe", "source") or values.get("rel") in ("stylesheet", "icon"):
                    assert not re.match(r"[a-z]+:|//", values.get("src", "") or values.get("href", ""))
    assert "url(" not in text(built, "_facing/style.css")
    assert re.findall(r"url\(\"(.{10})", text(built, "_facing/math.css")) == ["data:font/"]


def test_an_image_from_elsewhere_is_a_link_and_a_local_one_is_copied(tmp_path: Path) -> None:
    built = make(tmp_path, translators=[Fake("si")])
    assert '<a class="outside" href="https://example.org/far.png">Far</a>' in text(built, "guide.html")
    assert '<img src="plot.svg" alt="A plot" loading="lazy">' in text(built, "guide.html")
    assert '<img src="../plot.svg"' in text(built, "si/guide.html")
    assert "plot.svg" in built.files


def test_each_page_states_what_it_may_load(tmp_path: Path) -> None:
    for path, data in make(tmp_path).files.items():
        if path.endswith(".html"):
            assert b"default-src 'none'; style-src 'self'; script-src 'self'" in data
            assert b" style=" not in data
            assert b"onclick" not in data


def test_the_math_font_comes_only_where_there_are_formulas(tmp_path: Path) -> None:
    built = make(tmp_path)
    assert "math.css" in text(built, "layer.html")
    assert "math.css" not in text(built, "guide.html")
    assert built.files["_facing/OFL.txt"].startswith(b"Copyright 2001-2020 The STIX Fonts")


def test_the_same_sources_give_the_same_bytes(tmp_path: Path) -> None:
    assert make(tmp_path, translators=[Fake("si")]).files == make(tmp_path, translators=[Fake("si")]).files


def test_a_note_without_translation_stands_in_the_source_language_marked(tmp_path: Path) -> None:
    built = make(tmp_path, translators=[Fake("si", {"<p>Why.</p>": "x", "Causal masks": "හේතු"})])
    page = text(built, "si/layer.html")
    assert re.search(r'<html lang="si" dir="ltr">', page)
    assert '<div class="untranslated" lang="en" dir="ltr">' in page
    assert "තවම පරිවර්තනය කර නැත" in page
    assert "<title>හේතු" in text(built, "si/mask/causal.html")
    assert "untranslated" not in text(built, "layer.html")


def test_a_translation_takes_the_place_of_its_note(tmp_path: Path) -> None:
    key = '<p>The square of <span translate=no>_^_0_^_</span>, see <a href="mask/causal.py">masks</a>.</p>'
    theirs = '<p>Siehe <a href="mask/causal.py">Masken</a>: <span translate=no>_^_0_^_</span> im Quadrat.</p>'
    page = text(make(tmp_path, translators=[Fake("de", {key: theirs})]), "de/layer.html")
    assert (
        '<p>Siehe <a href="mask/causal.html">Masken</a>: <code class="highlight"><span class="n">x</span></code> im Quadrat.</p>'
        in page
    )


def test_anchors_are_the_same_in_every_language(tmp_path: Path) -> None:
    built = make(tmp_path, translators=[Fake("de", {"<h2>Layer</h2>": "<h2>Schicht</h2>"})])
    assert "Schicht</h2>" in text(built, "de/layer.html")
    assert Reader(text(built, "layer.html")).ids == Reader(text(built, "de/layer.html")).ids


def test_titles_and_contents_that_are_not_translated_say_so(tmp_path: Path) -> None:
    page = text(make(tmp_path, translators=[Fake("si", {"Guide": "මග"})]), "si/layer.html")
    assert '<a href="mask/causal.html" lang="en">Causal masks</a>' in page
    assert '<a href="guide.html">මග</a>' in page
    assert '<a href="#layer" lang="en">Layer</a>' in page


def test_a_page_without_code_has_one_column(tmp_path: Path) -> None:
    built = make(tmp_path)
    assert 'class="prose"' in text(built, "index.html")
    assert 'class="facing"' in text(built, "layer.html")


def test_coverage_counts_the_notes_that_have_words(tmp_path: Path) -> None:
    sources = {"a.py": "# One.\nx = 1\n# $x$\ny = 2\n"}
    built = make(tmp_path, translators=[Fake("de", {"<p>One.</p>": "<p>Eins.</p>"})], sources=sources)
    assert "Übersetzt: 1 von 2 Notizen (50\u00a0%). Die übrigen" in text(built, "de/a.html")


def test_a_right_to_left_page_says_so_and_its_code_does_not(tmp_path: Path) -> None:
    page = text(make(tmp_path, translators=[Fake("ar")]), "ar/layer.html")
    assert page.index('<html lang="ar" dir="rtl">') < page.index("<head>")
    assert '<div class="code" translate="no" dir="ltr">' in page


def test_pages_name_their_counterparts_and_their_own_address(tmp_path: Path) -> None:
    built = make(tmp_path, Config(url="https://example.org/lib/"), [Fake("si"), Fake("ja")])
    page = text(built, "si/mask/causal.html")
    assert '<link rel="canonical" href="https://example.org/lib/si/mask/causal.html">' in page
    for language, path in (("en", ""), ("x-default", ""), ("si", "si/"), ("ja", "ja/")):
        assert (
            f'<link rel="alternate" hreflang="{language}" href="https://example.org/lib/{path}mask/causal.html">'
            in page
        )


def test_the_sitemap_lists_every_page_in_every_language(tmp_path: Path) -> None:
    built = make(tmp_path, Config(url="https://example.org/lib"), [Fake("si")])
    root = ElementTree.fromstring(built.files["sitemap.xml"])
    places = [each.text for each in root.iter("{http://www.sitemaps.org/schemas/sitemap/0.9}loc")]
    assert len(places) == 8
    assert "https://example.org/lib/si/mask/causal.html" in places
    assert "sitemap.xml" not in make(tmp_path).files


def test_the_language_switch_leads_to_the_same_page(tmp_path: Path) -> None:
    page = text(make(tmp_path, translators=[Fake("si")]), "si/mask/causal.html")
    assert '<a href="../../mask/causal.html" lang="en" hreflang="en">English</a>' in page


def test_breadcrumbs_tree_and_neighbours_lead_on(tmp_path: Path) -> None:
    page = text(make(tmp_path, Config(name="Lib", order=("layer.py", "mask/causal.py"))), "mask/causal.html")
    assert '<li><a href="../index.html">Lib</a></li>' in page
    assert '<a rel="prev" href="../layer.html"><small>Previous</small> <span>The layer</span></a>' in page
    page = text(make(tmp_path, Config(order=("mask/causal.py", "guide.md"))), "mask/causal.html")
    assert '<a rel="next" href="../guide.html"><small>Next</small> <span>Guide</span></a>' in page
    assert '<a href="causal.html" aria-current="page">Causal masks</a>' in page
    assert "Start here" in page


def test_links_to_the_source_and_to_colab_come_from_the_configuration(tmp_path: Path) -> None:
    config = Config(
        source_url="https://example.org/blob/main/{path}#L{line}", colab_url="https://example.org/colab/{path}"
    )
    page = text(make(tmp_path, config), "mask/causal.html")
    assert '<a href="https://example.org/blob/main/mask/causal.py#L1">View source</a>' in page
    assert '<a href="https://example.org/colab/mask/causal.py">Open in Colab</a>' in page


def test_a_site_without_a_front_page_gets_one(tmp_path: Path) -> None:
    page = text(make(tmp_path, sources={"a.py": '"""---\nsummary: About a.\n---\n"""\nx = 1\n'}), "index.html")
    assert '<a href="a.html">a.py</a>' in page
    assert "About a." in page


def test_a_redirect_page_leads_on(tmp_path: Path) -> None:
    built = make(tmp_path, sources={"old.md": "---\nredirect: new.md\n---\n", "new.md": "New.\n"})
    assert '<meta http-equiv="refresh" content="0; url=new.html">' in text(built, "old.html")


def test_skipped_levels_twice_used_anchors_and_broken_links_are_reported_with_lines(tmp_path: Path) -> None:
    sources = {
        "a.py": '# ## One\n#\n# #### Deep\nx = 1\n\n# <a id="k"></a> [gone](gone.py)\ny = 2\n# <a id="k"></a>\nz = 3\n'
    }
    findings = make(tmp_path, sources=sources).findings
    assert [(each.code, each.line) for each in findings] == [
        ("heading-skip", 3),
        ("link-broken", 6),
        ("anchor-twice", 8),
    ]


def test_a_skipped_level_is_mended_on_the_page(tmp_path: Path) -> None:
    page = text(make(tmp_path, sources={"a.py": "# ## One\n#\n# #### Deep\nx = 1\n"}), "a.html")
    assert '<h3 id="deep">Deep</h3>' in page


def test_two_sources_of_one_page_are_an_error(tmp_path: Path) -> None:
    with pytest.raises(FacingError, match=r"a\.md and a\.py both become a\.html"):
        make(tmp_path, sources={"a.py": "x = 1\n", "a.md": "A\n"})


def test_an_order_that_names_no_source_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FacingError, match=r"`order` must be a source of the site\. gone\.py is not"):
        make(tmp_path, Config(order=("gone.py",)))


def test_a_catalogue_in_the_language_of_the_notes_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FacingError, match="another language"):
        make(tmp_path, translators=[Fake("en")])


def test_titles_are_text_and_never_markup(tmp_path: Path) -> None:
    built = make(tmp_path, translators=[Fake("si", {"Causal masks": "<script>x</script>"})])
    assert "<script>x" not in "".join(text(built, path) for path in built.files if path.endswith(".html"))


def test_a_page_of_200_lines_with_formulas_stays_under_100_kb(tmp_path: Path) -> None:
    block = "# The sum $\\sum_{i=1}^n \\frac{x_i}{\\sqrt{D}}$ of `x`, as in $W_{ij}$.\nvalue = compute(value, scale=1.0)[0]\n\n"
    built = make(tmp_path, sources={"a.py": block * 67})
    assert len(built.files["a.html"]) < 100_000


def test_every_line_of_code_is_shown_once_and_whole(tmp_path: Path) -> None:
    source = Path(__file__).read_text(encoding="utf-8")
    page = text(make(tmp_path, sources={"a.py": source}), "a.html")
    lines = re.findall(r'<a id="L(\d+)" href="#L\d+"[^>]*>\d+</a>(.*)\n</span>', page)
    plain = {int(number): re.sub(r"<[^>]*>", "", html) for number, html in lines}
    for number, shown in plain.items():
        assert unescape(shown) == source.split("\n")[number - 1]
