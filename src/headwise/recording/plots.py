"""
---
title: Pictures of maps
summary: PNG and SVG files of all heads, or of one; needs matplotlib.
---
"""

import io
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headwise.recording.files import write
from headwise.recording.maps import Array, Maps
from headwise.recording.tape import RecordingError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# The root of a weight is shown, so that small weights are visible beside large ones.
POWER = 0.5
MOST_LABELS = 48
# Blue, orange and green of Okabe and Ito's palette, which every kind of colour vision tells apart.
PALETTE = ("#0072b2", "#d55e00", "#009e73")
Curves = Mapping[str, Sequence[float]]


def write_picture(maps: Maps, path: Path, *, head: tuple[str, int] | None = None, title: str = "") -> None:
    """Write a PNG or SVG file, as its name says: all heads, or one layer and head with its tokens."""
    figure = draw_all(maps, title) if head is None else draw_one(maps, *head, title=title)
    save_figure(figure, path)


def save_figure(figure: "Figure", path: Path) -> None:
    """Write a figure in the format that the name says."""
    import matplotlib

    kind = path.suffix.lower().removeprefix(".")
    buffer = io.BytesIO()
    # Without a date, and with names that do not change, the same maps give the same file.
    with warnings.catch_warnings(), matplotlib.rc_context({"svg.hashsalt": "headwise"}):
        # Which characters can be drawn depends on the fonts of the machine; others are drawn as boxes, as everybody can see.
        warnings.filterwarnings("ignore", "Glyph .* missing")
        figure.savefig(buffer, format=kind, dpi=160, metadata={"Date": None} if kind == "svg" else None)
    write(path, buffer.getvalue())


def draw_all(maps: Maps, title: str = "") -> "Figure":
    """One small map for each head: layers from top to bottom, heads from left to right."""
    most = max(len(weights_HIJ) for weights_HIJ in maps.layers.values())
    figure = new_figure(1.3 * most + 0.9, 1.3 * len(maps.layers) + 0.8)
    grid = figure.subplots(len(maps.layers), most, squeeze=False)
    for layer, weights_HIJ in enumerate(maps.layers.values()):
        for head, axes in enumerate(grid[layer]):
            axes.set_xticks([])
            axes.set_yticks([])
            if head >= len(weights_HIJ):
                axes.set_visible(False)
                continue
            draw(axes, weights_HIJ[head])
            if layer == 0:
                axes.set_title(f"head {head}", fontsize=9)
            if head == 0:
                axes.set_ylabel(f"layer {layer}", fontsize=9)
    figure.suptitle(title or "Attention: rows are queries, columns are keys", fontsize=10, parse_math=False)
    return figure


def draw_one(maps: Maps, layer: str, head: int, *, title: str = "") -> "Figure":
    """One map with a scale, and with its tokens where they have room."""
    weights_IJ = maps.layers[layer][head]
    figure = new_figure(6.5, 6)
    axes = figure.subplots()
    picture = draw(axes, weights_IJ)
    figure.colorbar(picture, ax=axes, label="weight", shrink=0.8)
    for set_ticks, texts, turn in ((axes.set_yticks, maps.queries, 0), (axes.set_xticks, maps.keys, 90)):
        if len(texts) <= MOST_LABELS:
            # A token may hold a dollar sign, which begins a formula elsewhere.
            set_ticks(range(len(texts)), texts, rotation=turn, fontsize=7, parse_math=False)
    axes.set_xlabel("key")
    axes.set_ylabel("query")
    axes.set_title(title or f"{layer}, head {head}", fontsize=10, parse_math=False)
    return figure


def write_curves(path: Path, steps: Sequence[float], left: Curves, right: Curves) -> None:
    """Curves over the steps of a training, with a scale on each side: what they share is when they bend."""
    figure = new_figure(7, 3.6)
    axes = figure.subplots()
    lines: list[Any] = []
    for place, curves, styles in ((axes, left, ["-"]), (axes.twinx(), right, ["--", ":", "-."])):
        for number, (name, values) in enumerate(curves.items()):
            # Colours and kinds of line both tell the curves apart, so that either is enough.
            colour = PALETTE[len(lines) % len(PALETTE)]
            lines += place.plot(steps, values, styles[number % len(styles)], color=colour, label=name)
        place.set_ylim(bottom=0)
        place.set_ylabel(", ".join(curves) if len(curves) == 1 else "score")
    axes.set_xlabel("step")
    figure.legend(handles=lines, loc="outside upper center", ncols=3, fontsize=8, frameon=False)
    save_figure(figure, path)


def draw(axes: Any, weights_IJ: Array) -> Any:
    from matplotlib.colors import PowerNorm

    return axes.imshow(
        weights_IJ, cmap="Blues", norm=PowerNorm(POWER, 0.0, 1.0), interpolation="nearest", aspect="auto"
    )


def new_figure(wide: float, high: float) -> "Figure":
    """A figure that belongs to nobody's session: no window opens and no global state changes."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise RecordingError(
            "PNG and SVG files need matplotlib, which is not installed. Usual fix: pip install 'headwise[plots]'."
        ) from None
    return Figure(figsize=(wide, high), layout="constrained")
