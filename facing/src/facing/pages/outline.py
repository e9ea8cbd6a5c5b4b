"""---
title: The outline of a page
summary: Headings with their levels and anchors, and all that links can point to, found in one pass over the notes.
---
"""

from __future__ import annotations

from dataclasses import dataclass

from facing.model import PLACEHOLDER, Finding, Page, Unit
from facing.notes.finish import Heading, Scan, scan, slug


@dataclass(frozen=True)
class Outline:
    """What one page offers to the rest of the site, found in its notes in the source language."""

    headings: dict[int, tuple[Heading, ...]]
    anchors: frozenset[str]
    scans: dict[int, Scan]
    findings: tuple[Finding, ...]
    own_title: bool


def outline(page: Page) -> Outline:
    """Go over the notes of a page once: headings get levels and anchors, and what is wrong is reported."""
    headings: dict[int, tuple[Heading, ...]] = {}
    scans = {number: scan(unit.key) for number, unit in enumerate(page.units) if unit.kind == "note"}
    first = min(scans, default=-1)
    own_title = first >= 0 and page.units[first].key.startswith("<h1>")
    taken = {f"L{line}" for line in range(1, page.source.count("\n") + 2)} | {"main", "menu"}
    findings: list[Finding] = []
    for number, each in scans.items():
        for anchor in each.anchors:
            if anchor in taken:
                findings.append(
                    finding(page, number, "anchor-twice", f"An anchor must be unique on its page. `{anchor}` is not.")
                )
            taken.add(anchor)
    symbols = {symbol.name for symbol in page.symbols} - taken
    taken |= symbols
    level = 0 if own_title else 1
    for number, each in scans.items():
        done: list[Heading] = []
        for wanted, label in each.headings:
            # One heading of level 1 names the page; a level may not be skipped on the way down.
            right = 1 if own_title and level == 0 else max(2, min(wanted, level + 1))
            if wanted > max(level, 1) + 1:
                message = (
                    f"Heading levels must not skip. A heading of level {wanted} follows one of level {max(level, 1)}."
                )
                findings.append(finding(page, number, "heading-skip", message))
            name = spoken(page.units[number], label)
            done.append(Heading(right, unique(slug(name or label), taken), label, name))
            level = right
        headings[number] = tuple(done)
    return Outline(headings, frozenset(taken), scans, tuple(findings), own_title)


def spoken(unit: Unit, label: str) -> str:
    """Name a heading that consists of formulas by their TeX; one with words needs no other name."""
    if any(character.isalnum() for character in PLACEHOLDER.sub("", label)):
        return ""
    numbers = [int(number) for number in PLACEHOLDER.findall(label)]
    return " ".join(unit.originals[number].text.strip() for number in numbers if number < len(unit.originals))


def unique(name: str, taken: set[str]) -> str:
    """Give the name, with a number if it is taken, and take it."""
    chosen, number = name, 2
    while chosen in taken:
        chosen, number = f"{name}-{number}", number + 1
    taken.add(chosen)
    return chosen


def finding(page: Page, number: int, code: str, message: str) -> Finding:
    return Finding(page.path, "", page.units[number].line, code, "warning", message)
