"""---
title: What need not be made again
summary: A preview builds after every change; a page for which nothing has changed is the one of the last build.
---
A page depends on its source, on its translations, on what its links lead to, and on what all pages share: the titles in the menu, the
order, the settings. All of these are compared by value, so that nothing has to be told what it depends on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from facing.model import Page, Translated, Translator, Unit
from facing.pages.render import Edition, PageWriter, Resolution
from facing.pages.site import Site

Ask = Callable[[Translator, Page], list[Translated]]
# A language and the path of a source.
Place = tuple[str, str]


@dataclass(frozen=True)
class Asked:
    """The answers of a translator. A catalogue that changes is opened anew, so the same translator answers the same."""

    translator: Translator
    units: tuple[Unit, ...]
    answers: list[Translated]


@dataclass(frozen=True)
class Made:
    """A page in one language, and what it was made of."""

    page: Page
    answers: list[Translated] | None
    resolutions: tuple[Resolution, ...]
    html: str
    needed: frozenset[str]


@dataclass
class Kept:
    """The last build. `made_now` counts the pages that this build has made and not taken over."""

    asked: dict[Place, Asked] = field(default_factory=dict)
    shared: dict[str, object] = field(default_factory=dict)
    made: dict[Place, Made] = field(default_factory=dict)
    made_now: int = 0

    def ask(self, translator: Translator, page: Page, ask: Ask) -> list[Translated]:
        """Ask for the translations of a page, unless they are known."""
        place = (translator.lang, page.path)
        known = self.asked.get(place)
        if known is None or known.translator is not translator or known.units != page.units:
            known = self.asked[place] = Asked(translator, page.units, ask(translator, page))
        return known.answers

    def begin(self, site: Site, editions: Sequence[Edition]) -> None:
        """Forget the pages of a language in which something that all of them show has changed."""
        self.made_now = 0
        pages = tuple((page.path, page.redirect) for page in site.pages)
        languages = tuple(edition.language for edition in editions)
        for edition in editions:
            titles = (edition.titles.by_path, edition.titles.foreign)
            shared = (titles, pages, languages, site.config, site.name, site.order, site.also, site.reference)
            if self.shared.get(edition.language) != shared:
                self.shared[edition.language] = shared
                self.made = {place: made for place, made in self.made.items() if place[0] != edition.language}

    def write(self, writer: PageWriter, edition: Edition, editions: Sequence[Edition]) -> tuple[str, frozenset[str]]:
        """Give the page of the last build, where it would be the same, else make it."""
        page, answers = writer.page, edition.answers.get(writer.page.path)
        place = (edition.language, page.path)
        known = self.made.get(place)
        # A list of all pages shows their summaries, which are not among what is compared.
        if known is None or page.language == "contents" or not same(known, writer, answers):
            html, needed = writer.write(edition, editions)
            known = self.made[place] = Made(page, answers, tuple(writer.resolutions), html, frozenset(needed))
            self.made_now += 1
        return known.html, known.needed


def same(known: Made, writer: PageWriter, answers: list[Translated] | None) -> bool:
    """Say whether a page would come out as it did."""
    links = writer.site.links
    return (
        known.page == writer.page
        and known.answers == answers
        and all(
            links.resolve(each.href, known.page.path, each.to_root, each.origin) == each.resolved
            for each in known.resolutions
        )
    )
