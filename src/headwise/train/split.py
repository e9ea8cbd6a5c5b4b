"""
---
title: Training and validation
summary: One pass over a corpus measures its documents, and the seed says which of them are held out.
---

# Training and validation

The sizes of the documents are all that the split needs. They are known after one pass that keeps nothing else, so a corpus may be larger
than the memory; the pass also collects the alphabet and a digest by which a changed text is recognised.

```python
>>> sizes = np.array([50, 5, 45])
>>> Split.of(sizes, seed=0, fraction=0.1).held_out
array([False,  True, False])

```
"""

import hashlib
import itertools
from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

# Texts between documents are joined by this mark, which both halves of the split share.
BETWEEN_DOCUMENTS = "\n\n\n"


@dataclass(frozen=True, eq=False)
class Survey:
    """What one pass over the documents tells: the characters of each, the alphabet, and a digest of all."""

    sizes: np.ndarray
    alphabet: str
    digest: str

    @property
    def characters(self) -> int:
        """Characters of all documents and of the marks between them."""
        return int(self.sizes.sum()) + len(BETWEEN_DOCUMENTS) * (len(self.sizes) - 1)


def survey(documents: Iterable[Iterable[str]]) -> Survey:
    """Measures documents."""
    sizes = array("q")
    alphabet: set[str] = set()
    digest = hashlib.sha256()
    for document in documents:
        if sizes:
            digest.update(BETWEEN_DOCUMENTS.encode())
            alphabet.update(BETWEEN_DOCUMENTS)
        size = 0
        for piece in document:
            size += len(piece)
            alphabet.update(piece)
            digest.update(piece.encode("utf-8", "surrogatepass"))
        sizes.append(size)
    return Survey(np.array(sizes, dtype=np.int64), "".join(sorted(alphabet)), digest.hexdigest())


@dataclass(frozen=True, eq=False)
class Split:
    """Which documents are held out for validation.

    Where no document is small enough, `held_out` is None: the text is cut before its character `cut`, and its end is held out.
    """

    held_out: np.ndarray | None
    cut: int

    @classmethod
    def of(cls, sizes: np.ndarray, *, seed: int, fraction: float = 0.1) -> "Split":
        """Documents drawn with the seed as long as they fit into `fraction` of all characters."""
        total = int(sizes.sum()) + len(BETWEEN_DOCUMENTS) * (len(sizes) - 1)
        wanted = int(total * fraction)
        held_out = np.zeros(len(sizes), dtype=bool)
        taken = 0
        for index in np.random.default_rng(seed).permutation(len(sizes)):
            size = int(sizes[index]) + len(BETWEEN_DOCUMENTS)
            if taken + size <= wanted:
                held_out[index] = True
                taken += size
        # One small document of a few large ones would be too little to measure on.
        return cls(held_out if taken and taken >= wanted // 2 else None, total - wanted)

    def apply(self, documents: Iterable[Iterable[str]]) -> Iterator[tuple[bool, Iterable[str]]]:
        """Each document with whether it is held out; each must be read before the next one."""
        if self.held_out is not None:
            yield from zip(map(bool, self.held_out), documents, strict=True)
            return
        place = 0
        for document in documents:
            if place >= self.cut:
                yield True, document
                continue
            reader = _Reader(document, self.cut - place)
            yield False, reader.head()
            place += reader.read + len(BETWEEN_DOCUMENTS)
            if reader.rest:
                yield True, reader.tail()


class _Reader:
    """A document that is cut after `limit` characters."""

    def __init__(self, pieces: Iterable[str], limit: int) -> None:
        self.pieces, self.limit, self.read, self.rest = iter(pieces), limit, 0, ""

    def head(self) -> Iterator[str]:
        for piece in self.pieces:
            kept = piece[: self.limit - self.read]
            self.read += len(kept)
            yield kept
            if len(kept) < len(piece):
                self.rest = piece[len(kept) :]
                return

    def tail(self) -> Iterator[str]:
        return itertools.chain([self.rest], self.pieces)


def part(split: Split, documents: Iterable[Iterable[str]], *, held_out: bool) -> Iterator[Iterable[str]]:
    """The documents of one half; those of the other half are read over."""
    for other, document in split.apply(documents):
        if other == held_out:
            yield document
        else:
            for _ in document:
                pass


def joined(documents: Iterable[Iterable[str]]) -> Iterator[str]:
    """The pieces of all documents as one text, with marks between the documents."""
    for index, document in enumerate(documents):
        if index:
            yield BETWEEN_DOCUMENTS
        yield from document
