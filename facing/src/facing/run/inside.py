"""---
title: Inside the process of a page
summary: Runs one page line by line, and writes down which line showed what.
---
This file is run as a script, by the Python that builds the site, in a process of its own. It imports nothing of facing,
so that the page meets the same modules as it does when it is run by hand.

What a page prints belongs to the line of the page that is being run. An expression on a line of its own is shown too, as
in a notebook: as a picture if it has `_repr_svg_`, else as the text that Python would show. An object without a text of its own is left out.
"""

from __future__ import annotations

import ast
import hashlib
import io
import json
import sys
import types
from pathlib import Path
from typing import Any

SHOW = "__facing_show__"


class Recorder(io.TextIOBase):
    """Stands for standard output; each piece of text is kept with the line that wrote it."""

    def __init__(self, file: str, tree: ast.Module) -> None:
        self.file = file
        self.outputs: list[dict[str, Any]] = []
        # The statement that a line belongs to ends it: output stands behind a call of several lines, not inside.
        self.ends: dict[int, int] = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.stmt):
                last = node.end_lineno or node.lineno
                for line in range(node.lineno, last + 1):
                    self.ends[line] = min(last, self.ends.get(line, last))

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        self.keep("text", text, self.line())
        return len(text)

    def line(self) -> int:
        """Find the line of the page that is being run, however deep the call."""
        frame, found = sys._getframe(1), 0
        while frame is not None:
            if frame.f_code.co_filename == self.file and frame.f_code.co_name == "<module>":
                found = frame.f_lineno
            frame = frame.f_back  # type: ignore[assignment]
        return self.ends.get(found, found)

    def keep(self, kind: str, text: str, line: int, alt: str = "") -> None:
        last = self.outputs[-1] if self.outputs else None
        if last and kind == last["kind"] == "text" and last["line"] == line:
            last["text"] += text
        elif text:
            self.outputs.append({"line": line, "kind": kind, "text": text, "alt": alt})

    def show(self, value: object) -> None:
        """Keep the value of an expression."""
        line = self.line()
        picture = getattr(value, "_repr_svg_", None)
        if callable(picture):
            self.keep("figure", picture(), line, str(getattr(value, "alt", "")))
        elif value is not None and not (text := repr(value)).endswith(">"):
            # A text such as `<Generator object at 0x7f..>` says nothing, and something else in each run.
            self.keep("text", f"{text}\n", line)


def instrument(tree: ast.Module) -> ast.Module:
    """Pass the value of each expression that is a statement of the page itself to `show`, inside `if` and `with` too."""
    blocks: list[list[ast.stmt]] = [tree.body]
    while blocks:
        body = blocks.pop()
        for number, node in enumerate(body):
            if isinstance(node, ast.If | ast.With | ast.For | ast.While | ast.Try):
                blocks += [getattr(node, name, []) for name in ("body", "orelse", "finalbody")]
            elif isinstance(node, ast.Expr) and not isinstance(node.value, ast.Constant):
                call = ast.Call(ast.Name(SHOW, ast.Load()), [node.value], [])
                body[number] = ast.copy_location(ast.Expr(ast.copy_location(call, node.value)), node)
    return ast.fix_missing_locations(tree)


def run(file: str) -> tuple[list[dict[str, Any]], dict[str, Any] | None]:
    """Run the page as `python page.py` would; give what it showed, and the error that ended it."""
    source = Path(file).read_bytes()
    recorder = Recorder(file, ast.parse(source, file))
    module = types.ModuleType("__main__")
    module.__file__ = file
    vars(module)[SHOW] = recorder.show
    sys.modules["__main__"] = module
    sys.argv, sys.path[0] = [file], str(Path(file).parent)
    sys.stdout = recorder
    try:
        exec(compile(instrument(ast.parse(source, file)), file, "exec"), vars(module))
    except BaseException as error:
        if not (isinstance(error, SystemExit) and error.code in (None, 0)):
            return recorder.outputs, {"line": line_of(error, file), "message": f"{type(error).__name__}: {error}"}
    finally:
        sys.stdout = sys.__stdout__
    return recorder.outputs, None


def line_of(error: BaseException, file: str) -> int:
    """Find the last line of the page on the way to the error."""
    found, trace = 1, error.__traceback__
    while trace is not None:
        found = trace.tb_lineno if trace.tb_frame.f_code.co_filename == file else found
        trace = trace.tb_next
    return found


def imported(base: Path) -> dict[str, str]:
    """Give the fingerprint of each source below `base` that the page has imported; installed packages are left out."""
    found: dict[str, str] = {}
    for module in list(sys.modules.values()):
        path = Path(getattr(module, "__file__", None) or "/").resolve()
        if path.suffix != ".py" or not path.is_relative_to(base) or not path.is_file():
            continue
        name = path.relative_to(base)
        if not any(part.startswith(".") or part == "site-packages" for part in name.parts):
            found[name.as_posix()] = hashlib.sha256(path.read_bytes()).hexdigest()
    return dict(sorted(found.items()))


if __name__ == "__main__":
    page, base, result = sys.argv[1:]
    shown, failure = run(page)
    Path(result).write_text(
        json.dumps({"outputs": shown, "error": failure, "imports": imported(Path(base))}), encoding="utf-8"
    )
