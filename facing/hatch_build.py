"""Makes the math font when the distribution is built: a subset of STIX Two Math, about 70 kB.

Without a math font Chromium draws neither radicals nor tall braces. The full font has 6,757 glyphs; the subset keeps
what formulas of this field use, and the table of the font that tells a browser how to build large signs.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

TARGET = Path(__file__).parent / "src" / "facing" / "math" / "stix-two-math.woff2"


def ranges(*pairs: tuple[int, int]) -> set[int]:
    return {code for first, last in pairs for code in range(first, last + 1)}


# ASCII, Latin signs, accents, Greek, punctuation.
TEXT = ranges(
    (0x20, 0x7E), (0x300, 0x308), (0x391, 0x3A9), (0x3B1, 0x3C9), (0x2013, 0x2016), (0x2018, 0x201D), (0x2032, 0x2034)
)
TEXT |= set(
    map(ord, "\u00a0¨¬¯°±´·×÷ˆˇ˘˙˚˜ϑϕϖϰϱϵ†‡•…‾⁄⁗\u2009\u2061\u2062\u2063\u030a\u030c\u0332\u0338\u20d6\u20d7\u20db")
)
# Arrows, operators, relations, large signs.
SIGNS = ranges(
    (0x2190, 0x2199), (0x21D0, 0x21D5), (0x2200, 0x2238), (0x223C, 0x2265), (0x226A, 0x2277), (0x227A, 0x228B)
)
SIGNS |= ranges(
    (0x228E, 0x22A8), (0x22B2, 0x22B5), (0x22C0, 0x22CF), (0x22EE, 0x22F1), (0x2308, 0x230B), (0x23DC, 0x23E1)
)
SIGNS |= ranges((0x27E6, 0x27EB), (0x27F5, 0x27FA), (0x27FC, 0x27FC), (0x2A00, 0x2A06), (0x25B3, 0x25B3))
SIGNS |= set(map(ord, "⧵↠↣↦↩↪↼↽⇀⇁⇌□○●◦★♭♯✓⟂⩽⩾⪅⪆⪯⪰⎰⎱"))
# Letters with a meaning of their own, and the alphabets: bold, italic, bold italic, script, Fraktur, double-struck, Greek.
LETTERS = set(map(ord, "ℂℋℌℍℎℏℐℑℒℓℕ℘ℙℚℛℜℝℤℨℬℭℰℱℳℵℜıȷ\U0001d7d9"))
LETTERS |= ranges((0x1D400, 0x1D4B5), (0x1D504, 0x1D537), (0x1D538, 0x1D550), (0x1D6A8, 0x1D755), (0x1D7CE, 0x1D7D7))


def subset(source: Path, target: Path) -> None:
    """Write the subset of `source` to `target`, the same bytes each time."""
    from fontTools import subset as tool
    from fontTools.ttLib import TTFont

    # Names 0 to 14 hold copyright and licence; they travel with the font.
    options = tool.Options(
        flavor="woff2",
        layout_features=["dtls", "ssty"],
        hinting=False,
        name_IDs=[*range(8), 13, 14],
        drop_tables=["DSIG"],
    )
    font = TTFont(source, recalcTimestamp=False)
    keep_large_primes(font)
    subsetter = tool.Subsetter(options)
    subsetter.populate(unicodes=TEXT | SIGNS | LETTERS)
    subsetter.subset(font)
    font.flavor = "woff2"
    font.save(target)


def keep_large_primes(font: Any) -> None:
    """Of the shapes for small print keep those of primes, which are too small without; the others double the size of the font."""
    primes = {font.getBestCmap()[code] for code in range(0x2032, 0x2035)}
    table = font["GSUB"].table
    for feature in table.FeatureList.FeatureRecord:
        if feature.FeatureTag != "ssty":
            continue
        for index in feature.Feature.LookupListIndex:
            for lookup in table.LookupList.Lookup[index].SubTable:
                lookup = getattr(lookup, "ExtSubTable", lookup)
                for name in ("alternates", "mapping"):
                    if hasattr(lookup, name):
                        setattr(
                            lookup, name, {key: value for key, value in getattr(lookup, name).items() if key in primes}
                        )


class FontHook(BuildHookInterface):
    """Runs before each build; a font that is already there is kept."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if TARGET.exists():
            return
        spec = importlib.util.find_spec("ziamath")
        if spec is None or spec.origin is None:
            raise RuntimeError(
                "The build needs the font that ziamath carries. Build with isolation, or install ziamath first."
            )
        subset(Path(spec.origin).parent / "fonts" / "STIXTwoMath-Regular.ttf", TARGET)
