"""
---
title: Text to learn from
summary: A corpus is a list of documents, read from a named source or from a file, and split into training and validation text.
---

# Text to learn from

The corpus `manual` is the language reference that every CPython carries for its `help()`; it needs no network and no download.
Its text differs between versions of Python, so the numbers of a run on it do too.
"""

import hashlib
import importlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from headwise.errors import HeadwiseError

# Texts between documents are joined by this mark, which both halves of the split share.
BETWEEN_DOCUMENTS = "\n\n\n"


class DataError(HeadwiseError):
    """A text that cannot be read, or that is too short to learn from."""


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


def read_corpus(source: str) -> Corpus:
    """The corpus of that name, or else the file at that path."""
    if source == "manual":
        return Corpus("manual", _manual())
    path = Path(source)
    try:
        text = path.read_bytes().decode("utf-8")
    except UnicodeDecodeError as error:
        byte = f"the byte 0x{error.object[error.start]:02x} at offset {error.start}"
        raise DataError(f"`data` must be text in UTF-8. {path} has {byte}; convert the file first.") from None
    except OSError as error:
        raise DataError(f"`data` must be `manual` or a readable file. {source!r}: {error.strerror}.") from None
    if not text:
        raise DataError(f"`data` must hold some text. {path} is empty.")
    # A line break is one character on every system; a file from elsewhere would otherwise cost a second one for each line.
    return Corpus(path.stem or "text", (text.replace("\r\n", "\n"),))


def split_corpus(corpus: Corpus, *, seed: int, fraction: float = 0.1) -> tuple[str, str]:
    """Training text and validation text; `fraction` of the characters, or a little less, are for validation."""
    wanted = int(len(corpus.text) * fraction)
    # Whole documents go to validation, because two halves of one document know about each other. A corpus of few documents has
    # no other way than to be cut: then its end is for validation.
    if len(corpus.documents) < 10:
        cut = len(corpus.text) - wanted
        return corpus.text[:cut], corpus.text[cut:]
    chosen: set[int] = set()
    total = 0
    for index in np.random.default_rng(seed).permutation(len(corpus.documents)).tolist():
        size = len(corpus.documents[index]) + len(BETWEEN_DOCUMENTS)
        if total + size <= wanted:
            chosen.add(index)
            total += size
    parts = (
        BETWEEN_DOCUMENTS.join(text for index, text in enumerate(corpus.documents) if (index in chosen) == held)
        for held in (False, True)
    )
    training, validation = parts
    return training, validation


def _manual() -> tuple[str, ...]:
    try:
        topics: dict[str, str] = importlib.import_module("pydoc_data.topics").topics
    except ImportError:
        raise DataError(
            "The corpus `manual` needs the module pydoc_data.topics. This Python lacks it; pass your own text with `--data FILE`."
        ) from None
    # The topics of `help()` overlap: "if" is a section of "compound statements". A paragraph that stood in the training text
    # and in the validation text would be remembered instead of predicted, so each paragraph is kept once.
    seen: set[str] = set()
    documents = (_new_paragraphs(topics[name], seen) for name in sorted(topics))
    # What is left of a topic that was nearly all repetition is a heading without a text.
    return tuple(document for document in documents if len(document) >= 200)


def _new_paragraphs(text: str, seen: set[str]) -> str:
    """The text without the paragraphs that have been seen before; a short line, a heading say, may stand many times."""
    kept: list[str] = []
    for paragraph in text.strip().split("\n\n"):
        content = paragraph.strip()
        if len(content) < 40 or content not in seen:
            kept.append(paragraph)
        seen.add(content)
    return "\n\n".join(kept).strip()
