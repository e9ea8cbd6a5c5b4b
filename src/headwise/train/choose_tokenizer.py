"""
---
title: Which tokenizer
summary: Characters, bytes, a byte-pair encoding learned from the text, or a file.
---

# Which tokenizer
"""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Protocol

from jaxtyping import Int
from torch import Tensor

from headwise.train.config import RunConfig
from headwise.train.subwords import SubwordTokenizer, byte_tokenizer, read_tokenizer, train_bpe
from headwise.train.tokenizer import CharacterTokenizer, TokenizerError, parse_characters


class Tokenizer(Protocol):
    """What a training needs of a tokenizer."""

    @property
    def vocab(self) -> int:
        """Number of different tokens."""
        ...

    def encode(self, text: str) -> Int[Tensor, " I"]:
        """The tokens of a text."""
        ...

    def decode(self, tokens: Iterable[int] | Tensor) -> str:
        """The text of tokens."""
        ...

    def to_json(self) -> str:
        """The content of `tokenizer.json`."""
        ...


def build_tokenizer(config: RunConfig, *, training: Iterable[str], alphabet: str) -> Tokenizer:
    """The tokenizer that the settings name; `training` is the part of the text from which it may learn, in pieces."""
    if config.tokenizer == "characters":
        # The alphabet is that of the whole text. A character that the validation text alone has could otherwise not be measured.
        return CharacterTokenizer.of(alphabet)
    if config.tokenizer == "bytes":
        return byte_tokenizer()
    if config.tokenizer == "bpe":
        return train_bpe(training, vocab=config.vocab)
    path = Path(config.tokenizer)
    if not path.is_file():
        raise TokenizerError(
            f"`tokenizer` must be characters, bytes, bpe, or a file. Got {config.tokenizer!r}, and there is no such file."
        )
    return _read(path)


def load_tokenizer(path: Path) -> Tokenizer:
    """The tokenizer of a run folder."""
    if not path.is_file():
        raise TokenizerError(f"A run must hold a tokenizer. There is no {path}.")
    return _read(path)


def _read(path: Path) -> CharacterTokenizer | SubwordTokenizer:
    try:
        characters = parse_characters(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError) as error:
        raise TokenizerError(f"A tokenizer must be a file in JSON. {path}: {error}.") from None
    return characters or read_tokenizer(path)
