"""
---
title: Texts from files
summary: Documents from a file, from a table, from a folder, from the standard input, or from the Hugging Face hub.
---

# Texts from files

| `--data` | documents |
|---|---|
| `FILE` | the file, in the encoding of `--encoding` |
| `FILE.jsonl[field]` | that field of each line |
| `FILE.csv[column]` | that column of each row |
| `FILE.parquet[column]` | that column of each row; needs the package `pyarrow` |
| `FOLDER` | each file in it and below with one of the endings .txt .md .py, in the order of their names |
| `hf:ORG/NAME[column]` | that column of the data set on the Hugging Face hub; needs the package `datasets` |
| `-` | the standard input |

Nothing is read as a whole: a document is a stream of pieces, and a source is a stream of documents. It can be opened again and again.
"""

import csv
import importlib
import json
import os
import re
import shutil
import sys
import tempfile
import weakref
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from headwise.train.data_error import DataError
from headwise.train.decode import decoded, lines, nonempty

ENDINGS = (".txt", ".md", ".py")
LONGEST_FIELD = 2**31 - 1
Documents = Iterable[Iterable[str]]
Opener = Callable[[], Iterator[Iterator[str]]]


def open_source(source: str, encoding: str) -> Opener:
    """A function that reads the documents of a source from the beginning, each time that it is called."""
    if not source:
        # To a path, an empty name is the folder in which the program was started.
        raise DataError("`data` must name a text. Got an empty name; the folder in which you are is called `.`.")
    read = _standard_input(encoding) if source == "-" else lambda: _documents(source, encoding)
    return lambda: nonempty(read(), "The standard input" if source == "-" else source)


def _documents(source: str, encoding: str) -> Documents:
    if source.startswith("hf:"):
        from headwise.train.hub import hub_documents

        return hub_documents(source)
    table = re.fullmatch(r"(.+\.(jsonl|csv|parquet))\[(.+)\]", source)
    if table:
        return TABLES[table[2]](Path(table[1]), table[3], encoding)
    path = Path(source)
    try:
        folder, file = path.is_dir(), path.is_file()
    except OSError as error:
        raise _unreadable(path, error) from None
    if folder:
        return _folder(path, encoding)
    ending = path.suffix.removeprefix(".")
    if ending in TABLES and file:
        raise DataError(f"`data` must name what to read of a table, as in {source}[text]. Got {source} alone.")
    return iter([_read(path, encoding)])


def _standard_input(encoding: str) -> Callable[[], Documents]:
    """The standard input can be read only once, so it is kept in a file without a name, which ends with the program."""
    kept: list[Any] = []

    def read() -> Documents:
        if not kept:
            if sys.stdin is None:
                raise DataError(
                    "The standard input must be open for `--data -`. It is closed; name a file, or pipe a text in."
                )
            kept.append(tempfile.TemporaryFile())  # noqa: SIM115
            weakref.finalize(read, kept[0].close)
            shutil.copyfileobj(sys.stdin.buffer, kept[0])
        kept[0].seek(0)
        return iter([decoded(kept[0], "the standard input", encoding)])

    return read


def _folder(path: Path, encoding: str) -> Documents:
    def refuse(error: OSError) -> None:
        raise _unreadable(Path(error.filename), error) from None

    # A folder below that cannot be read is an error: a text without its files would be learned as if it were the whole.
    found = (Path(folder, name) for folder, _, names in os.walk(path, onerror=refuse) for name in names)
    files = sorted(each for each in found if each.suffix in ENDINGS and each.is_file())
    if not files:
        raise DataError(f"`data` must hold some text. The folder {path} has no file that ends in {', '.join(ENDINGS)}.")
    return (_read(each, encoding) for each in files)


def _unreadable(path: Path, error: OSError | ValueError) -> DataError:
    cause = error.strerror if isinstance(error, OSError) else error
    return DataError(
        f"`data` must be a named corpus ({', '.join(NAMED)}) or something readable. {str(path)!r}: {cause}."
    )


def _read(path: Path, encoding: str) -> Iterator[str]:
    try:
        file = path.open("rb")
    # A name with the character NUL is not even looked for.
    except (OSError, ValueError) as error:
        raise _unreadable(path, error) from None
    try:
        with file:
            yield from decoded(file, str(path), encoding)
    except OSError as error:
        raise _unreadable(path, error) from None


# The names that `headwise.train.corpus` knows; they stand here for the message above alone.
NAMED = ("manual", "shakespeare", "shakespeare-tiny")


def _jsonl(path: Path, field: str, encoding: str) -> Documents:
    for number, line in enumerate(lines(_read(path, encoding)), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            row = None
        if not isinstance(row, dict):
            raise DataError(f"Each line of {path} must be a JSON object. Line {number} is not.")
        yield [text_of(row.get(field), path, number, field, list(row))]


def _csv(path: Path, column: str, encoding: str) -> Documents:
    # A field with line breaks goes over several lines, so the lines keep their ends here.
    rows = csv.DictReader((f"{line}\n" for line in lines(_read(path, encoding))), strict=True)
    try:
        names = list(rows.fieldnames or [])
        if names.count(column) > 1:
            raise DataError(f"`data` must name one column. {path} has {names.count(column)} called {column!r}.")
        while (row := _next_row(rows)) is not None:
            # The library keeps fields beyond the last column under the name None.
            if None in row:
                raise DataError(
                    f"Each row of {path} must have as many fields as the first line. Row {rows.line_num} has more than {len(names)}; "
                    "a text with commas stands in quotation marks."
                )
            yield [text_of(row.get(column), path, rows.line_num, column, names)]
    except csv.Error as error:
        raise DataError(f"{path} must be a table in CSV. Line {rows.line_num}: {error}.") from None


def _next_row(rows: "csv.DictReader[str]") -> dict[str | Any, str | Any] | None:
    # The library refuses long fields, and a document is one. Its limit is a setting of the whole program, so it is put back.
    former = csv.field_size_limit(LONGEST_FIELD)
    try:
        return next(rows, None)
    finally:
        csv.field_size_limit(former)


def _parquet(path: Path, column: str, encoding: str) -> Documents:
    try:
        parquet = importlib.import_module("pyarrow.parquet")
    except ImportError:
        raise DataError(
            f"A parquet file needs the package pyarrow. {path} cannot be read without it; install headwise[parquet]."
        ) from None
    try:
        with parquet.ParquetFile(path) as file:
            names = file.schema_arrow.names
            number = 0
            # The rows come in groups, so a file larger than the memory is no difficulty.
            for batch in file.iter_batches(batch_size=1024, columns=[column] if column in names else names[:1]):
                for value in batch.column(0).to_pylist():
                    number += 1
                    yield [text_of(value if column in names else None, path, number, column, names)]
    except DataError:
        raise
    except (OSError, ValueError) as error:
        raise DataError(f"{path} must be a readable parquet file. {str(error).splitlines()[0].rstrip('.')}.") from None


def text_of(value: object, source: Path | str, number: int, name: str, known: object) -> str:
    """The text of one row of a table, or an error with what the row has."""
    if not isinstance(value, str):
        names = ", ".join(map(str, known)) if isinstance(known, list | tuple) else ""
        raise DataError(
            f"Each row of {source} must have a text called {name!r}. Row {number} has {type(value).__name__}; known are: {names}."
        )
    # JSON can write half of a surrogate pair, which no file in UTF-8 can hold, neither a token file nor a sample.
    half = re.search("[\ud800-\udfff]", value)
    if half:
        raise DataError(
            f"Each text must be valid Unicode. Row {number} of {source} has half of a surrogate pair at index {half.start()}."
        )
    return value


TABLES: dict[str, Callable[[Path, str, str], Documents]] = {"jsonl": _jsonl, "csv": _csv, "parquet": _parquet}
