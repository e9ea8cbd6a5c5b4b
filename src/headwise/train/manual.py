"""
---
title: The language reference of Python
summary: A text that every CPython carries for its `help()`; it needs no network and no download.
---

# The language reference of Python

The text differs between versions of Python, so the numbers of a run on it do too.
"""

import importlib

from headwise.train.data_error import DataError


def manual() -> tuple[str, ...]:
    """The topics of `help()`, one document each."""
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
