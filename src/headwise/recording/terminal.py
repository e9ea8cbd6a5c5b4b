"""
---
title: Maps on a terminal
summary: A heat map of one head out of characters, with colours where there are some.
---

# Maps on a terminal

A short text gets a cell of its own for each pair, with the weight in percent. A long one gets a picture in which each character
shows one key and two queries. Without colours, signs of growing ink take their place.
"""

import numpy as np
from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.style import Style
from rich.text import Text

from headwise.recording.maps import Array

# Signs of growing ink, for terminals without colour.
INK = " .:-=+*#%@"
# From paper to ink in even steps of lightness, so that every kind of colour vision reads them.
STOPS = np.array([(255, 255, 255), (198, 219, 239), (107, 174, 214), (33, 113, 181), (8, 38, 90)], dtype=float)
LABEL = 14
CELL = 3


def draw_map(console: Console, weights_IJ: Array, queries: list[str]) -> None:
    """Print the map of one head; `queries` are the texts of the rows."""
    if len(queries) and LABEL + CELL * weights_IJ.shape[1] <= console.width:
        draw_cells(console, weights_IJ, queries)
    else:
        draw_picture(console, weights_IJ)


def draw_cells(console: Console, weights_IJ: Array, queries: list[str]) -> None:
    """One cell for each pair: the weight in percent."""
    numbers = "".join(f"{key % 100:>2} " for key in range(weights_IJ.shape[1]))
    print_line(console, Text(" " * LABEL + numbers, style="dim"))
    for row, (weights_J, text) in enumerate(zip(weights_IJ, queries, strict=True)):
        line = Text(label(row, text))
        for weight in weights_J:
            line.append(percent(float(weight)), style=style_of(float(weight)) if has_colours(console) else "")
        print_line(console, line)


def draw_picture(console: Console, weights_IJ: Array) -> None:
    """One character for one key and two queries; neighbours are joined where the map is wider than the terminal."""
    places = min(console.width, weights_IJ.shape[1])
    shown = largest(largest(weights_IJ, places).T, places * weights_IJ.shape[0] // weights_IJ.shape[1] or 1).T
    shown = np.concatenate([shown, np.zeros((len(shown) % 2, shown.shape[1]))])
    for upper_J, lower_J in zip(shown[::2], shown[1::2], strict=True):
        if not has_colours(console):
            print_line(console, Text("".join(INK[ink(float(weight))] for weight in np.maximum(upper_J, lower_J))))
            continue
        line = Text()
        for pair in zip(upper_J, lower_J, strict=True):
            line.append("▀", style=Style(color=rgb(float(pair[0])), bgcolor=rgb(float(pair[1]))))
        print_line(console, line)


def largest(weights_IJ: Array, places: int) -> Array:
    """At most so many columns; each shows the largest weight of its keys, so that thin lines do not vanish."""
    starts = np.arange(places) * weights_IJ.shape[1] // places
    joined: Array = np.maximum.reduceat(weights_IJ, starts, axis=1)
    return joined


def label(row: int, text: str) -> str:
    """Number and text of a row, cut to one width in the cells of a terminal, where some characters take two."""
    wide = LABEL - 5
    shown = text if cell_len(text) <= wide else set_cell_size(text, wide - 1) + "…"
    return f"{row:>3} {set_cell_size(shown, wide)} "


def percent(weight: float) -> str:
    """A weight in two figures; 100 percent would need three, so it is two squares."""
    number = round(100 * weight)
    return " · " if number == 0 else "▪▪ " if number == 100 else f"{number:>2} "


def ink(weight: float) -> int:
    """Which of the signs; the root makes small weights visible."""
    return round(weight**0.5 * (len(INK) - 1)) if weight == weight else len(INK) - 1


def rgb(weight: float) -> str:
    """The colour of a weight."""
    place = min(max(weight, 0.0), 1.0) ** 0.5 * (len(STOPS) - 1)
    low = min(int(place), len(STOPS) - 2)
    red, green, blue = (STOPS[low] + (STOPS[low + 1] - STOPS[low]) * (place - low)).round().astype(int)
    return f"rgb({red},{green},{blue})"


def style_of(weight: float) -> Style:
    """Background in the colour of the weight, text in black or white, whichever is read better on it."""
    return Style(color="rgb(255,255,255)" if weight > 0.45 else "rgb(0,0,0)", bgcolor=rgb(weight))


def has_colours(console: Console) -> bool:
    return console.is_terminal and console.color_system is not None and not console.no_color


def print_line(console: Console, line: Text) -> None:
    console.print(line, soft_wrap=True, highlight=False)
