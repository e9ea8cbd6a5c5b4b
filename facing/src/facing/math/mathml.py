r"""---
title: From TeX to MathML
summary: Each formula becomes MathML that browsers draw and screen readers read, with its TeX inside.
---
The converter is latex2mathml. Before it, a few commands are rewritten; after it, what browsers do not draw is mended.
A formula that cannot be read does not stop a build: its TeX stays visible and the problem is reported.
"""

from __future__ import annotations

from functools import lru_cache
from html import escape
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from latex2mathml.converter import convert

from facing.math.rewrite import commands, rewrite
from facing.math.tree import mend

# What defines a command. The definition would end with its formula, and the next formula would not know it.
DEFINING = frozenset(
    rf"\{name}"
    for name in (
        "newcommand", "newcommand*", "renewcommand", "renewcommand*", "providecommand", "def", "edef", "gdef", "let",
        "DeclareMathOperator", "DeclareMathOperator*", "newenvironment", "renewenvironment",
    )
)  # fmt: skip
NAMESPACE = ' xmlns="http://www.w3.org/1998/Math/MathML"'


def to_mathml(tex: str, display: bool = False) -> str:
    """Turn a formula into a `<math>` element; a formula that cannot be read stays visible as TeX."""
    return math_html(tex, display)[0]


@lru_cache(maxsize=8192)
def math_html(tex: str, display: bool = False) -> tuple[str, tuple[str, ...]]:
    """Turn a formula into HTML, and say what is wrong with it."""
    tex = tex.strip()
    problems: list[str] = []
    if defined := sorted(commands(tex) & DEFINING):
        message = f"A formula must be written out in commands that TeX knows. `{defined[0]}` defines one of its own"
        problems.append(f"{message}; write what it stands for, or `\\operatorname{{name}}` for a name.")
        return f'<code class="unknown">{escape(tex)}</code>', tuple(problems)
    try:
        root = read(tex, display)
        mend(root, problems)
    except Exception as error:  # the converter raises many kinds, some of them plain index errors
        reason = str(error) or type(error).__name__
        problems.append(f"A formula must be valid TeX. `{shorten(tex)}` is not ({reason}); it is shown as it stands.")
        return f'<code class="unknown">{escape(tex)}</code>', tuple(problems)
    html = annotate(root, tex)
    return (f'<span class="formula">{html}</span>' if display else html), tuple(dict.fromkeys(problems))


def read(tex: str, display: bool) -> Element:
    """Convert, and parse the result; names of elements stay without their namespace, as HTML wants them."""
    xml = convert(rewrite(tex), display="block" if display else "inline")
    return ElementTree.fromstring(xml.replace(NAMESPACE, "", 1))


def annotate(root: Element, tex: str) -> str:
    """Put the TeX beside the formula, for copying and for tools."""
    semantics, annotation = Element("semantics"), Element("annotation", {"encoding": "application/x-tex"})
    annotation.text = tex
    body = list(root)
    semantics[:] = [*(body if len(body) == 1 else [group(body)]), annotation]
    root[:] = [semantics]
    if root.get("display") == "inline":
        del root.attrib["display"]
    return ElementTree.tostring(root, encoding="unicode")


def group(children: list[Element]) -> Element:
    row = Element("mrow")
    row[:] = children
    return row


def shorten(tex: str) -> str:
    return tex if len(tex) <= 60 else f"{tex[:57]}..."
