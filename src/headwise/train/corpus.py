"""
---
title: Text to learn from
summary: A corpus is a list of documents under a name, split into training and validation text.
---

# Text to learn from

A corpus is one of the named ones below, or else it is read from files. It is split by document: two halves of one document know
about each other, and a loss on the second half would look better than it is.

`read_corpus` holds all documents in memory, for small texts and for Python. A training uses `open_corpus`, which holds one piece of one
document at a time, however large the corpus is; `split.py` says which documents are for validation.
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from headwise.train.data_error import DataError
from headwise.train.manual import manual
from headwise.train.shakespeare import shakespeare, shakespeare_tiny
from headwise.train.sources import Opener, open_source
from headwise.train.split import BETWEEN_DOCUMENTS, Split, survey

__all__ = ["CORPORA", "Corpus", "CorpusStream", "DataError", "open_corpus", "read_corpus", "split_corpus"]

CORPORA: dict[str, Callable[[], tuple[str, ...]]] = {
    "manual": manual,
    "shakespeare": shakespeare,
    "shakespeare-tiny": shakespeare_tiny,
}


@dataclass(frozen=True)
class CorpusStream:
    """Documents under a name, read anew at each call of `documents`; each is a stream of pieces, to be read before the next one."""

    name: str
    documents: Opener


@dataclass(frozen=True)
class Corpus:
    """Documents under a name, in memory."""

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

    @property
    def stream(self) -> CorpusStream:
        """The same documents as a stream."""
        return CorpusStream(self.name, lambda: (iter([document]) for document in self.documents))


def open_corpus(source: str, encoding: str = "utf-8") -> CorpusStream:
    """The corpus of that name, or else the text that the source describes."""
    if source in CORPORA:
        return Corpus(source, CORPORA[source]()).stream
    plain = source.removeprefix("hf:").partition(":")[0] if source.startswith("hf:") else source
    name = Path(plain.partition("[")[0]).stem
    return CorpusStream(name if name not in ("", "-") else "text", open_source(source, encoding))


def read_corpus(source: str, encoding: str = "utf-8") -> Corpus:
    """As `open_corpus`, with all documents in memory."""
    stream = open_corpus(source, encoding)
    return Corpus(stream.name, tuple("".join(document) for document in stream.documents()))


def split_corpus(corpus: Corpus, *, seed: int, fraction: float = 0.1) -> tuple[str, str]:
    """Training text and validation text; `fraction` of the characters, or a little less, are for validation."""
    split = Split.of(survey(corpus.stream.documents()).sizes, seed=seed, fraction=fraction)
    texts: tuple[list[str], list[str]] = ([], [])
    for held_out, document in split.apply(corpus.stream.documents()):
        texts[held_out].append("".join(document))
    return BETWEEN_DOCUMENTS.join(texts[0]), BETWEEN_DOCUMENTS.join(texts[1])
