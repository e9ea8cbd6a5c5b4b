"""---
title: Spacing
summary: MathML spaces operators by their place in a row; TeX looks at their neighbours, and so does this.
---
"""

from __future__ import annotations

from xml.etree.ElementTree import Element

THIN = "0.167em"
UNDER = {"msub": "munder", "msup": "mover", "msubsup": "munderover"}
SCRIPTED = frozenset({*UNDER, *UNDER.values()})
# Functions written without brackets: a thin space sets them off from what stands beside them.
FUNCTIONS = frozenset(
    ["arccos", "arcsin", "arctan", "cos", "cosh", "cot", "coth", "csc", "dim", "exp", "ker", "lg", "ln", "log"]
)
FUNCTIONS |= {"sec", "sin", "sinh", "tan", "tanh"}
OPENING, CLOSING = "([{⟨⌊⌈", ")]}⟩⌋⌉"


def space(element: Element) -> None:
    """Set the spaces of one row, and none in what stands above or below the line."""
    if element.tag in SCRIPTED:
        for script in element[1:]:
            for each in script.iter("mo"):
                if len(each.text or "") == 1 and each.get("stretchy") != "true":
                    each.set("lspace", "0")
                    each.set("rspace", "0")
    if element.tag in ("mrow", "mtd", "math", "mstyle"):
        for step in (bars, signs, functions):
            step(element)


def base(element: Element) -> Element:
    """Give what scripts and limits are attached to."""
    return base(element[0]) if element.tag in SCRIPTED and len(element) else element


def bars(row: Element) -> None:
    """A bar may open, close or divide; it gets no space, and grows only beside a matrix or where `\\left` says so."""
    for at, child in enumerate(row):
        bar = base(child)
        if bar.tag != "mo" or bar.text not in ("|", "‖") or bar.get("fence") == "true":
            continue
        beside = [each.tag for each in row[max(0, at - 1) : at + 2]]
        bar.set("stretchy", "true" if "mtable" in beside else "false")
        bar.set("lspace", "0")
        bar.set("rspace", "0")
    # The delimiter of `\\left.` is nothing, but takes room.
    for child in list(row):
        if child.tag == "mo" and not child.text and not len(child):
            row.remove(child)


def signs(row: Element) -> None:
    """A minus after a relation or at the start belongs to what follows it."""
    for at, child in enumerate(row):
        if child.tag != "mo" or child.text not in ("−", "+", "±", "∓"):
            continue
        before = base(row[at - 1]) if at else None
        if before is None or (before.tag == "mo" and (before.text or "") not in (*CLOSING, "|", "‖", "!", "′")):
            child.set("form", "prefix")


def functions(row: Element) -> None:
    """Put a thin space between a function and its neighbours, but none before a bracket."""
    children = list(row)
    done: list[Element] = []
    for at, child in enumerate(children):
        core = base(child)
        if not named(core):
            done.append(child)
            continue
        if core.tag == "mo":
            core.set("lspace", "0")
            core.set("rspace", "0")
        if at and ordinary(children[at - 1], CLOSING):
            done.append(Element("mspace", {"width": THIN}))
        done.append(child)
        if at + 1 < len(children) and ordinary(children[at + 1], ""):
            done.append(Element("mspace", {"width": THIN}))
    row[:] = done


def named(core: Element) -> bool:
    """Say whether this is the name of a function or operator."""
    name = core.text or ""
    return (core.tag == "mo" and len(name) > 1 and name[0].isalpha()) or (core.tag == "mi" and name in FUNCTIONS)


def ordinary(element: Element, brackets: str) -> bool:
    """Say whether a neighbour is a letter, a number or another name, or one of these brackets."""
    core = base(element)
    if core.tag == "mo":
        return (core.text or "") in [*brackets, "∑", "∏", "∫"] or named(core)
    if core.tag == "mrow" and len(core):
        return not (core[0].tag == "mo" and (core[0].text or "x") in [*OPENING, "|"]) and core[0].tag != "mspace"
    return core.tag not in ("mspace", "mtable")
