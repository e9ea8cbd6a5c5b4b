"""---
title: Markdown notes
summary: Each block of a note becomes one unit, with code, formulas and images behind placeholders.
---
The parser is markdown-it-py with CommonMark rules, tables and the mathematics of TeX. Its renderer is ours in two
respects: what must not be translated leaves a placeholder behind, and a line break inside a paragraph is a blank, so
that wrapping a comment differently leaves its translation valid.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict
from mdit_py_plugins.amsmath import amsmath_plugin
from mdit_py_plugins.dollarmath import dollarmath_plugin

from facing.math import to_mathml
from facing.model import Finding, Original, Unit, placeholder
from facing.notes.code import highlight, highlight_block
from facing.notes.doctest import doctest_plugin
from facing.notes.tags import allowed_tag


@dataclass(frozen=True)
class Rendered:
    """A note, rendered: its units and what is wrong with it."""

    units: tuple[Unit, ...]
    findings: tuple[Finding, ...]


class Renderer(RendererHTML):
    """Renders one block. The environment collects originals and findings."""

    def keep(self, original: Original, env: EnvType) -> str:
        env["originals"].append(original)
        return placeholder(len(env["originals"]) - 1)

    def find(self, env: EnvType, code: str, message: str) -> None:
        env["findings"].append(Finding(env["file"], "", env["line"], code, "warning", message))

    def code_inline(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        text = tokens[idx].content
        return self.keep(Original(highlight(text), text, "code"), env)

    def fence(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        language = (tokens[idx].info.split() or ["text"])[0]
        html = highlight_block(tokens[idx].content, language)
        return self.keep(Original(html, tokens[idx].content, "fence"), env)

    def code_block(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        return self.keep(Original(highlight_block(tokens[idx].content), tokens[idx].content, "fence"), env)

    def formula(self, tex: str, display: bool, env: EnvType) -> str:
        return self.keep(Original(to_mathml(tex, display), tex, "math"), env)

    def math_inline(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        return self.formula(tokens[idx].content, False, env)

    def math_inline_double(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        return self.formula(tokens[idx].content, True, env)

    math_block = math_inline_double
    amsmath = math_inline_double

    def image(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        token = tokens[idx]
        alt = self.renderInlineAsText(token.children, options, env).strip() if token.children else ""
        source = str(token.attrs.get("src", ""))
        html = f'<img src="{escape(source)}" alt="{escape(alt)}">'
        return self.keep(Original(html, token.content, "image"), env)

    def softbreak(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        return " "

    def html_inline(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        tag = tokens[idx].content
        if allowed_tag(tag):
            return tag
        self.find(
            env, "raw-html", f"Raw HTML in a note must be an anchor or plain inline markup. `{tag}` is shown as text."
        )
        return escape(tag)

    def html_block(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        # A block of raw tags is read again as inline text, so that one rule judges each tag.
        parsed = parser().parseInline(tokens[idx].content.strip(), env)
        return f"<p>{self.renderInline(parsed[0].children or [], options, env)}</p>\n"


@cache
def parser() -> MarkdownIt:
    """Build the parser once; it keeps no state between notes."""
    options = {"html": True, "linkify": True}
    markdown = MarkdownIt("commonmark", options, renderer_cls=Renderer).enable(["table", "strikethrough", "linkify"])
    # Only what starts with a scheme is a link: `layer.py` and `x.y` are names.
    markdown.linkify.set({"fuzzy_link": False, "fuzzy_email": False, "fuzzy_ip": False})  # type: ignore[union-attr]
    dollarmath_plugin(markdown, allow_space=False, allow_digits=False, double_inline=True, allow_labels=False)
    amsmath_plugin(markdown)
    doctest_plugin(markdown)
    # The plugins add their own rules to the renderer; ours must win.
    for rule in ("math_inline", "math_inline_double", "math_block", "amsmath"):
        markdown.renderer.rules[rule] = getattr(markdown.renderer, rule)  # type: ignore[attr-defined]
    return markdown


def render_note(text: str, line: int, file: str) -> Rendered:
    """Render the Markdown of a note that starts on `line` of `file`, one unit a block."""
    markdown = parser()
    env: dict[str, Any] = {}
    tokens = markdown.parse(text, env)
    units: list[Unit] = []
    findings: list[Finding] = []
    for block in blocks(tokens):
        first = line + (block[0].map[0] if block[0].map else 0)
        local: dict[str, Any] = {**env, "originals": [], "findings": findings, "file": file, "line": first}
        key = markdown.renderer.render(block, markdown.options, local).strip()
        if key:
            units.append(Unit(key, tuple(local["originals"]), first))
    return Rendered(tuple(units), tuple(findings))


def blocks(tokens: list[Token]) -> list[list[Token]]:
    """Group the tokens of each top-level block."""
    found: list[list[Token]] = []
    depth = 0
    for token in tokens:
        if depth == 0:
            found.append([])
        found[-1].append(token)
        depth += token.nesting
    return found
