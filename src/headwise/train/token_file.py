"""
---
title: The token file
summary: A corpus is tokenised once, into a file that is mapped into memory and made anew when text or tokenizer change.
---

# The token file

The file begins with a page of text that `head -c 4096` shows: what it was made from, as digests, and how many tokens follow. Behind it
stand the tokens of the training and those of the validation, then where the documents of each begin.

The system maps the file into memory and reads the pages that are touched. A corpus larger than the memory is no difficulty then, and
programs that learn from the same corpus share its pages.

The files are kept in `tokens` of the cache folder (HEADWISE_CACHE). Where that folder cannot be written to, the file has no name and ends
with the program.
"""

import hashlib
import json
import tempfile
import zlib
from array import array
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from headwise.train.choose_tokenizer import Tokenizer
from headwise.train.corpus import CorpusStream
from headwise.train.data_error import DataError
from headwise.train.decode import regrouped
from headwise.train.safe_files import shared_file
from headwise.train.shakespeare import cache_folder
from headwise.train.split import BETWEEN_DOCUMENTS, Split, Survey, joined, part

MAGIC = "headwise tokens 1\n"
HEADER = 4096


@dataclass(frozen=True)
class Origin:
    """What a token file is made from. Two files with equal origins are equal."""

    text: str
    tokenizer: str
    seed: int
    documents: str


@dataclass(frozen=True, eq=False)
class TokenPart:
    """The tokens of one half, where its documents begin, and how long its text is."""

    tokens: np.ndarray
    starts: np.ndarray
    characters: int
    bytes: int


@dataclass(frozen=True, eq=False)
class TokenSet:
    """Both halves; `reused` says that the file was there already."""

    training: TokenPart
    validation: TokenPart
    path: Path | None
    reused: bool


def tokens_of(
    corpus: CorpusStream,
    survey: Survey,
    tokenizer: Tokenizer,
    *,
    name: str,
    seed: int,
    apart: bool = False,
    split: Split | None = None,
) -> TokenSet:
    """The tokens of a corpus: of the file that is there, or of a new one.

    `name` says which file is meant: another text under the same name, or another tokenizer, replaces its content. The split
    follows from the seed; a split of another kind has a seed below 0.
    """
    digest = hashlib.sha256(tokenizer.to_json().encode("utf-8", "surrogatepass")).hexdigest()
    origin = Origin(survey.digest, digest, seed, "apart" if apart else "joined")
    key = hashlib.sha256(json.dumps([name, seed, origin.documents]).encode()).hexdigest()[:16]
    path = cache_folder() / "tokens" / f"{corpus.name[:40]}-{key}.tokens"
    found = open_tokens(path, origin)
    if found is not None:
        return found
    split = split or Split.of(survey.sizes, seed=seed)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _write(path, corpus, split, tokenizer, origin)
    except OSError:
        return _without_name(corpus, split, tokenizer, origin)
    made = open_tokens(path, origin)
    assert made is not None, "what was written has the origin that it was written for"
    return TokenSet(made.training, made.validation, path, reused=False)


def open_tokens(path: Path, origin: Origin) -> TokenSet | None:
    """The token file at `path`; None where there is none, or one of another text, tokenizer or split, or a torn or changed one."""
    try:
        header = read_header(path)
        if header["origin"] != asdict(origin) or path.stat().st_size != header["size"]:
            return None
        with path.open("rb") as file:
            # A disk that returns other bytes than it was given would change what is learned, and no size tells.
            if _sum_behind_header(file) != header["crc32"]:
                return None
        return _mapped(np.memmap(path, mode="r", dtype=np.uint8), header, path)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def read_header(path: Path) -> dict[str, Any]:
    """The first page of a token file."""
    with path.open("rb") as file:
        text = file.read(HEADER).decode("utf-8")
    if not text.startswith(MAGIC):
        raise DataError(f"A token file must begin with {MAGIC.strip()!r}. {path} does not.")
    return json.loads(text.removeprefix(MAGIC))


def _mapped(content: np.ndarray, header: dict[str, Any], path: Path | None) -> TokenSet:
    parts = []
    for name in ("training", "validation"):
        facts = header[name]
        arrays = [
            np.asarray(content[start : start + count * np.dtype(kind).itemsize]).view(kind)
            for start, count, kind in (facts["tokens"], facts["starts"])
        ]
        parts.append(TokenPart(arrays[0], arrays[1], facts["characters"], facts["bytes"]))
    return TokenSet(parts[0], parts[1], path, reused=True)


def _write(path: Path, corpus: CorpusStream, split: Split, tokenizer: Tokenizer, origin: Origin) -> None:
    with shared_file(path) as file:
        _fill(file, corpus, split, tokenizer, origin)


def _without_name(corpus: CorpusStream, split: Split, tokenizer: Tokenizer, origin: Origin) -> TokenSet:
    try:
        with tempfile.TemporaryFile() as file:
            header = _fill(file, corpus, split, tokenizer, origin)
            file.flush()
            made = _mapped(np.memmap(file, mode="r", dtype=np.uint8), header, None)
    except OSError as error:
        raise DataError(
            f"The tokens of a text must be kept in a file. Neither {cache_folder()} nor the folder for temporary files has room: "
            f"{error.strerror}; set HEADWISE_CACHE to another folder."
        ) from None
    return TokenSet(made.training, made.validation, None, reused=False)


def _fill(file: BinaryIO, corpus: CorpusStream, split: Split, tokenizer: Tokenizer, origin: Origin) -> dict[str, Any]:
    """Writes everything, and the header last: a file that was torn on the way has none."""
    kind = "<u2" if tokenizer.vocab <= 1 << 16 else "<u4"
    file.write(bytes(HEADER))
    header: dict[str, Any] = {"origin": asdict(origin), "vocab": tokenizer.vocab}
    starts = {}
    for name, held_out in (("training", False), ("validation", True)):
        begin = file.tell()
        documents = part(split, corpus.documents(), held_out=held_out)
        writer = _Writer(file, tokenizer, kind)
        writer.write(documents, apart=origin.documents == "apart")
        header[name] = {
            "tokens": [begin, writer.count, kind],
            "characters": writer.characters,
            "bytes": writer.bytes,
        }
        starts[name] = writer.starts
    for name, places in starts.items():
        # Numbers of eight bytes must begin at a multiple of eight.
        file.write(bytes(-file.tell() % 8))
        header[name]["starts"] = [file.tell(), len(places), "<i8"]
        file.write(np.array(places, dtype="<i8").tobytes())
    header["size"] = file.tell()
    header["crc32"] = _sum_behind_header(file)
    file.seek(0)
    file.write((MAGIC + json.dumps(header, indent=1)).encode().ljust(HEADER, b"\n"))
    return header


def _sum_behind_header(file: BinaryIO) -> int:
    """A checksum of the tokens and the places: a twentieth of a second for 100 MB, in pieces of 1 MB."""
    file.seek(HEADER)
    total = 0
    while piece := file.read(1 << 20):
        total = zlib.crc32(piece, total)
    return total


class _Writer:
    """Writes the tokens of documents and counts what it has written."""

    def __init__(self, file: BinaryIO, tokenizer: Tokenizer, kind: str) -> None:
        self.file, self.tokenizer, self.kind = file, tokenizer, kind
        self.count = self.characters = self.bytes = 0
        self.starts = array("q")

    def write(self, documents: Iterable[Iterable[str]], *, apart: bool) -> None:
        """One text of all documents, or, `apart`, each document by itself with the mark of its end."""
        texts = (_ended(each) for each in documents) if apart else iter([joined(documents)])
        for text in texts:
            self.starts.append(self.count)
            for piece in regrouped(text):
                tokens = self.tokenizer.encode(piece).numpy()
                self.file.write(tokens.astype(self.kind).tobytes())
                self.count += len(tokens)
                self.characters += len(piece)
                self.bytes += len(piece.encode("utf-8", "surrogatepass"))


def _ended(document: Iterable[str]) -> Iterator[str]:
    # Documents that are kept apart end with the mark, too: a model that never sees an end never learns to come to one.
    yield from document
    yield BETWEEN_DOCUMENTS
