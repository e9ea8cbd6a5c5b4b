"""---
title: Splitting a source into rows
summary: The tokenizer says which lines are comments, the syntax tree says which strings are docstrings.
---
Each line of the file belongs to exactly one *piece*, and joining the pieces gives the file back. Regular expressions
cannot do this: a string may look like a comment, and a comment may hold three quotes.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from facing.model import FacingError, Symbol
from facing.source.text import plain_lines, raw_lines

Kind = Literal["code", "comment", "docstring", "blank", "cell"]

# These comments speak to tools, not to readers: they stay in the code column.
DIRECTIVE = re.compile(
    r"#!|#\s*(?:-\*-|vim?:|coding[:=]|type:|noqa|pragma|fmt:|isort:|ruff:|mypy:|pyright:|pylint:|SPDX-)"
)
# A line that starts a cell of a notebook says nothing to a reader.
CELL = re.compile(r"#\s*%%")
TEXT_CELL = re.compile(r"#\s*%%.*\[(?:markdown|md)\]")
Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


@dataclass
class Piece:
    """The lines of one row. `first` is the number of the first line; `kinds` says what each line is.

    `closed` says that code no longer joins it; `text` that it is a text cell of a notebook, which waits for its code cell.
    """

    first: int
    lines: list[str] = field(default_factory=list)
    kinds: list[Kind] = field(default_factory=list)
    closed: bool = False
    text: bool = False

    def has(self, kind: Kind) -> bool:
        return kind in self.kinds

    def numbered(self, kind: Kind) -> list[tuple[int, str]]:
        """Give the lines of one kind, without their endings, with their numbers."""
        pairs = zip(self.lines, self.kinds, strict=True)
        return [(self.first + at, line.rstrip("\r\n")) for at, (line, own) in enumerate(pairs) if own == kind]


@dataclass(frozen=True)
class Docstring:
    """A docstring that stands on lines of its own; `text` is its value, not yet dedented."""

    first: int
    last: int
    text: str
    of_module: bool = False


@dataclass(frozen=True)
class Split:
    """A source in pieces, with what the syntax tree knows about it."""

    pieces: tuple[Piece, ...]
    docstrings: dict[int, Docstring]
    symbols: tuple[Symbol, ...]

    def join(self) -> str:
        """Give the text of the source back."""
        return "".join(line for piece in self.pieces for line in piece.lines)


def split(text: str, path: str = "<source>") -> Split:
    """Split the text of a Python file; `path` is only named in errors."""
    lines = raw_lines(text)
    plain = "\n".join(plain_lines(text)) + "\n"
    tree = parse(plain, path)
    docstrings = {docstring.first: docstring for docstring in find_docstrings(tree, plain.split("\n"))}
    kinds = classify(plain, docstrings, len(lines), path)
    pieces = tuple(group(lines, kinds, boundaries(tree)))
    return Split(pieces, docstrings, tuple(symbols(tree)))


def parse(text: str, path: str) -> ast.Module:
    """Parse, and turn every way in which Python refuses a source into one error with file and line."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text)
    except SyntaxError as error:
        raise FacingError(
            f"A page must be valid Python. The parser says: {error.msg}.", path, error.lineno or 1
        ) from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise FacingError(f"A page must be valid Python. The parser says: {error}.", path, 1) from None


def definitions(tree: ast.AST) -> Iterator[tuple[str, Definition]]:
    """Walk classes and functions in source order, with their dotted names."""
    waiting: list[tuple[str, ast.AST]] = [("", tree)]
    while waiting:
        prefix, node = waiting.pop()
        if isinstance(node, Definition):
            yield f"{prefix}{node.name}", node
            prefix = f"{prefix}{node.name}."
        # A list of what waits instead of recursion: a long chain of `elif` is a deep tree. Expressions hold no definition.
        children = [(prefix, child) for child in ast.iter_child_nodes(node) if not isinstance(child, ast.expr)]
        waiting += reversed(children)


def symbols(tree: ast.Module) -> Iterator[Symbol]:
    """Name each class and function once; of overloads and property setters the first one counts."""
    seen: set[str] = set()
    for name, node in definitions(tree):
        if name not in seen:
            seen.add(name)
            yield Symbol(name, node.lineno, "class" if isinstance(node, ast.ClassDef) else "function")


def boundaries(tree: ast.Module) -> set[int]:
    """Give the lines where a new row must start: where a definition starts, and the line after its end."""
    found: set[int] = set()
    for _, node in definitions(tree):
        found.add(min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)]))
        found.add((node.end_lineno or node.lineno) + 1)
    return found


def find_docstrings(tree: ast.Module, lines: list[str]) -> Iterator[Docstring]:
    """Find the docstrings that have their lines for themselves; one that shares a line with code stays code."""
    for node in [tree, *(node for _, node in definitions(tree))]:
        first = node.body[0] if node.body else None
        if not (
            isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str)
        ):
            continue
        # Offsets count bytes of UTF-8, and what follows a docstring on its line may only be a comment.
        last = first.end_lineno or first.lineno
        before = lines[first.lineno - 1].encode()[: first.col_offset].decode()
        after = lines[last - 1].encode()[first.end_col_offset or 0 :].decode().strip()
        if not before.strip() and (not after or after.startswith("#")):
            yield Docstring(first.lineno, last, first.value.value, of_module=node is tree)


def classify(text: str, docstrings: dict[int, Docstring], count: int, path: str) -> list[Kind]:
    """Say of each line what it is."""
    kinds: list[Kind] = ["blank" if not line.strip() else "code" for line in text.split("\n")[:count]]
    depth: list[int] = []
    start_of_string, end_of_string = getattr(tokenize, "FSTRING_START", -1), getattr(tokenize, "FSTRING_END", -1)
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            first = token.start[0]
            if token.type == start_of_string:
                depth.append(first)
            elif token.type == end_of_string:
                first = depth.pop()
            if token.type == tokenize.COMMENT:
                alone = not token.line[: token.start[1]].strip()
                if alone and not DIRECTIVE.match(token.string):
                    kinds[first - 1] = "cell" if CELL.match(token.string) else "comment"
            elif token.type in (tokenize.STRING, end_of_string):
                # A blank line inside a string is part of the code.
                kinds[first - 1 : token.end[0]] = ["code"] * (token.end[0] - first + 1)
    except (tokenize.TokenError, SyntaxError) as error:
        raise FacingError(f"A page must be valid Python. The tokenizer says: {error}.", path, 1) from None
    for docstring in docstrings.values():
        kinds[docstring.first - 1 : docstring.last] = ["docstring"] * (docstring.last - docstring.first + 1)
    return kinds


def group(lines: list[str], kinds: list[Kind], starts: set[int]) -> Iterator[Piece]:
    """Gather the lines into pieces: comments, then code. A docstring belongs to the piece of its header, and so does what follows."""
    piece = Piece(1)
    boundary = False
    for number, (line, kind) in enumerate(zip(lines, kinds, strict=True), 1):
        # The line after a definition may be blank; what comes after it still starts a row.
        boundary = boundary or number in starts
        text = kind == "cell" and bool(TEXT_CELL.match(line))
        if piece.lines and opens(piece, kind, boundary, text):
            yield piece
            piece = Piece(number)
        if kind == "cell":
            # The text of a notebook stands beside the code of the cell below it.
            piece.text, piece.closed = text, False
        boundary = boundary and kind == "blank"
        piece.lines.append(line)
        piece.kinds.append(kind)
        # A blank line ends a comment block, so that a comment can stand beside no code at all.
        piece.closed = piece.closed or (kind == "blank" and piece.has("comment") and not piece.has("code"))
    if piece.lines:
        yield piece


def opens(piece: Piece, kind: Kind, boundary: bool, text: bool = False) -> bool:
    """Say whether a line of this kind starts a new piece after what `piece` already holds; `text` says that it starts a text cell."""
    if kind == "blank":
        return False
    if kind == "cell":
        joins = piece.text and not text
        return piece.has("code") or piece.has("docstring") or (piece.has("comment") and not joins)
    if kind == "docstring":
        return piece.closed
    if piece.closed:
        return True
    if kind == "comment":
        # A code cell that starts with a comment has a note of its own.
        return piece.has("code") or (piece.has("comment") and piece.kinds[-1] == "cell")
    # A definition right below the docstring of its module has a docstring of its own.
    return boundary and (piece.has("code") or piece.has("docstring"))
