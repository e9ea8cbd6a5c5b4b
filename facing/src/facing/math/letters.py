"""---
title: Styled letters
summary: MathML has no bold or double-struck style any more; such letters are characters of their own.
---
"""

from __future__ import annotations

# For each style: where its capitals, small letters, digits and Greek letters start in Unicode (0: there are none).
STARTS: dict[str, tuple[int, int, int, int]] = {
    "bold": (0x1D400, 0x1D41A, 0x1D7CE, 0x1D6A8),
    "italic": (0x1D434, 0x1D44E, 0, 0x1D6E2),
    "bold-italic": (0x1D468, 0x1D482, 0x1D7CE, 0x1D71C),
    "script": (0x1D49C, 0x1D4B6, 0, 0),
    "bold-script": (0x1D4D0, 0x1D4EA, 0, 0),
    "fraktur": (0x1D504, 0x1D51E, 0, 0),
    "double-struck": (0x1D538, 0x1D552, 0x1D7D8, 0),
}
# Letters that Unicode had before it got these alphabets.
EARLY: dict[tuple[str, str], str] = {
    ("italic", "h"): "ℎ",
    **{("script", letter): sign for letter, sign in zip("BEFHILMReg", "ℬℰℱℋℐℒℳℛℯℊ", strict=True)},
    ("script", "o"): "ℴ",
    **{("fraktur", letter): sign for letter, sign in zip("CHIRZ", "ℭℌℑℜℨ", strict=True)},
    **{("double-struck", letter): sign for letter, sign in zip("CHNPQRZ", "ℂℍℕℙℚℝℤ", strict=True)},
}
GREEK = "ΑΒΓΔΕΖΗΘΙΚΛΜΝΞΟΠΡϴΣΤΥΦΧΨΩ∇αβγδεζηθικλμνξοπρςστυφχψω∂ϵϑϰϕϱϖ"


def styled(text: str, style: str) -> str:
    """Write each letter of `text` in a style; what has no such form stays as it is."""
    return "".join(letter(character, style) for character in text)


def letter(character: str, style: str) -> str:
    """The letter in this style, as a character of its own in Unicode where it has one."""
    if (style, character) in EARLY:
        return EARLY[style, character]
    capitals, small, digits, greek = STARTS.get(style, (0, 0, 0, 0))
    if "A" <= character <= "Z" and capitals:
        return chr(capitals + ord(character) - ord("A"))
    if "a" <= character <= "z" and small:
        return chr(small + ord(character) - ord("a"))
    if "0" <= character <= "9" and digits:
        return chr(digits + ord(character) - ord("0"))
    if character in GREEK and greek:
        return chr(greek + GREEK.index(character))
    return character
