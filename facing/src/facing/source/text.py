"""---
title: The text of a source
summary: Decoding a file the way Python does, and numbering its lines the way Python does.
---
Everything else counts lines, so lines must be counted once and rightly. Python ends a line at a line feed, a carriage
return, or both. `str.splitlines` also ends it at form feeds and other characters, which would shift every number after
them.
"""

from __future__ import annotations

import io
import re
import tokenize
from pathlib import Path

from facing.model import FacingError

LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+\Z")


def decode(path: Path) -> str:
    """Read a Python or Markdown file; a Python file may declare its encoding."""
    data = path.read_bytes()
    encoding = "utf-8-sig"
    try:
        if path.suffix == ".py":
            encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        return data.decode(encoding)
    except SyntaxError as error:
        raise FacingError(
            f"The encoding that a source declares must be known to Python. {error.msg}.", path, 1
        ) from None
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        message = f"A source must be readable as {encoding}. Byte {data[error.start]:#04x} is not; declare the encoding or save as UTF-8."
        raise FacingError(message, path, line) from None


def raw_lines(text: str) -> list[str]:
    """Split into lines, each with its own ending, so that joining them gives the text back."""
    return LINE.findall(text)


def plain_lines(text: str) -> list[str]:
    """Split into lines without their endings."""
    return [line.rstrip("\r\n") for line in raw_lines(text)]
