"""---
title: The reference
summary: The public names of a package on one page, in the words of their own docstrings.
---
The names are those of `__all__` in the source that the configuration names. A docstring is not copied but shown a second
time: its units are the same ones, so that a translation of the page that defines a name serves here too.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

from facing.model import FacingError, Original, Page, Row, Symbol, Unit, placeholder
from facing.notes.code import highlight, highlight_block
from facing.notes.links import dotted_name

PATH = "api.md"


@dataclass(frozen=True)
class Entry:
    """A public name, the page that defines it, and its syntax tree."""

    page: Page
    symbol: Symbol
    node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def reference(pages: Sequence[Page], api: str, text: str, package: str) -> Page:
    """Make the page; `text` is the source at the path `api`, which lists the names."""
    tree = ast.parse(text)
    homes = {
        alias.asname or alias.name: f"{node.module}.{alias.name}"
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module
        for alias in node.names
    }
    known = {
        dotted_name(page.path, symbol.name, package): (page, symbol)
        for page in pages
        if page.language == "python"
        for symbol in page.symbols
    }
    rows: list[Row] = []
    for name in exported(tree, api):
        if found := known.get(homes.get(name, dotted_name(api, name, package))):
            page, symbol = found
            node = next(node for path, node in walk(ast.parse(page.source)) if path == symbol.name)
            rows += entry_rows(Entry(page, symbol, node))
    if not rows:
        raise FacingError("The source that `api` names must list names of the site in `__all__`. It lists none.", api)
    return Page(PATH, Unit("Reference", kind="title"), rows=tuple(rows), language="api")


def exported(tree: ast.Module, api: str) -> list[str]:
    """Read `__all__`: texts, and names of dictionaries or lists of texts that stand before it."""
    values: dict[str, ast.expr] = {}
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            values[node.targets[0].id] = node.value
    if "__all__" not in values:
        raise FacingError("The source that `api` names must set `__all__`. It does not.", api)
    return list(texts(values["__all__"], values))


def texts(node: ast.expr | None, values: dict[str, ast.expr]) -> Iterator[str]:
    """The texts in an expression of lists, tuples and names, as `__all__` is written."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.List | ast.Tuple):
        for each in node.elts:
            yield from texts(each, values)
    elif isinstance(node, ast.Dict):
        for key in node.keys:
            yield from texts(key, values)
    elif isinstance(node, ast.Starred):
        yield from texts(node.value, values)
    elif isinstance(node, ast.Name) and node.id in values and node.id != "__all__":
        yield from texts(values[node.id], values)


def walk(tree: ast.Module) -> Iterator[tuple[str, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef]]:
    """Give the classes and functions of a module, and the methods of its classes."""
    for node in tree.body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name, node
            for child in node.body if isinstance(node, ast.ClassDef) else ():
                if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
                    yield f"{node.name}.{child.name}", child


def entry_rows(entry: Entry) -> Iterator[Row]:
    """Give the rows of a name: its signature and docstring, then its public methods with the first block of theirs."""
    units = [heading(entry.page, entry.symbol.name, 2), fence(signature(entry.node))]
    yield Row((*units, *docstring(entry.page, entry.symbol)), origin=entry.page.path)
    for symbol in entry.page.symbols:
        parent, _, name = symbol.name.rpartition(".")
        own = docstring(entry.page, symbol)[:1]
        if parent == entry.symbol.name and not name.startswith("_") and own:
            node = next((node for path, node in walk(ast.parse(entry.page.source)) if path == symbol.name), None)
            shown = [fence(signature(node))] if node else []
            yield Row((heading(entry.page, symbol.name, 3), *shown, *own), origin=entry.page.path)


def heading(page: Page, name: str, level: int) -> Unit:
    """Make a heading that leads to the annotated source of the name."""
    link = f'<a id="{escape(name)}"></a><a href="/{escape(page.path)}#{escape(name)}">{placeholder(0)}</a>'
    short = name.rpartition(".")[2]
    return Unit(f"<h{level}>{link}</h{level}>", (Original(highlight(short), short, "code"),))


def listed(page: Page) -> dict[str, str]:
    """Give for each name of the reference the path of the page that defines it."""
    heads = ((row.units[0], row.origin) for row in page.rows)
    return {unit.originals[0].text: origin for unit, origin in heads if unit.key.startswith("<h2>")}


def fence(code: str) -> Unit:
    return Unit(placeholder(0), (Original(highlight_block(code), code, "fence"),))


def docstring(page: Page, symbol: Symbol) -> tuple[Unit, ...]:
    """Find the units that stand below the header of a symbol, in the same row."""
    row = next((row for row in page.rows if symbol.line in row.lines), Row())
    after = [each.line for each in page.symbols if each.line > symbol.line]
    return tuple(unit for unit in row.units if symbol.line < unit.line < min(after, default=unit.line + 1))


def written(node: ast.AST) -> str:
    """Write a piece of syntax with the quotation marks that sources here have."""
    text = ast.unparse(node)
    return text if '"' in text else text.replace("'", '"')


def signature(node: ast.AST) -> str:
    """Write the header of a function, or how a class is called: its fields, or the arguments of its `__init__`."""
    if not isinstance(node, ast.ClassDef):
        assert isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef), "classes and functions have signatures"
        return called(node.name, node, returns=True)
    for child in node.body:
        if isinstance(child, ast.FunctionDef) and child.name == "__init__":
            return called(node.name, child, skip_first=True)
    dataclass = any("dataclass" in written(each) for each in node.decorator_list)
    fields = [written(child) for child in node.body if isinstance(child, ast.AnnAssign)]
    if dataclass:
        return laid_out(node.name, fields, "")
    bases = ", ".join(written(base) for base in node.bases)
    return f"class {node.name}({bases})" if bases else f"class {node.name}"


def called(
    name: str, node: ast.FunctionDef | ast.AsyncFunctionDef, skip_first: bool = False, returns: bool = False
) -> str:
    """Write the arguments of a function one a line, where they do not fit on one."""
    given = node.args
    positional = [*given.posonlyargs, *given.args]
    defaults: list[ast.expr | None] = [None] * (len(positional) - len(given.defaults)) + list(given.defaults)
    parts = [argument(arg, default) for arg, default in zip(positional, defaults, strict=True)]
    parts = parts[1:] if skip_first or (parts and parts[0] in ("self", "cls")) else parts
    if given.vararg:
        parts.append(f"*{argument(given.vararg, None)}")
    elif given.kwonlyargs:
        parts.append("*")
    parts += [argument(arg, default) for arg, default in zip(given.kwonlyargs, given.kw_defaults, strict=True)]
    if given.kwarg:
        parts.append(f"**{argument(given.kwarg, None)}")
    return laid_out(name, parts, f" -> {written(node.returns)}" if returns and node.returns else "")


def argument(arg: ast.arg, default: ast.expr | None) -> str:
    typed = f"{arg.arg}: {written(arg.annotation)}" if arg.annotation else arg.arg
    if default is None:
        return typed
    return f"{typed} = {written(default)}" if arg.annotation else f"{typed}={written(default)}"


def laid_out(name: str, parts: list[str], end: str) -> str:
    line = f"{name}({', '.join(parts)}){end}"
    if len(line) <= 88:
        return line
    return "\n".join([f"{name}(", *(f"    {part}," for part in parts), f"){end}"])
