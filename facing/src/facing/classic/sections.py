"""---
title: Sections of a classic source
summary: Finds the notes of a Python file, and the code that belongs to each.
---
A classic page consists of sections: a note and the code that follows it. Comments and strings are found by Python's
own tokenizer, so that a `#` inside a string stays code. The rules of the classic format say the rest: each run of
comment lines is a note, a blank line ends it, each triple-quoted string that stands alone is a note too, and the one
below a `def` or `class` belongs to the section with that header.
"""

from __future__ import annotations

import io
import re
import textwrap
import tokenize
from dataclasses import dataclass, field
from pathlib import Path

from facing.model import FacingError


@dataclass
class Section:
    """A note (None where the left column stays empty) with its line, and the numbers of the code lines beside it."""

    note: str | None = None
    note_line: int = 0
    code: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class Note:
    """A comment block or a docstring: its lines, its text, and whether it is the docstring of a header."""

    first: int
    last: int
    text: str
    of_header: bool = False


@dataclass
class Facts:
    """What the tokenizer says about lines: the notes by first line, and the lines on which a definition starts."""

    notes: dict[int, Note] = field(default_factory=dict)
    starts: set[int] = field(default_factory=set)


def sections(source: str, path: Path | str) -> list[Section]:
    """Cut a source into sections; those without note and code are dropped."""
    lines = source.split("\n")
    facts = look(source, path)
    out = [Section()]
    number = 1
    while number <= len(lines):
        if note := facts.notes.get(number):
            place(note, out)
            number = note.last + 1
            continue
        if number in facts.starts and any(lines[row - 1].strip() for row in out[-1].code):
            out.append(Section())
        out[-1].code.append(number)
        number += 1
    for section in out:
        trim(section, lines)
    return [section for section in out if section.note is not None or section.code]


def place(note: Note, out: list[Section]) -> None:
    """Start a section with the note, or give it to the open section where that holds the header."""
    if note.of_header and out[-1].note is None:
        out[-1].note, out[-1].note_line = note.text, note.first
        out.append(Section())
        return
    out.append(Section(note.text, note.first))


def trim(section: Section, lines: list[str]) -> None:
    """Drop blank lines at the edges of the code."""
    while section.code and not lines[section.code[0] - 1].strip():
        section.code.pop(0)
    while section.code and not lines[section.code[-1] - 1].strip():
        section.code.pop()


def look(source: str, path: Path | str) -> Facts:
    """Read the tokens of a source once; a source that has none to the end names file and line."""
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(source).readline))
    except (tokenize.TokenError, SyntaxError) as error:
        raise FacingError(*complaint(error, path)) from None
    facts = Facts()
    comments(tokens, facts)
    lines = source.split("\n")
    decorated = False
    for statement, header in statements(tokens):
        first, last = statement[0], statement[-1]
        if (first.string == "@" or heads(statement)) and not decorated:
            facts.starts.add(first.start[0])
        decorated = first.string == "@"
        if one_string(statement) and (text := docstring(spelled(statement, lines))) is not None:
            note = Note(first.start[0], last.end[0], text, header)
            facts.notes[note.first] = note
    return facts


def complaint(error: Exception, path: Path | str) -> tuple[str, Path | str, int]:
    """Word a failure of the tokenizer."""
    line = error.lineno if isinstance(error, SyntaxError) else error.args[1][0]
    reason = error.msg if isinstance(error, SyntaxError) else error.args[0]
    return f"The source must be Python that can be read to its end. The tokenizer says: {reason}.", path, line or 1


def comments(tokens: list[tokenize.TokenInfo], facts: Facts) -> None:
    """Collect runs of comment lines. A comment behind code stays code."""
    run: list[tokenize.TokenInfo] = []
    for token in [*tokens, None]:
        if token and token.type != tokenize.COMMENT:
            continue
        own_line = token is not None and not token.line[: token.start[1]].strip()
        if run and not (own_line and token and token.start[0] == run[-1].start[0] + 1):
            text = "".join(re.sub(r"^# ?", "", row.string) + "\n" for row in run)
            facts.notes[run[0].start[0]] = Note(run[0].start[0], run[-1].start[0], text)
            run = []
        if own_line and token:
            run.append(token)


def statements(tokens: list[tokenize.TokenInfo]) -> list[tuple[list[tokenize.TokenInfo], bool]]:
    """Group tokens into statements, each with whether it is the first one below the header of a definition."""
    silent = {tokenize.NL, tokenize.COMMENT, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
    out: list[tuple[list[tokenize.TokenInfo], bool]] = []
    now: list[tokenize.TokenInfo] = []
    header = False
    for token in tokens:
        if token.type == tokenize.NEWLINE:
            out.append((now, header))
            header = now[-1].string == ":" and heads(now)
            now = []
        elif token.type not in silent:
            now.append(token)
    return out


def heads(statement: list[tokenize.TokenInfo]) -> bool:
    """Say whether a statement is the header of a class or function."""
    words = [part.string for part in statement[:2]]
    return words[0] in ("def", "class") or words == ["async", "def"]


QUOTED = re.compile(r"""[rRuUbBfF]{0,2}(\"\"\"|''')(.*)\1""", re.DOTALL)


def one_string(statement: list[tokenize.TokenInfo]) -> bool:
    """Say whether a statement is one string. From Python 3.12 on a formatted string is several tokens."""
    if len(statement) == 1:
        return statement[0].type == tokenize.STRING
    kinds = [tokenize.tok_name[token.type] for token in statement]
    return kinds[0] == "FSTRING_START" and kinds[-1] == "FSTRING_END" and kinds.count("FSTRING_START") == 1


def spelled(statement: list[tokenize.TokenInfo], lines: list[str]) -> str:
    """Give a statement as the source spells it."""
    (first, left), (last, right) = statement[0].start, statement[-1].end
    text = "\n".join(lines[first - 1 : last])
    return text[left : len(text) - len(lines[last - 1]) + right]


def docstring(string: str) -> str | None:
    """Give the text of a triple-quoted string as the source spells it, without evaluating escapes.

    A text of several lines keeps its first line break and loses its last; a text of one line gets one.
    """
    found = QUOTED.fullmatch(string)
    if not found:
        return None
    text = found[2]
    if "\n" not in text:
        return text.strip() + "\n"
    first, rest = text.split("\n", 1)
    rest = textwrap.dedent(rest)
    body = f"{first.strip()}\n{rest}"
    return re.sub(r"\n[ \t]*\Z", "", body)
