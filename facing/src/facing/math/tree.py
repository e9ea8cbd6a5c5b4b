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
from facing.math.spacing import UNDER, space

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
OUTLINES = {"box": "box", "updiagonalstrike": "strike", "downdiagonalstrike": "strike", "horizontalstrike": "strike"}
# Colours that have a shade for each theme in the style sheet; others keep the author's value.
COLORS = frozenset(
    ["red", "green", "lightgreen", "blue", "lightblue", "cyan", "orange", "purple", "magenta", "pink", "brown"]
)
COLORS |= {"gray", "grey", "yellow"}
# Signs over and under a letter: the character that grows, for each that the converter writes.
WIDE = {"^": "\u0302", "~": "\u0303", "→": "→", "←": "←", "↔": "↔"}


def mend(element: Element, problems: list[str]) -> None:
    """Mend an element and all below it, from the inside out."""
    for child in list(element):
        mend(child, problems)
    for step in (operator, letters, names, commands, single, limits, attributes, outline, table, accents, arrows):
        step(element, problems)
    space(element)


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
    """Writes letters in the style that the element asks for, because browsers know most values of `mathvariant` no longer."""
    style = element.get("mathvariant")
    if style is None or element.tag not in ("mi", "mn", "mo", "mtext"):
        return
    if element.tag != "mtext" and style in STARTS:
        element.text = styled(element.text or "", style)
        del element.attrib["mathvariant"]
    elif style != "normal" or element.tag != "mi":
        del element.attrib["mathvariant"]
        element.set("class", style)
        if element.tag == "mi":
            # Without this a single letter would be italic.
            element.set("mathvariant", "normal")


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
    """A sign that is no letter is an operator: it gets the spacing of one, and brackets do not grow by themselves. Infinity is a letter."""
    text = element.text or ""
    if element.tag == "mo" and text in ("…", "∞"):
        element.tag = "mi"
    if text in ("′", "″", "‴"):
        # The font has a shape of its own for a prime that stands as an exponent.
        element.set("class", "prime")
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
    """Replaces attributes that browsers do not know by what they do know."""
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


def accents(element: Element, problems: list[str]) -> None:
    """A wide accent grows with what stands under it, and a bar covers all of it."""
    if element.tag not in ("mover", "munder") or len(element) != 2 or element.get("accent"):
        return
    sign = element[1]
    if sign.tag == "mo" and sign.text == "―":
        # No browser draws a bar as long as what it covers; the style sheet can.
        element.set("class", "over" if element.tag == "mover" else "under")
        element.tag = "mrow"
        element.remove(sign)
    elif sign.tag == "mo" and sign.text in WIDE and sign.get("stretchy") is None:
        sign.text = WIDE[sign.text]
        sign.attrib = {"stretchy": "true"}
        element.set("accent" if element.tag == "mover" else "accentunder", "true")


def arrows(element: Element, problems: list[str]) -> None:
    """An arrow with a text over it is as long as the text; padding is written as spaces."""
    if element.tag == "mpadded" and element.get("voffset"):
        element.tag = "mrow"
        body = list(element)[:1]
        element[:] = [Element("mspace", {"width": "0.5em"}), *body, Element("mspace", {"width": "0.5em"})]
        element.attrib = {}
    elif (
        element.tag == "mstyle"
        and element.get("scriptlevel") == "0"
        and len(element) == 1
        and element[0].text in ("→", "←")
    ):
        element.tag, element.text = "mo", element[0].text
        element.attrib = {"stretchy": "true"}
        element[:] = []
