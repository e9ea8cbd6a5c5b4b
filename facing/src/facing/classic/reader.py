"""---
title: The classic profile
summary: Reads a source the way the classic tutorials do, with keys that are byte for byte those of their catalogues.
---
"""

from __future__ import annotations

import ast
import io
import tokenize
from dataclasses import dataclass
from pathlib import Path

from facing.classic import markdown
from facing.classic.frontmatter import FrontMatter, split
from facing.classic.sections import Section, sections
from facing.model import FacingError, Finding, Page, Row, Symbol, Unit


@dataclass(frozen=True)
class Classic:
    """The profile of existing annotated tutorials: one unit is one whole note."""

    def read(self, path: Path, root: Path) -> Page:
        """Read one `.py` or `.md` file."""
        source = decode(path)
        name = path.relative_to(root).as_posix() if path.is_relative_to(root) else path.name
        return read_markdown(source, name) if path.suffix == ".md" else read_python(source, name)


def decode(path: Path) -> str:
    """Read a file as text: Python sources by their declared encoding, everything else as UTF-8."""
    data = path.read_bytes()
    try:
        encoding = tokenize.detect_encoding(io.BytesIO(data).readline)[0] if path.suffix == ".py" else "utf-8-sig"
        text = data.decode(encoding)
    except (SyntaxError, UnicodeDecodeError, LookupError) as error:
        raise FacingError(f"The file must be text in its declared encoding. Decoding says: {error}.", path, 1) from None
    return text.replace("\r\n", "\n").replace("\r", "\n")


def read_python(source: str, name: str) -> Page:
    """Read a Python source."""
    lines = source.split("\n")
    found = sections(source, name)
    front = FrontMatter()
    for section in found:
        if section.note is not None and (parts := split(section.note)):
            front, section.note, taken = parts
            section.note_line += taken
        if section.note is None or section.code or parts:
            break
    findings: list[Finding] = []
    rows = [each for section in found if (each := row(section, lines, name, findings)).units or each.code]
    return page(name, front, name.rpartition("/")[2], rows, source, findings)


def read_markdown(source: str, name: str) -> Page:
    """Read a Markdown file: one note, no code."""
    front, note, taken = split(source) or (FrontMatter(), source, 0)
    title = markdown.heading(note) or name.rpartition("/")[2]
    findings: list[Finding] = []
    return page(name, front, title, [row(Section(note, 1 + taken), [], name, findings)], source, findings)


def page(name: str, front: FrontMatter, title: str, rows: list[Row], source: str, findings: list[Finding]) -> Page:
    """Put a page together. One that redirects has no rows."""
    summary = Unit(front.summary, kind="summary") if front.summary else None
    language = "markdown" if name.endswith(".md") else "python"
    return Page(
        path=name,
        title=Unit(front.title or title, kind="title"),
        summary=summary,
        rows=() if front.redirect else tuple(rows),
        source=source,
        symbols=symbols(source) if language == "python" else (),
        redirect=front.redirect or None,
        findings=tuple(findings),
        language=language,
    )


def symbols(source: str) -> tuple[Symbol, ...]:
    """List the classes and functions of a module with their dotted names, in the order of the source.

    A source that only the tokenizer can read (an old dialect) has none.
    """
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return ()
    out: list[Symbol] = []

    def visit(node: ast.AST, prefix: str) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                name = f"{prefix}{child.name}"
                out.append(Symbol(name, child.lineno, "class" if isinstance(child, ast.ClassDef) else "function"))
                visit(child, f"{name}.")
            else:
                visit(child, prefix)

    visit(tree, "")
    return tuple(out)


def row(section: Section, lines: list[str], name: str, findings: list[Finding]) -> Row:
    """Turn a section into a row of the page, and add what is wrong with its note."""
    problems: list[tuple[str, str]] = []
    found = () if section.note is None else tuple(markdown.units(section.note, section.note_line, problems))
    line = found[0].line if found else section.note_line
    findings += [Finding(name, "", line, code, "warning", message) for code, message in problems]
    code = "".join(lines[number - 1] + "\n" for number in section.code)
    return Row(found, code, section.code[0] if section.code else 0, section.note_line)
