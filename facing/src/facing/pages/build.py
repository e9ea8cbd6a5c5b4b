"""---
title: Building a site
summary: All pages in all languages are made in memory first; only then is anything written.
---
"""

from __future__ import annotations

import base64
import posixpath
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path

from facing.model import FacingError, Finding, Page, Translated, Translator
from facing.pages.kept import Kept
from facing.pages.navigation import Titles
from facing.pages.render import ASSETS, Edition, PageWriter, asset
from facing.pages.search import search_index
from facing.pages.site import Site, findings
from facing.pages.sitemap import sitemap
from facing.pages.words import Words
from facing.pages.written import name_of, write


@dataclass(frozen=True)
class Built:
    """A site in memory: its files by path, and what is wrong with its sources."""

    files: dict[str, bytes]
    findings: tuple[Finding, ...]

    def write(self, out: Path, source: Path | None = None) -> list[str]:
        """Write the files, and give the paths of those of an earlier build of the same source that were taken away."""
        return write(self.files, out, "" if source is None else name_of(source, out))


def build(site: Site, translators: Sequence[Translator] = (), live: bool = False, kept: Kept | None = None) -> Built:
    """Make the site in the language of its sources and in that of each translator; `kept` is the build before."""
    kept = kept or Kept()
    editions = [source_edition(site), *(translated_edition(site, translator, kept) for translator in translators)]
    kept.begin(site, editions)
    files: dict[str, bytes] = {}
    needed: set[str] = set()
    for page in site.pages:
        writer = PageWriter(site, page, live)
        for edition in editions:
            html, wanted = kept.write(writer, edition, editions)
            path = posixpath.join(edition.folder(site), page.output)
            if path in files:
                raise FacingError(
                    f"Each page must have a path of its own. {path} is both a source's and that of a language; rename the folder."
                )
            files[path] = html.encode()
            needed |= wanted
    files |= {path: site.file(path).read_bytes() for path in sorted(needed)}
    files |= {
        f"{ASSETS}/{name}": data
        for name, data in assets(any(b"<math" in data for data in files.values()), live).items()
    }
    files |= {f"{ASSETS}/search.{each.language}.js": search_index(site, each).encode() for each in editions}
    if site.config.url:
        files["sitemap.xml"] = sitemap(site, editions).encode()
    return Built(files, tuple(findings(site)))


def source_edition(site: Site) -> Edition:
    return Edition(site.config.language, Titles({page.path: page.title.key for page in site.pages}), {})


def translated_edition(site: Site, translator: Translator, kept: Kept) -> Edition:
    """Ask for the translations of every page."""
    if translator.lang == site.config.language:
        raise FacingError(f"A catalogue must be of another language than the notes. Both are `{translator.lang}`.")
    answers = {page.path: kept.ask(translator, page, ask) for page in site.pages}
    titles = {page.path: answers[page.path][0].text or page.title.key for page in site.pages}
    foreign = frozenset(path for path, own in answers.items() if own[0].text is None)
    return Edition(translator.lang, Titles(titles, foreign), answers)


def ask(translator: Translator, page: Page) -> list[Translated]:
    if page.language == "contents":
        return [Translated(None, "missing") for _ in page.units]
    answers = translator.translate(page.path, page.units)
    if page.language == "api":
        title = Words(translator.lang).own.get("reference")
        answers[0] = Translated(title, "translated" if title else "missing")
    return answers


def assets(math: bool, live: bool) -> dict[str, bytes]:
    """Give the style sheets, the script and the icon; the math font only where there are formulas."""
    found = {name: asset(name).encode() for name in ("style.css", "page.js", "search.js", "icon.svg")}
    if live:
        found["live.js"] = asset("live.js").encode()
    if math:
        found |= {"math.css": math_style(), "OFL.txt": package_file("facing.math", "OFL.txt")}
    return found


@cache
def math_style() -> bytes:
    """Put the font into its style sheet: some browsers refuse to load a font file for a page opened from disk."""
    try:
        font = package_file("facing.math", "stix-two-math.woff2")
    except FileNotFoundError:
        raise FacingError(
            "The math font must be part of the installation. It is made by the build: run `pip install ./facing`."
        ) from None
    return asset("math.css").replace("FONT", f"data:font/woff2;base64,{base64.b64encode(font).decode()}").encode()


def package_file(package: str, name: str) -> bytes:
    return resources.files(package).joinpath(name).read_bytes()
