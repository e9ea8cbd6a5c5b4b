"""
---
title: Tokens, made visible
summary: Text of tokens in which blanks and control characters can be seen.
---
"""

import unicodedata
from collections.abc import Iterable

# Signs that readers know from keyboards and editors.
SIGNS = {" ": "␣", "\n": "↵", "\t": "⇥", "\r": "␍", "\u00a0": "⍽", "\x7f": "␡", "": "∅"}
# Characters that take no room, or that turn the direction of what follows.
INVISIBLE = {"Cf", "Cc", "Zl", "Zp", "Zs", "Cs", "Co", "Cn"}


def visible(token: str) -> str:
    """
    The token, with a sign in place of each character that cannot be seen.

    A character that would turn the direction of the text is written by its number, so that it turns nothing.

    >>> visible("to be\\n"), visible("\\u202e"), visible("\\x00")
    ('to␣be↵', '‹202E›', '␀')
    """
    return SIGNS[""] if not token else "".join(map(sign, token))


def sign(character: str) -> str:
    """The sign of one character."""
    if character in SIGNS:
        return SIGNS[character]
    if ord(character) < 32:
        # Unicode has a picture for each of the old control characters.
        return chr(0x2400 + ord(character))
    return f"‹{ord(character):04X}›" if unicodedata.category(character) in INVISIBLE else character


def visible_all(tokens: Iterable[str]) -> list[str]:
    """Each token, made visible."""
    return [visible(token) for token in tokens]
