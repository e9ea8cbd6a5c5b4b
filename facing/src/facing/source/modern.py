"""---
title: The modern profile
summary: Sources become pages whose unit of translation is one Markdown block.
---
"""

from __future__ import annotations

import re
from pathlib import Path

from facing.model import Finding, Page, Row, Unit
from facing.notes.check import ImageTag
from facing.notes.markdown import Rendered, render_note
from facing.source.notes import Note, comment_note, docstring_note, front_matter
from facing.source.split import Piece, Split, split
from facing.source.text import decode, plain_lines

# A first sentence that is longer is no title.
LONGEST_TITLE = 90
# What an escape in a docstring that is not raw leaves behind: `\f` of `\frac` is a form feed.
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f]")


class Modern:
    """CommonMark notes in Python sources, and Markdown files."""

    def read(self, path: Path, root: Path) -> Page:
        """Read one source file."""
        name = path.relative_to(root).as_posix()
        text = decode(path)
        if path.suffix == ".md":
            return self.read_markdown(text, name, path, root)
        parts = split(text, str(path))
        values: dict[str, str] = {}
        rows: list[Row] = []
        findings: list[Finding] = []
        for piece in parts.pieces:
            notes, matter = piece_notes(piece, parts, path, first=not rows and not values)
            values.update(matter)
            rendered = [render_note(note.text, note.line, name) for note in notes if note]
            row = make_row(piece, rendered)
            findings += [finding for each in rendered for finding in each.findings]
            findings += [damaged(name, note) for note in notes if CONTROL.search(note.text)]
            if row.units or row.code:
                rows.append(row)
        source = "\n".join(plain_lines(text))
        values.setdefault("title", heading(rows) or subject(rows, parts) or title_from_path(name, root))
        return make_page(name, values, tuple(rows), source, tuple(findings), parts=parts)

    def read_markdown(self, text: str, name: str, path: Path, root: Path) -> Page:
        """Read a Markdown file: one row without code."""
        plain = "\n".join(plain_lines(text))
        values, note = front_matter(Note(plain, 1), path)
        rendered = render_note(note.text, note.line, name)
        row = Row(units=rendered.units, note_line=note.line)
        rows = [row] if row.units else []
        values.setdefault("title", heading(rows) or title_from_path(name, root))
        return make_page(name, values, tuple(rows), plain, rendered.findings, language="markdown")


def piece_notes(piece: Piece, parts: Split, path: Path, first: bool) -> tuple[list[Note], dict[str, str]]:
    """Give the notes of a piece, comments before docstring, and the front matter if this is the module docstring.

    A notebook as a source has no docstring, so the comment that starts a file may hold front matter, too.
    """
    notes: list[Note] = []
    values: dict[str, str] = {}
    if comments := piece.numbered("comment"):
        notes.append(comment_note(comments))
        if first and notes[0].text.startswith("---\n"):
            values, notes[0] = front_matter(notes[0], path)
    for line, _ in piece.numbered("docstring")[:1]:
        note = docstring_note(parts.docstrings[line].text, line)
        # In any other docstring a line `---` is a thematic break.
        if parts.docstrings[line].of_module:
            matter, note = front_matter(note, path)
            values |= matter
        notes.append(note)
    return notes, values


def make_row(piece: Piece, rendered: list[Rendered]) -> Row:
    """Put the notes of a piece beside its code, without the blank lines around it."""
    units = tuple(unit for each in rendered for unit in each.units)
    first_note = next((piece.first + at for at, kind in enumerate(piece.kinds) if kind in ("comment", "docstring")), 0)
    note_line = first_note if units else 0
    places = code_places(piece)
    if not places:
        return Row(units=units, note_line=note_line)
    code = "\n".join(piece.lines[at].rstrip("\r\n") for at in places)
    return Row(units, code, piece.first + places[0], note_line, tuple(piece.first + at for at in places))


def code_places(piece: Piece) -> list[int]:
    """Find the lines to show as code: blank ones only between others, and none where a docstring was taken out."""
    found: list[int] = []
    for at, kind in enumerate(piece.kinds):
        after_docstring = bool(at) and piece.kinds[at - 1] == "docstring"
        if kind == "code" or (kind == "blank" and found and not after_docstring):
            found.append(at)
    while found and piece.kinds[found[-1]] == "blank":
        found.pop()
    return found


def make_page(
    name: str,
    values: dict[str, str],
    rows: tuple[Row, ...],
    source: str,
    findings: tuple[Finding, ...],
    parts: Split | None = None,
    language: str = "python",
) -> Page:
    """Put a page together."""
    title = Unit(values["title"], line=1, kind="title")
    summary = Unit(values["summary"], line=1, kind="summary") if values.get("summary") else None
    return Page(
        path=name,
        title=title,
        summary=summary,
        rows=rows,
        source=source,
        symbols=parts.symbols if parts else (),
        redirect=values.get("redirect"),
        findings=findings,
        language=language,
        run=language == "python" and values.get("run", "").lower() == "true",
        alts=alternative_texts(rows),
    )


def alternative_texts(rows: tuple[Row, ...]) -> tuple[Unit, ...]:
    """Give what the images of a page show as units of their own: in a note an image is a placeholder, and its text cannot stand there."""
    found: dict[str, Unit] = {}
    for unit in (unit for row in rows for unit in row.units):
        for original in unit.originals:
            alt = ImageTag(original.html).values.get("alt", "") if original.kind == "image" else ""
            if alt:
                found.setdefault(alt, Unit(alt, line=unit.line, kind="alt"))
    return tuple(found.values())


def heading(rows: list[Row]) -> str:
    """Give the text of the heading that starts the page, if it starts with one: it is the title where none is given."""
    first = rows[0].units[0].key if rows and rows[0].units else ""
    match = re.match(r"<h1>(.*?)</h1>", first, re.DOTALL)
    if not match or "_^_" in match[1]:
        return ""
    return (
        re.sub(r"<[^>]*>", "", match[1])
        .replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&quot;", '"')
        .replace("&amp;", "&")
        .strip()
    )


def subject(rows: list[Row], parts: Split) -> str:
    """Give what the docstring of a module begins with, up to its first stop: `What it costs` of `What it costs: one run.`"""
    has_docstring = any(each.of_module for each in parts.docstrings.values())
    first = rows[0].units[0].key if has_docstring and rows and rows[0].units else ""
    match = re.match(r"<p>([^<>&]*?)(?:[.:;](?=[\s<])|</p>)", first)
    return match[1].strip() if match and len(match[1]) <= LONGEST_TITLE else ""


def title_from_path(name: str, root: Path) -> str:
    """Name a page after its file, and a package after its folder."""
    folder, _, file = name.rpartition("/")
    if file == "__init__.py":
        return folder.rpartition("/")[2] or root.resolve().name
    return file


def damaged(name: str, note: Note) -> Finding:
    """Report a docstring whose backslashes Python took for escapes."""
    match = CONTROL.search(note.text)
    at = match.start() if match else 0
    line = note.line + note.text.count("\n", 0, at)
    message = (
        'A docstring with backslashes must be a raw string. An escape became a control character here; write r""".'
    )
    return Finding(name, "", line, "docstring-escape", "warning", message)
