"""---
title: Mending MathML
summary: What browsers no longer draw is turned into what they do draw.
---
Browsers implement MathML Core, a small part of MathML. This module goes once over the tree that the converter made and
replaces what Core left out: styled letters, enclosures, named colours, operators that hold other elements.
"""

from __future__ import annotations

import unicodedata
from xml.etree.ElementTree import Element

from facing.math.letters import STARTS, styled

# Delimiters that the converter passes on as commands.
DELIMITERS = {
    r"\{": "{",
    r"\}": "}",
    r"\lbrace": "{",
    r"\rbrace": "}",
    r"\lbrack": "[",
    r"\rbrack": "]",
    r"\langle": "⟨",
    r"\rangle": "⟩",
    r"\lfloor": "⌊",
    r"\rfloor": "⌋",
    r"\lceil": "⌈",
    r"\rceil": "⌉",
    r"\vert": "|",
    r"\lvert": "|",
    r"\rvert": "|",
    r"\Vert": "‖",
    r"\lVert": "‖",
    r"\rVert": "‖",
    r"\|": "‖",
    r"\backslash": "\\",
}
LIMITS = frozenset(
    {
        "lim",
        "max",
        "min",
        "sup",
        "inf",
        "lim inf",
        "lim sup",
        "argmax",
        "argmin",
        "arg max",
        "arg min",
        "det",
        "gcd",
        "Pr",
    }
)
THIN = "0.167em"
UNDER = {"msub": "munder", "msup": "mover", "msubsup": "munderover"}
# Functions written without brackets: a thin space sets them off from their argument.
FUNCTIONS = frozenset(
    [
        "arccos",
        "arcsin",
        "arctan",
        "cos",
        "cosh",
        "cot",
        "coth",
        "csc",
        "dim",
        "exp",
        "ker",
        "lg",
        "ln",
        "log",
        "sec",
        "sin",
        "sinh",
        "tan",
        "tanh",
    ]
)
OUTLINES = {"box": "box", "updiagonalstrike": "strike", "downdiagonalstrike": "strike", "horizontalstrike": "strike"}
# Colours that have a shade for each theme in the style sheet; others keep the author's value.
COLORS = frozenset(
    [
        "red",
        "green",
        "lightgreen",
        "blue",
        "lightblue",
        "cyan",
        "orange",
        "purple",
        "magenta",
        "pink",
        "brown",
        "gray",
        "grey",
        "yellow",
    ]
)


def mend(element: Element, problems: list[str]) -> None:
    """Mend an element and all below it, from the inside out."""
    for child in list(element):
        mend(child, problems)
    for step in (operator, letters, names, commands, single, limits, attributes, outline, table, spacing):
        step(element, problems)


def operator(element: Element, problems: list[str]) -> None:
    """An operator holds text only: letters become its name, anything else a group."""
    if element.tag != "mo" or not len(element):
        return
    parts = list(element.iter())[1:]
    if all(part.tag in ("mrow", "mi", "mtext", "mspace", "mo") for part in parts):
        element.text = "".join(part.text or "" for part in parts)
        element[:] = []
        element.set("movablelimits", "true")
        element.set("rspace", "0")
    else:
        element.tag = "mrow"


def letters(element: Element, problems: list[str]) -> None:
    style = element.get("mathvariant")
    if style is None or element.tag not in ("mi", "mn", "mo", "mtext"):
        return
    if element.tag != "mtext" and style in STARTS:
        element.text = styled(element.text or "", style)
        del element.attrib["mathvariant"]
    elif style != "normal" or element.tag != "mi":
        del element.attrib["mathvariant"]
        element.set("class", style)


def names(element: Element, problems: list[str]) -> None:
    """Upright letters side by side are one name, spaced as one."""
    kids = list(element)
    if (
        element.tag == "mrow"
        and len(kids) > 1
        and all(kid.tag == "mi" and kid.get("mathvariant") == "normal" for kid in kids)
    ):
        name = Element("mi")
        name.text = "".join(kid.text or "" for kid in kids)
        element[:] = [name]


def commands(element: Element, problems: list[str]) -> None:
    """A command that nobody knows stays visible, and is reported."""
    text = element.text or ""
    if element.tag not in ("mi", "mo", "mn", "mtext") or "\\" not in text or text == "\\":
        return
    if text in DELIMITERS:
        element.text = DELIMITERS[text]
        return
    problems.append(f"A formula must use commands that are known. `{text.strip()}` is not; it is shown as it stands.")
    element.tag = "mtext"
    element.set("class", "unknown")


def single(element: Element, problems: list[str]) -> None:
    """A sign that is no letter is an operator: it gets the spacing of one, and brackets do not grow by themselves."""
    text = element.text or ""
    if element.tag != "mi" or len(text) != 1 or text in "∞∅ℏ…":
        return
    category = unicodedata.category(text)
    if category in ("Sm", "Po", "Ps", "Pe") and text not in "'′″‴%&#":
        element.tag = "mo"
        if category in ("Ps", "Pe"):
            element.set("stretchy", "false")


def limits(element: Element, problems: list[str]) -> None:
    """Limits of `max` and its like stand below in a displayed formula; the browser moves them in a line of text."""
    if element.tag not in UNDER or not len(element):
        return
    base = element[0]
    if base.tag in ("mo", "mi") and (
        (base.text or "").replace("\u2009", " ") in LIMITS or base.get("movablelimits") == "true"
    ):
        base.tag = "mo"
        base.set("movablelimits", "true")
        element.tag = UNDER[element.tag]


def attributes(element: Element, problems: list[str]) -> None:
    if element.get("width") == "negativethinmathspace":
        element.set("width", "-0.167em")
    if element.get("mathcolor", "").lower() in COLORS:
        element.set("class", f"tex-{element.attrib.pop('mathcolor').lower()}")
    if element.tag == "mo" and element.get("minsize") and not element.get("stretchy"):
        # Large brackets stretch both ways from the axis, and count as fences for spacing.
        element.set("stretchy", "true")
        element.set("symmetric", "true")
        element.set("fence", "true")


def outline(element: Element, problems: list[str]) -> None:
    if element.tag == "menclose":
        shape = OUTLINES.get(element.attrib.pop("notation", ""), "box")
        element.tag = "mrow"
        element.set("class", shape)


def table(element: Element, problems: list[str]) -> None:
    """Tables of equations are aligned by the style sheet; the attributes for it are ignored by browsers."""
    if element.tag != "mtable":
        return
    if element.get("columnspacing"):
        element.set("class", "align")
    for name in ("rowspacing", "columnspacing", "columnalign"):
        element.attrib.pop(name, None)


def base(element: Element) -> Element:
    """Give what scripts and limits are attached to."""
    return base(element[0]) if element.tag in (*UNDER, *UNDER.values()) and len(element) else element


def spacing(element: Element, problems: list[str]) -> None:
    """Set names of operators and functions off as TeX does: a thin space before the argument, none before a bracket."""
    if element.tag not in ("mrow", "mtd", "math", "mstyle"):
        return
    children = list(element)
    for at, child in enumerate(children):
        core = base(child)
        name = (core.text or "").replace("\u2009", " ")
        if core.tag == "mo" and len(name) > 1 and name[0].isalpha():
            core.set("lspace", THIN if at and base(children[at - 1]).tag != "mo" else "0")
            core.set("rspace", "0")
        elif not (core.tag == "mi" and name in FUNCTIONS):
            continue
        following = base(children[at + 1]) if at + 1 < len(children) else None
        if (
            following is not None
            and (following.text or "x")[0] not in "([{|⟨⌊‖,.;)]}=+"
            and following.tag != "mspace"
            and not brackets(following)
        ):
            element.insert(list(element).index(child) + 1, Element("mspace", {"width": THIN}))


def brackets(element: Element) -> bool:
    """Say whether a group starts with a bracket."""
    return (
        element.tag == "mrow"
        and len(element) > 0
        and (element[0].get("fence") == "true" or (element[0].text or " ")[0] in "([{|")
    )
