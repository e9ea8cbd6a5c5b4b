"""
---
title: Texts from the Hugging Face hub
summary: A column of a data set, streamed by the package `datasets`, which is imported on use.
---

# Texts from the Hugging Face hub

`hf:ORG/NAME` is the split `train` of a data set, `hf:ORG/NAME:CONFIG` one of its configurations, and `[column]` behind it names the
column, `text` by default. Rows are streamed: nothing is stored but the tokens.
"""

import importlib
import re
from collections.abc import Iterator
from typing import Any

from headwise.train.data_error import DataError
from headwise.train.sources import text_of


def hub_documents(source: str) -> Iterator[list[str]]:
    """The texts of a data set, one document a row."""
    form = re.fullmatch(r"hf:([\w.-]+(?:/[\w.-]+)?)(?::([\w.-]+))?(?:\[(.+)\])?", source)
    if form is None:
        raise DataError(f"A data set of the hub must be named as in hf:ORG/NAME[column]. Got {source!r}.")
    name, configuration, column = form[1], form[2], form[3] or "text"
    rows = _rows(name, configuration)
    number = 0
    try:
        for number, row in enumerate(rows, start=1):
            yield [text_of(row.get(column), source, number, column, list(row))]
    except DataError:
        raise
    # The package raises errors of many libraries when a connection fails on the way.
    except Exception as error:
        raise DataError(_message(name, error, f" after {number} rows")) from None


def _rows(name: str, configuration: str | None) -> Any:
    try:
        datasets = importlib.import_module("datasets")
    except ImportError:
        raise DataError(
            f"A data set of the hub needs the package datasets. hf:{name} cannot be read without it; install headwise[hf]."
        ) from None
    try:
        return datasets.load_dataset(name, configuration, split="train", streaming=True)
    except Exception as error:
        raise DataError(_message(name, error, "")) from None


def _message(name: str, error: Exception, when: str) -> str:
    reason = (str(error).strip().splitlines() or ["no message"])[0]
    return (
        f"The data set {name} must be readable from the hub, which needs a network. "
        f"It fails{when} with {type(error).__name__}: {reason}"
    )
