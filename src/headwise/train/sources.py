"""
---
title: Texts from files
summary: Documents from a file, from a table, from a folder, or from the standard input.
---

# Texts from files

| `--data` | documents |
|---|---|
| `FILE` | the file, in the encoding of `--encoding` |
| `FILE.jsonl[field]` | that field of each line |
| `FILE.csv[column]` | that column of each row |
| `FILE.parquet[column]` | that column of each row; needs the package `pyarrow` |
| `FOLDER` | each file in it and below with one of the endings .txt .md .py, in the order of their names |
| `-` | the standard input |

Decoding is strict: a byte that is no text is an error with its offset, because text with replaced characters would be learned as it is.
"""

import csv
import importlib
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path

from headwise.train.data_error import DataError

ENDINGS = (".txt", ".md", ".py")


def read_source(source: str, encoding: str) -> tuple[str, ...]:
    """The documents of a source."""
    if source == "-":
        return _some((_decode(sys.stdin.buffer.read(), "the standard input", encoding),), source)
    table = re.fullmatch(r"(.+\.(jsonl|csv|parquet))\[(.+)\]", source)
    if table:
        return _some(TABLES[table[2]](Path(table[1]), table[3], encoding), source)
    path = Path(source)
    if path.is_dir():
        return _some(_folder(path, encoding), source)
    ending = path.suffix.removeprefix(".")
    if ending in TABLES and path.is_file():
        raise DataError(f"`data` must name what to read of a table, as in {source}[text]. Got {source} alone.")
    return _some((_read(path, encoding),), source)


def _some(documents: tuple[str, ...], source: str) -> tuple[str, ...]:
    full = tuple(document for document in documents if document)
    if not full:
        raise DataError(f"`data` must hold some text. {source} is empty.")
    return full


def _folder(path: Path, encoding: str) -> tuple[str, ...]:
    files = sorted(each for each in path.rglob("*") if each.suffix in ENDINGS and each.is_file())
    if not files:
        raise DataError(f"`data` must hold some text. The folder {path} has no file that ends in {', '.join(ENDINGS)}.")
    return tuple(_read(each, encoding) for each in files)


def _read(path: Path, encoding: str) -> str:
    try:
        return _decode(path.read_bytes(), str(path), encoding)
    except OSError as error:
        raise DataError(
            f"`data` must be a named corpus ({', '.join(NAMED)}) or something readable. {str(path)!r}: {error.strerror}."
        ) from None


# The names that `headwise.train.corpus` knows; they stand here for the message above alone.
NAMED = ("manual", "shakespeare", "shakespeare-tiny")


def _decode(content: bytes, name: str, encoding: str) -> str:
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError as error:
        byte = f"the byte 0x{content[error.start]:02x} at offset {error.start}"
        raise DataError(
            f"`data` must be text in {encoding}. {name} has {byte}; name its encoding with `--encoding`."
        ) from None
    except LookupError:
        raise DataError(f"`encoding` must be one that Python knows, as utf-8 or latin-1. Got {encoding!r}.") from None
    # A line break is one character on every system; a file from elsewhere would otherwise cost a second one for each line.
    # The mark that some editors write at the beginning of a file is no character of its text.
    return text.removeprefix("\ufeff").replace("\r\n", "\n")


def _jsonl(path: Path, field: str, encoding: str) -> tuple[str, ...]:
    documents = []
    for number, line in enumerate(_read(path, encoding).split("\n"), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except ValueError:
            raise DataError(f"Each line of {path} must be a JSON object. Line {number} is not.") from None
        value = row.get(field) if isinstance(row, dict) else None
        documents.append(_text(value, path, number, field, list(row) if isinstance(row, dict) else []))
    return tuple(documents)


def _csv(path: Path, column: str, encoding: str) -> tuple[str, ...]:
    rows = csv.DictReader(_read(path, encoding).splitlines(keepends=True), strict=True)
    try:
        return tuple(_text(row.get(column), path, rows.line_num, column, rows.fieldnames or []) for row in rows)
    except csv.Error as error:
        raise DataError(f"{path} must be a table in CSV. Line {rows.line_num}: {error}.") from None


def _parquet(path: Path, column: str, encoding: str) -> tuple[str, ...]:
    try:
        parquet = importlib.import_module("pyarrow.parquet")
    except ImportError:
        raise DataError(
            f"A parquet file needs the package pyarrow. {path} cannot be read without it; install headwise[parquet]."
        ) from None
    try:
        table = parquet.read_table(path)
    except (OSError, ValueError) as error:
        raise DataError(f"{path} must be a readable parquet file. {str(error).splitlines()[0]}.") from None
    values = table.column(column).to_pylist() if column in table.column_names else [None]
    return tuple(_text(value, path, number, column, table.column_names) for number, value in enumerate(values, start=1))


def _text(value: object, path: Path, number: int, name: str, known: object) -> str:
    if not isinstance(value, str):
        names = ", ".join(map(str, known)) if isinstance(known, list | tuple) else ""
        raise DataError(
            f"Each row of {path} must have a text called {name!r}. Row {number} has {type(value).__name__}; known are: {names}."
        )
    return value


TABLES: dict[str, Callable[[Path, str, str], tuple[str, ...]]] = {"jsonl": _jsonl, "csv": _csv, "parquet": _parquet}
