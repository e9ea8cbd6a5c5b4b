"""
---
title: Bytes to text, piece by piece
summary: Strict decoding of a file of any size, and pieces of a text that a tokenizer may read one by one.
---

# Bytes to text, piece by piece

A corpus may be larger than the memory. So a text is never one string here but a stream of pieces, of about a million characters each.

Decoding is strict: a byte that is no text is an error with its offset, because text with replaced characters would be learned as it is.
"""

import codecs
import itertools
from collections.abc import Iterable, Iterator
from typing import BinaryIO

from headwise.train.data_error import DataError

# Bytes that are read at once, and characters that are tokenised at once.
BLOCK = 1 << 20


def decoded(file: BinaryIO, name: str, encoding: str) -> Iterator[str]:
    """The text of a file; `name` names it in errors."""
    decoder = _decoder(encoding)
    offset, held, begun = 0, "", False
    block = b"begin"
    while block:
        block = file.read(BLOCK)
        # The bytes of a character may be spread over two blocks; those that wait are counted by the decoder's errors.
        waiting = len(decoder.getstate()[0])
        try:
            text = held + decoder.decode(block, final=not block)
        except UnicodeDecodeError as error:
            place = f"the byte 0x{error.object[error.start]:02x} at offset {offset - waiting + error.start}"
            raise DataError(
                f"`data` must be text in {encoding}. {name} has {place}; name its encoding with `--encoding`."
            ) from None
        except UnicodeError as error:
            # UTF-16 without its mark at the beginning is such an error without a place.
            raise DataError(
                f"`data` must be text in {encoding}. {name}: {error}; name its encoding with `--encoding`."
            ) from None
        offset += len(block)
        # A line break is one character on every system; a file from elsewhere would otherwise cost a second one for each line.
        held = "\r" if block and text.endswith("\r") else ""
        text = text.removesuffix(held).replace("\r\n", "\n")
        # The mark that some editors write at the beginning of a file is no character of its text.
        if text and not begun:
            text, begun = text.removeprefix("\ufeff"), True
        if text:
            yield text


def lines(pieces: Iterable[str]) -> Iterator[str]:
    """The lines of a text, without their ends."""
    rest = ""
    for piece in pieces:
        *whole, rest = (rest + piece).split("\n")
        yield from whole
    if rest:
        yield rest


def regrouped(pieces: Iterable[str], *, size: int = BLOCK) -> Iterator[str]:
    """The same text in pieces of about `size` characters whose tokens are those of the whole text.

    Characters and bytes may be cut anywhere. Byte-pair encoding joins inside of words, and a space belongs to the word behind it:
    between a letter and a space no token can be. A text of `size` characters without such a place is cut at its end.
    """
    waiting: list[str] = []
    length = 0
    for piece in pieces:
        # A long piece is cut first, so that nothing longer than two of the new pieces is ever held together.
        for start in range(0, len(piece), size):
            waiting.append(piece[start : start + size])
            length += len(waiting[-1])
            if length >= size:
                text = "".join(waiting)
                cut = _safe_cut(text)
                yield text[:cut]
                waiting, length = [text[cut:]], len(text) - cut
    if length:
        yield "".join(waiting)


def _safe_cut(text: str) -> int:
    """The last place between a visible character and a space or line break; the end of the text if there is none."""
    for place in range(len(text) - 1, 0, -1):
        if text[place] in " \n" and not text[place - 1].isspace():
            return place
    return len(text)


def nonempty(documents: Iterable[Iterable[str]], source: str) -> Iterator[Iterator[str]]:
    """The documents that have some text; where none has, that is an error."""
    found = False
    for document in documents:
        pieces = (piece for piece in document if piece)
        first = next(pieces, None)
        if first is not None:
            found = True
            yield itertools.chain([first], pieces)
    if not found:
        raise DataError(f"`data` must hold some text. {source} is empty.")


def _decoder(encoding: str) -> codecs.IncrementalDecoder:
    try:
        # Python also knows encodings of bytes to bytes, such as base64; to this method they are unknown.
        "a".encode(encoding)
        return codecs.getincrementaldecoder(encoding)()
    except (LookupError, ValueError):
        raise DataError(f"`encoding` must be one that Python knows, as utf-8 or latin-1. Got {encoding!r}.") from None
