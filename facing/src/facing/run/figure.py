"""---
title: Figures
summary: A picture that a page has drawn is written again with the elements and attributes of plain drawings only.
---
A figure stands in the page itself, so that the colours of the page reach it: presentation attributes hold the colours of
light, and the classes `ink`, `soft`, `line`, `fill-1` to `fill-4` and `stroke-1` to `stroke-4` those of either theme.
"""

from __future__ import annotations

import re
from html import escape
from xml.etree import ElementTree

SHAPES = frozenset(
    {"svg", "g", "title", "desc", "text", "tspan", "rect", "circle", "ellipse", "line", "path", "polyline", "polygon"}
)
# What an attribute may say is its name's business: none of these can load or run anything.
POSITION = frozenset(
    ("cx", "cy", "d", "dx", "dy", "height", "points", "r", "rx", "ry", "transform", "viewBox", "width")
)
PLACES = frozenset(("preserveAspectRatio", "x", "x1", "x2", "y", "y1", "y2"))
PAINT = frozenset(("class", "fill", "fill-opacity", "opacity", "stroke", "stroke-opacity", "stroke-width"))
STROKE = frozenset(("stroke-dasharray", "stroke-linecap", "stroke-linejoin"))
LETTERS = frozenset(("dominant-baseline", "font-family", "font-size", "font-weight", "text-anchor"))
ATTRIBUTES = POSITION | PLACES | PAINT | STROKE | LETTERS


class FigureError(ValueError):
    """A picture that cannot be shown."""


def figure(svg: str, alt: str = "") -> tuple[str, str]:
    """Give the picture, safe to stand in a page, and its alternative text: `alt`, or its first `<title>`."""
    if "<!DOCTYPE" in svg.upper() or "<!ENTITY" in svg.upper():
        raise FigureError("A figure must be an SVG element alone. This one has a document type.")
    try:
        root = ElementTree.fromstring(svg)
    except ElementTree.ParseError as error:
        raise FigureError(f"A figure must be valid XML. The parser says: {error}.") from None
    if plain(root.tag) != "svg":
        raise FigureError(f"A figure must be an SVG element. This one is <{plain(root.tag)}>.")
    title = next((each for each in root if plain(each.tag) == "title"), None)
    said = alt or ("" if title is None else "".join(title.itertext()).strip())
    if title is not None:
        # The name stands on the element itself; a title would also follow the mouse.
        root.remove(title)
    return write(root, f' role="img" aria-label="{escape(said)}"'), said


def plain(tag: str) -> str:
    return tag.rpartition("}")[2]


def write(element: ElementTree.Element, extra: str = "") -> str:
    """Write one element and what it holds."""
    tag = plain(element.tag)
    if tag not in SHAPES:
        raise FigureError(f"A figure must be a plain drawing. It holds <{tag}>, which is none of its elements.")
    attributes = "".join(
        f' {name}="{escape(value)}"' for name, value in element.attrib.items() if name in ATTRIBUTES and safe(value)
    )
    inside = "".join(write(child) + escape(child.tail or "", quote=False) for child in element)
    return f"<{tag}{attributes}{extra}>{escape(element.text or '', quote=False)}{inside}</{tag}>"


def safe(value: str) -> bool:
    """Say whether an attribute refers to nothing."""
    return not re.search(r"url\s*\(|javascript:", value, re.IGNORECASE)
