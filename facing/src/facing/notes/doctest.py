"""---
title: Examples with prompts
summary: Lines that start with `>>>` are an example, as Python's doctest knows them, and no threefold quotation.
---
"""

from __future__ import annotations

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock


def doctest_plugin(markdown: MarkdownIt) -> None:
    """Add the rule; it comes before that for quotations, and ends a paragraph."""
    options = {"alt": ["paragraph", "reference", "blockquote", "list"]}
    markdown.block.ruler.before("blockquote", "doctest", doctest_rule, options)  # type: ignore[arg-type]


def doctest_rule(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Read an example, from its first prompt to the next blank line."""
    position = state.bMarks[start] + state.tShift[start]
    if state.is_code_block(start) or not state.src.startswith(">>> ", position):
        return False
    if silent:
        return True
    line = start + 1
    while line < end and not state.isEmpty(line) and state.sCount[line] >= state.blkIndent:
        line += 1
    state.line = line
    token = state.push("fence", "code", 0)
    token.info, token.map = "pycon", [start, line]
    token.content = state.getLines(start, line, state.blkIndent, True)
    return True
