"""---
title: Rendering a page
summary: One page in one language, from rows to HTML.
---
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, partial
from importlib import resources
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from markupsafe import Markup

from facing.math import hold_together
from facing.model import Page, Row, Translated, Unit, output_path
from facing.notes.finish import finish
from facing.notes.links import Resolved
from facing.pages.addresses import address
from facing.pages.code import code_lines, code_parts
from facing.pages.contents import contents
from facing.pages.images import image
from facing.pages.navigation import Titles, breadcrumbs, index_of, listed, neighbours, relative, tree
from facing.pages.reference import PATH as REFERENCE
from facing.pages.site import Site
from facing.pages.sources import find_file
from facing.pages.words import Words, direction, language_name

ASSETS = "_facing"


@cache
def environment() -> Environment:
    """Build the template engine; a name that a template misspells is an error, and everything is escaped."""
    loader = PackageLoader("facing.pages", "templates")
    return Environment(
        loader=loader,
        autoescape=select_autoescape(("html",)),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


@cache
def asset(name: str) -> str:
    return resources.files("facing.pages").joinpath("assets", name).read_text(encoding="utf-8")


@dataclass(frozen=True)
class Edition:
    """The site in one language: titles of all pages, and for each page the translations of its units."""

    language: str
    titles: Titles
    answers: dict[str, list[Translated]]

    def folder(self, site: Site) -> str:
        """Give the folder of the language, empty for the language of the sources."""
        return "" if self.language == site.config.language else self.language


@dataclass(frozen=True)
class Resolution:
    """One link of a page: how it was written, from where, and what it led to."""

    href: str
    to_root: str
    origin: str
    resolved: Resolved


@dataclass
class PageWriter:
    """Renders one page; what all languages share (highlighted code) is made once. `resolutions` are the links of the last language."""

    site: Site
    page: Page
    live: bool = False
    resolutions: list[Resolution] = field(default_factory=list)

    @cached_property
    def lines(self) -> list[str]:
        return code_lines(self.page)

    @cached_property
    def symbols(self) -> dict[int, str]:
        """Give the symbol of each line; an anchor of the author's with the same name comes first."""
        own = {anchor for each in self.site.outlines[self.page.path].scans.values() for anchor in each.anchors}
        return {symbol.line: symbol.name for symbol in self.page.symbols if symbol.name not in own}

    def write(self, edition: Edition, editions: Sequence[Edition]) -> tuple[str, set[str]]:
        """Give the HTML in one language, and the files of the source folder that it shows or links to."""
        needed: set[str] = set()
        self.resolutions = []
        folder = edition.folder(self.site)
        output = posixpath.join(folder, self.page.output)
        to_root = "../" * output.count("/")
        resolve = self.resolver(to_root, needed)
        if self.page.redirect is not None:
            template = environment().get_template("redirect.html")
            return template.render(
                language=edition.language, page=self.page, target=resolve(self.page.redirect)
            ), needed
        notes = self.notes(edition, resolve)
        math = any("<math" in html for _, html, _ in notes)
        head = self.lift(notes)
        rows = [self.row(row, notes, number) for number, row in enumerate(self.page.rows)]
        notebook = self.notebook()
        needed |= {notebook} - {""}
        own = {
            "rows": rows,
            "head": head,
            "contents": contents(self.page, self.site.outlines[self.page.path], edition.answers.get(self.page.path)),
            "math": math,
            "notebook": f"{to_root}{quote(notebook)}" if notebook else "",
            "how_to_run": self.how_to_run(notebook),
        }
        return environment().get_template("page.html").render(self.context(edition, editions, to_root) | own), needed

    def notebook(self) -> str:
        """Give the path in the site of the notebook that goes with the page, empty where there is no such file."""
        path = self.site.config.notebooks.get(self.page.path, "")
        return path if path and find_file(self.site.roots, path) else ""

    def how_to_run(self, notebook: str) -> str:
        """Link to the page that stands for the folder of the notebook."""
        index = index_of(self.site, posixpath.dirname(notebook)) if notebook else None
        return "" if index is None or index.output == "index.html" else relative(index.output, self.page.output)

    def lift(self, notes: list[tuple[Unit, str, bool]]) -> dict[str, Any] | None:
        """Take the heading that names the page out of its row, where it is a block of its own, to stand above all rows."""
        first = next((number for number, (unit, _, _) in enumerate(notes) if unit.kind == "note"), 0)
        unit, html, done = notes[first]
        alone = unit.key.endswith("</h1>") and unit.key.count("</h") == 1
        if not (self.site.outlines[self.page.path].own_title and alone):
            return None
        notes[first] = (unit, "", True)
        return {"html": Markup(html), "done": done}

    def resolver(self, to_root: str, needed: set[str]) -> Callable[..., str]:
        def resolve(href: str, origin: str = "") -> str:
            resolved = self.site.links.resolve(href, self.page.path, to_root, origin)
            self.resolutions.append(Resolution(href, to_root, origin, resolved))
            if resolved.asset:
                needed.add(resolved.asset)
            return resolved.href

        return resolve

    def notes(self, edition: Edition, resolve: Callable[..., str]) -> list[tuple[Unit, str, bool]]:
        """Finish every unit: its HTML, and whether it stands in the language of the page."""
        outline = self.site.outlines[self.page.path]
        answers = edition.answers.get(self.page.path)
        translated = zip(self.page.units, answers or (), strict=False)
        alts = {unit.key: each.text for unit, each in translated if unit.kind == "alt" and each.text}
        done = []
        for number, (unit, origin) in enumerate(zip(self.page.units, self.page.origins, strict=True)):
            answer = answers[number].text if answers else unit.key
            text = unit.key if answer is None else answer
            if unit.kind == "note":
                where = partial(resolve, origin=origin)
                text = finish(text, outline.headings.get(number, ()), where)
                images = tuple(image(each, at, text, where, alts) for at, each in enumerate(unit.originals))
                text = hold_together(replace(unit, originals=images).fill(text))
            done.append((unit, text, answer is not None or not unit.has_words))
        return done

    def row(self, row: Row, notes: list[tuple[Unit, str, bool]], number: int) -> dict[str, Any]:
        """Put a row together; blocks side by side that are not translated share one mark."""
        start = len(self.page.head) + sum(len(each.units) for each in self.page.rows[:number])
        own = notes[start : start + len(row.units)]
        blocks: list[dict[str, Any]] = []
        for _, html, done in own:
            if not html:
                continue
            if blocks and blocks[-1]["done"] == done:
                blocks[-1]["html"] += Markup(html)
            else:
                blocks.append({"done": done, "html": Markup(html)})
        code = code_parts(row, self.lines, self.symbols, self.page.outputs)
        anchor = row.anchor if blocks and row.note_line and row.note_line not in row.lines else ""
        return {"anchor": anchor, "blocks": blocks, "code": code, "reference": self.in_reference(row)}

    def tree(self, edition: Edition) -> Markup:
        """Give the tree of pages. It is made once for each folder; then the link to the page itself is marked."""
        known, folder = edition.titles.trees, posixpath.dirname(self.page.output)
        if folder not in known:
            template = environment().get_template("tree.html")
            nodes = tree(self.site, self.page, edition.titles)
            known[folder] = template.render(tree=nodes, source_language=self.site.config.language)
        link = f'<a href="{relative(self.page.output, self.page.output)}"'
        # The same address stands for no other page, and titles hold no tags.
        return Markup(known[folder].replace(link, f'{link} aria-current="page"', 1))

    def in_reference(self, row: Row) -> str:
        """Give the name that the reference lists and that this row defines, empty if there is none."""
        here = {symbol.line: symbol.name for symbol in self.page.symbols if "." not in symbol.name}
        names = [here[line] for line in row.lines if line in here]
        return names[0] if names and self.site.reference.get(names[0]) == self.page.path else ""

    def context(self, edition: Edition, editions: Sequence[Edition], to_root: str) -> dict[str, Any]:
        """Give everything of a page but its rows."""
        site, page, config = self.site, self.page, self.site.config
        answers = edition.answers.get(page.path)
        summary = page.summary
        before, after = neighbours(site, page, edition.titles)
        title = edition.titles[page.path]
        outline = site.outlines[page.path]
        return {
            "site": site,
            "page": page,
            "language": edition.language,
            "direction": direction(edition.language),
            "source_language": config.language,
            "source_direction": direction(config.language),
            "words": Words(edition.language),
            "title": title,
            "titles": edition.titles,
            "title_done": answers is None or answers[0].text is not None,
            "summary": "" if summary is None else (answers[1].text if answers and answers[1].text else summary.key),
            "summary_done": answers is None or summary is None or answers[1].text is not None,
            "own_title": outline.own_title,
            "root": to_root,
            "assets": f"{to_root}{ASSETS}/",
            "tree": self.tree(edition),
            "reading": listed(site, site.order, page, edition.titles),
            "also": listed(site, site.also, page, edition.titles),
            "breadcrumbs": breadcrumbs(site, page, edition.titles),
            "before": before,
            "after": after,
            "prose": all(not row.code for row in page.rows),
            "source_url": address(config.source_url, page, site),
            "colab_url": address(config.colab_url, page, site),
            "coverage": coverage(page, answers),
            "live": self.live,
            "search_index": f"{to_root}{ASSETS}/search.{edition.language}.js",
            "search_base": "../" * page.output.count("/"),
            "reference": relative(output_path(REFERENCE), page.output) if site.reference else "",
            **alternates(site, page, edition, editions, to_root),
        }


def coverage(page: Page, answers: list[Translated] | None) -> dict[str, int] | None:
    """Count the notes that are translated, of those that have words."""
    if answers is None:
        return None
    counted = [answer.text is not None for unit, answer in zip(page.units, answers, strict=True) if unit.has_words]
    done, every = sum(counted), len(counted)
    return {"done": done, "all": every, "percent": 100 * done // every if every else 100}


def alternates(site: Site, page: Page, edition: Edition, editions: Sequence[Edition], to_root: str) -> dict[str, Any]:
    """Give the page's addresses in all languages: absolute where the address of the site is known."""
    base = site.config.url.rstrip("/") + "/" if site.config.url else ""
    found = []
    for each in editions:
        path = posixpath.join(each.folder(site), page.output)
        found.append(
            {
                "language": each.language,
                "name": language_name(each.language),
                "href": to_root + path,
                "address": base + path if base else to_root + path,
                "current": each is edition,
                "source": not each.folder(site),
            }
        )
    own = next(each for each in found if each["current"])
    return {"alternates": found, "canonical": own["address"]}
