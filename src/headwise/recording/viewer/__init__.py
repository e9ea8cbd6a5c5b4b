"""
---
title: The viewer
summary: One page that shows all layers and heads, and needs nothing else.
---

# The viewer

`write_page` makes one HTML file that works without a network: style, script and weights are inside it. Weights are stored as
square roots in 8 bits, since small weights need finer steps than large ones, and compressed. Tokens are data, never markup.
"""

import base64
import html
import json
import zlib
from importlib.resources import files
from pathlib import Path

import numpy as np

from headwise.recording.files import write
from headwise.recording.maps import Maps

# A page of more than this many letters of weights takes long to send and to open; the weights are then stored in coarser steps.
MOST_LETTERS = 4_700_000
LEVELS = (255, 127, 63, 31, 15)


def write_page(maps: Maps, path: Path, *, title: str = "Attention") -> None:
    """Write the page."""
    write(path, page(maps, title=title))


def page(maps: Maps, *, title: str = "Attention") -> str:
    """The page as text."""
    weights, about = pack(maps)
    resolution = (
        ""
        if about["levels"] == LEVELS[0]
        else f" Weights are shown in {about['levels']} steps, to keep the page small."
    )
    if any(np.isnan(weights_HIJ).any() for weights_HIJ in maps.layers.values()):
        resolution += " Some weights are not a number; they are shown as 0."
    parts = {
        "style": _asset("style.css"),
        "title": html.escape(title),
        "note": html.escape(maps.note + resolution),
        "about": _inside_script(json.dumps(about, ensure_ascii=False)),
        "weights": weights,
        "script": _asset("script.js"),
    }
    # Split at the marks, so that a mark inside a title or a token is text like any other.
    pieces = _asset("page.html").split("{{")
    return pieces[0] + "".join(parts[name] + rest for name, rest in (piece.split("}}", 1) for piece in pieces[1:]))


def pack(maps: Maps) -> tuple[str, dict[str, object]]:
    """The weights as text, and what a reader of them must know."""
    layers, first = [], 0
    for name, weights_HIJ in maps.layers.items():
        layers.append({"name": name, "heads": len(weights_HIJ), "first": first})
        first += len(weights_HIJ)
    triangular = all(not np.triu(weights_HIJ, 1).any() for weights_HIJ in maps.layers.values())
    square = len(maps.queries) == len(maps.keys)
    text, levels = "", LEVELS[0]
    for levels in LEVELS:
        text = packed(maps, levels, triangular and square)
        if len(text) <= MOST_LETTERS:
            break
    about = {
        "layers": layers,
        "queries": maps.queries,
        "keys": maps.keys,
        "triangular": triangular and square,
        "levels": levels,
    }
    return text, about


def packed(maps: Maps, levels: int, triangular: bool) -> str:
    """Square roots of the weights in so many steps, compressed, in letters."""
    below = np.tril_indices(len(maps.queries))
    parts = []
    for weights_HIJ in maps.layers.values():
        stored = weights_HIJ[:, *below] if triangular else weights_HIJ
        parts.append(np.rint(levels * np.sqrt(np.nan_to_num(stored).clip(0, 1))).astype(np.uint8).tobytes())
    return base64.b64encode(zlib.compress(b"".join(parts), 6)).decode()


def _asset(name: str) -> str:
    return (files("headwise.recording.viewer") / name).read_text(encoding="utf-8")


def _inside_script(text: str) -> str:
    # A token may hold `</script>`; written by its number the letter ends no script and means the same to JSON.
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
