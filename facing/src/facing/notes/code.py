"""---
title: Highlighted code
summary: Pygments gives each token a short class; the style sheet gives it a colour.
---
"""

from __future__ import annotations

from functools import cache, lru_cache

from pygments import highlight as run
from pygments.formatters.html import HtmlFormatter
from pygments.lexer import Lexer
from pygments.lexers import get_lexer_by_name
from pygments.util import ClassNotFound


@cache
def lexer(language: str) -> Lexer:
    """Find the lexer of a language; an unknown one is shown as plain text."""
    try:
        return get_lexer_by_name(language or "text", stripnl=False, ensurenl=False)
    except ClassNotFound:
        return get_lexer_by_name("text", stripnl=False, ensurenl=False)


@cache
def formatter() -> HtmlFormatter:
    return HtmlFormatter(nowrap=True)


@lru_cache(maxsize=4096)
def highlight(text: str, language: str = "python") -> str:
    """Highlight a piece of code inside a line, as a `<code>` element."""
    return f'<code class="highlight">{spans(text, language)}</code>'


def highlight_block(text: str, language: str = "python") -> str:
    """Highlight a block of code as a `<pre>` that the keyboard can scroll."""
    return f'<pre class="highlight" tabindex="0"><code>{spans(text, language)}</code></pre>'


def spans(text: str, language: str = "python") -> str:
    """Give the spans alone, without an element around them."""
    return run(text, lexer(language), formatter()).rstrip("\n")
