"""
---
title: Bytes and subwords
summary: Tokens that are bytes, or frequent strings of bytes learned from the text; every text reads back exactly.
---

# Bytes and subwords

A byte tokenizer has 256 tokens and knows every text. Byte-pair encoding begins with the same tokens and joins, again and again, the two
neighbours that stand together most often, until the vocabulary is full. Frequent words become one token, rare ones stay several.

[Another page](bpe.py) tells how this works, in plain Python. Here both are made with the tokenizers library, and any other
`tokenizer.json` of that library serves as well.

*Source.* Sennrich et al., 2016, "Neural machine translation of rare words with subword units", https://arxiv.org/abs/1508.07909;
on bytes: Radford et al., 2019, "Language models are unsupervised multitask learners", section 2.2.

```python
>>> byte_tokenizer().encode("aä").tolist()
[97, 195, 164]

```
"""

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Int
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from torch import Tensor

from headwise.train.tokenizer import TokenizerError

LARGEST_VOCAB = 2**24


class SubwordTokenizer:
    """A tokenizer of the tokenizers library, with the methods that a training needs."""

    def __init__(self, library: Tokenizer) -> None:
        self.library = library

    @property
    def vocab(self) -> int:
        """Number of different tokens."""
        return self.library.get_vocab_size()

    def encode(self, text: str) -> Int[Tensor, " I"]:
        """The tokens of a text."""
        _encoded(text)
        # Marks for the beginning or the end would stand in the middle of the text wherever it is cut into rows.
        # The fast method leaves out where in the text each token stands, which is more than half of the work.
        return torch.tensor(self.library.encode_batch_fast([text], add_special_tokens=False)[0].ids, dtype=torch.long)

    def decode(self, tokens: Iterable[int] | Tensor) -> str:
        """The text of tokens; a character whose bytes are not complete becomes the replacement character."""
        numbers = tokens.tolist() if isinstance(tokens, Tensor) else list(tokens)
        for index, number in enumerate(numbers):
            if not 0 <= number < self.vocab:
                raise TokenizerError(
                    f"`tokens` must lie between 0 and {self.vocab - 1}. Got {number} at index {index}."
                )
        return self.library.decode(numbers, skip_special_tokens=False)

    def to_json(self) -> str:
        """The content of `tokenizer.json`."""
        return self.library.to_str(pretty=True) + "\n"


class ByteTokenizer(SubwordTokenizer):
    """One token per byte. Its file is one of the library; its tokens need no look-up."""

    def encode(self, text: str) -> Int[Tensor, " I"]:
        return torch.from_numpy(np.frombuffer(_encoded(text), dtype=np.uint8).astype(np.int64))


def byte_tokenizer() -> ByteTokenizer:
    """One token per byte, and the token is the value of the byte."""
    # The library writes bytes as printable characters. Text encoded as UTF-8 never holds some of the bytes, so the characters are
    # taken from their rule: printable bytes stand for themselves, the others for the characters from U+0100 on, in their order.
    printable = [*range(ord("!"), ord("~") + 1), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    signs = {byte: chr(byte) for byte in printable} | {byte: chr(256 + number) for number, byte in enumerate(others)}
    return ByteTokenizer(
        _on_bytes(models.BPE(vocab={signs[byte]: byte for byte in range(256)}, merges=[]), words=False)
    )


def train_bpe(texts: Iterable[str], *, vocab: int) -> SubwordTokenizer:
    """A byte-pair encoding with `vocab` tokens, or fewer where the texts have not enough pairs to join."""
    if vocab < 256:
        raise TokenizerError(f"`vocab` must be at least 256, the number of bytes. Got {vocab}.")
    # The library makes room for all tokens first, and ends the whole program where there is none.
    if vocab > LARGEST_VOCAB:
        raise TokenizerError(
            f"`vocab` must be at most {LARGEST_VOCAB:,}. Got {vocab:,}; usual sizes are 1,000 to 200,000."
        )
    library = _on_bytes(models.BPE(), words=True)
    trainer = trainers.BpeTrainer(
        vocab_size=vocab, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False
    )
    library.train_from_iterator(texts, trainer)
    return SubwordTokenizer(library)


def read_tokenizer(path: Path) -> SubwordTokenizer:
    """The tokenizer of a file of the tokenizers library."""
    try:
        return SubwordTokenizer(Tokenizer.from_file(str(path)))
    # The library raises plain exceptions, of no class that could be named here.
    except Exception as error:
        raise TokenizerError(f"A tokenizer must be a file of the tokenizers library. {path}: {error}.") from None


def _encoded(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise TokenizerError(
            f"`text` must be valid Unicode. It has half of a surrogate pair at index {error.start}."
        ) from None


def _on_bytes(model: models.Model, *, words: bool) -> Tokenizer:
    library = Tokenizer(model)
    # Pairs are joined inside of words only; a space belongs to the word behind it.
    library.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=words)
    library.decoder = decoders.ByteLevel()
    return library
