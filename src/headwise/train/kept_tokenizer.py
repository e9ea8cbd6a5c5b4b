"""
---
title: The tokenizer that is kept
summary: An encoding that was learned once is read again as long as text and settings stay the same.
---

# The tokenizer that is kept

Learning a byte-pair encoding reads the whole training text, which takes longer than anything else at the start of a training. What comes
out follows from the text, the split and the size of the vocabulary, so it is kept beside the [token files](token_file.py),
under a name made from a digest of all of them. Another text or another setting has another name and is learned anew.

The file is an ordinary `tokenizer.json`. Where the cache folder cannot be written to, nothing is kept.
"""

import contextlib
import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import tokenizers

from headwise.train.safe_files import shared_file
from headwise.train.shakespeare import cache_folder
from headwise.train.split import Survey
from headwise.train.subwords import SubwordTokenizer, read_tokenizer
from headwise.train.tokenizer import TokenizerError


def kept_tokenizer(
    learn: Callable[[], SubwordTokenizer], facts: Survey, *, name: str, seed: int, vocab: int
) -> SubwordTokenizer:
    """The tokenizer of the file that is there, or what `learn` returns, which is then kept."""
    path = _path(facts, name, seed, vocab)
    if path.is_file():
        # A file that somebody has damaged is no reason to stop: what it held is learned again.
        with contextlib.suppress(TokenizerError):
            return read_tokenizer(path)
    tokenizer = learn()
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        with shared_file(path) as file:
            file.write(tokenizer.to_json().encode())
    return tokenizer


def _path(facts: Survey, name: str, seed: int, vocab: int) -> Path:
    # Another version of the library may decide otherwise between two pairs that are equally frequent.
    sizes = hashlib.sha256(facts.sizes.tobytes()).hexdigest()
    origin = [facts.digest, sizes, seed, vocab, tokenizers.__version__]
    key = hashlib.sha256(json.dumps(origin).encode()).hexdigest()[:16]
    return cache_folder() / "tokenizers" / f"{name[:40]}-{key}.json"
