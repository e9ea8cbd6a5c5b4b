"""
---
title: Character tokenizer
summary: Text to numbers and back, one number per character, kept in a file that the tokenizers library reads too.
---

# Character tokenizer

A model reads numbers. The simplest way from text to numbers gives each character of the alphabet its place in it.

*Errors.* A character outside the alphabet is an error that names the character and its place; nothing is replaced silently.

```python
>>> tokenizer = CharacterTokenizer("abc")
>>> tokenizer.encode("cab").tolist()
[2, 0, 1]
>>> tokenizer.decode([2, 0, 1])
'cab'

```
"""

import json
import unicodedata
from collections.abc import Iterable
from typing import Any

import torch
from jaxtyping import Int
from torch import Tensor

from headwise.errors import HeadwiseError

# To the library, `.` does not match a line break.
ANY_CHARACTER = r"[\s\S]"


class TokenizerError(HeadwiseError):
    """A text or a number that the tokenizer does not know, or a tokenizer file that cannot be read."""


class CharacterTokenizer:
    """One token per character; the alphabet is a string without repetitions, and a token is an index into it."""

    def __init__(self, alphabet: str) -> None:
        if not alphabet or len(set(alphabet)) != len(alphabet):
            raise TokenizerError(f"`alphabet` must hold at least one character, and each one once. Got {alphabet!r}.")
        self.alphabet = alphabet
        self._token_of = {character: token for token, character in enumerate(alphabet)}

    @classmethod
    def of(cls, text: str) -> "CharacterTokenizer":
        """The tokenizer whose alphabet is the characters of a text, in the order of their code points."""
        return cls("".join(sorted(set(text))))

    @property
    def vocab(self) -> int:
        """Number of different tokens."""
        return len(self.alphabet)

    def encode(self, text: str) -> Int[Tensor, " I"]:
        """The tokens of a text."""
        # A character that is missing gives -1 first, so that one pass over the text serves both cases.
        tokens = [self._token_of.get(character, -1) for character in text]
        if -1 in tokens:
            raise TokenizerError(self._unknown(text, tokens.index(-1)))
        return torch.tensor(tokens, dtype=torch.long)

    def decode(self, tokens: Iterable[int] | Tensor) -> str:
        """The text of tokens."""
        numbers = tokens.tolist() if isinstance(tokens, Tensor) else list(tokens)
        for index, number in enumerate(numbers):
            # Python would take -1 for the last character of the alphabet.
            if not 0 <= number < self.vocab:
                raise TokenizerError(
                    f"`tokens` must lie between 0 and {self.vocab - 1}. Got {number} at index {index}."
                )
        return "".join(self.alphabet[number] for number in numbers)

    def _unknown(self, text: str, index: int) -> str:
        character = text[index]
        name = unicodedata.name(character, "a character without a name")
        line = text.count("\n", 0, index) + 1
        column = index - (text.rfind("\n", 0, index) + 1) + 1
        shown = self.alphabet if self.vocab <= 120 else self.alphabet[:120] + "..."
        return (
            f"Each character of the text must belong to the alphabet {shown!r}. Got {character!r} (U+{ord(character):04X}, {name}) "
            f"at index {index}, line {line}, column {column}; write it differently, or train on a text that has it."
        )

    def to_json(self) -> str:
        """The content of `tokenizer.json`, in the format of the tokenizers library."""
        # To that library a character tokenizer is a vocabulary of words, where each word is what the pattern "any character" cuts out.
        document: dict[str, Any] = {
            "version": "1.0",
            "truncation": None,
            "padding": None,
            "added_tokens": [],
            "normalizer": None,
            "pre_tokenizer": {
                "type": "Split",
                "pattern": {"Regex": ANY_CHARACTER},
                "behavior": "Isolated",
                "invert": False,
            },
            "post_processor": None,
            "decoder": {"type": "Fuse"},
            "model": {"type": "WordLevel", "vocab": self._token_of, "unk_token": ""},
        }
        return json.dumps(document, ensure_ascii=True, indent=1) + "\n"


def parse_characters(document: Any) -> CharacterTokenizer | None:
    """The character tokenizer that a `tokenizer.json` describes; None if it describes another kind."""
    try:
        if document["model"]["type"] != "WordLevel" or document["pre_tokenizer"]["pattern"]["Regex"] != ANY_CHARACTER:
            return None
        vocab: dict[str, int] = document["model"]["vocab"]
        words = sorted(vocab, key=vocab.__getitem__)
    except (KeyError, TypeError, AttributeError):
        return None
    if [vocab[word] for word in words] != list(range(len(words))) or any(len(word) != 1 for word in words):
        return None
    return CharacterTokenizer("".join(words))
