"""
---
title: Text to learn from
summary: A corpus is a list of documents under a name, split into training and validation text.
---

# Text to learn from

A corpus is one of the named ones below, or else it is read from files. It is split by document: two halves of one document know
about each other, and a loss on the second half would look better than it is.
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from headwise.train.data_error import DataError
from headwise.train.manual import manual
from headwise.train.shakespeare import shakespeare, shakespeare_tiny
from headwise.train.sources import read_source

__all__ = ["CORPORA", "Corpus", "DataError", "read_corpus", "split_corpus"]

CORPORA: dict[str, Callable[[], tuple[str, ...]]] = {
    "manual": manual,
    "shakespeare": shakespeare,
    "shakespeare-tiny": shakespeare_tiny,
}

# Texts between documents are joined by this mark, which both halves of the split share.
BETWEEN_DOCUMENTS = "\n\n\n"


@dataclass(frozen=True)
class Corpus:
    """Documents under a name."""

    name: str
    documents: tuple[str, ...]

    @property
    def text(self) -> str:
        """All documents as one text."""
        return BETWEEN_DOCUMENTS.join(self.documents)

    @property
    def digest(self) -> str:
        """A number that is another one as soon as any character is."""
        return hashlib.sha256(self.text.encode("utf-8", "surrogatepass")).hexdigest()


def read_corpus(source: str, encoding: str = "utf-8") -> Corpus:
    """The corpus of that name, or else the text that the source describes."""
    if source in CORPORA:
        return Corpus(source, CORPORA[source]())
    name = Path(source.partition("[")[0]).stem
    return Corpus(name if name not in ("", "-") else "text", read_source(source, encoding))


def split_corpus(corpus: Corpus, *, seed: int, fraction: float = 0.1) -> tuple[str, str]:
    """Training text and validation text; `fraction` of the characters, or a little less, are for validation."""
    wanted = int(len(corpus.text) * fraction)
    chosen = _chosen_documents(corpus, wanted, seed)
    # Where no document is small enough, the text has to be cut, and its end is for validation.
    if not chosen:
        cut = len(corpus.text) - wanted
        return corpus.text[:cut], corpus.text[cut:]
    training = (text for index, text in enumerate(corpus.documents) if index not in chosen)
    validation = (text for index, text in enumerate(corpus.documents) if index in chosen)
    return BETWEEN_DOCUMENTS.join(training), BETWEEN_DOCUMENTS.join(validation)


def _chosen_documents(corpus: Corpus, wanted: int, seed: int) -> set[int]:
    """Documents for validation, drawn with the seed as long as they fit."""
    chosen: set[int] = set()
    total = 0
    for index in np.random.default_rng(seed).permutation(len(corpus.documents)).tolist():
        size = len(corpus.documents[index]) + len(BETWEEN_DOCUMENTS)
        if total + size <= wanted:
            chosen.add(index)
            total += size
    # One small document of a few large ones would be too little to measure on.
    return chosen if total >= wanted // 2 else set()
