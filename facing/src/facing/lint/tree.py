"""---
title: The tree of a catalogue entry
summary: Reads the HTML of an entry strictly, and writes it back from what was understood.
---
Lenient parsers repair what they read and say nothing, and two of them repair differently. A catalogue is untrusted and
its HTML is tiny, so this module has its own reader: every character is a tag of a fixed form, a placeholder, or text;
whatever else holds a `<` is a problem. Pages never receive the entry itself but the tree, written again: what a browser
sees was spelled here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from html import escape, unescape
from unicodedata import category

from facing.model import placeholder

# The zero-width non-joiner and joiner: Python does not count them as printable, but words are spelled with them.
JOINERS = "\u200c\u200d"

BLOCKS = frozenset(
    {
        "p",
        "ul",
        "ol",
        "li",
        "dl",
        "dt",
        "dd",
        "blockquote",
        "pre",
        "div",
        "table",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
        "hr",
    }
    | {f"h{level}" for level in range(1, 7)}
)
VOID = frozenset({"br", "hr", "img", "wbr"})

# No note nests this deep. The limit keeps a hostile entry from exhausting the stack.
DEEPEST = 40


@dataclass(eq=False)
class Held:
    """A placeholder."""

    number: int


@dataclass(eq=False)
class Text:
    """A run of text, with character references resolved."""

    text: str


@dataclass(eq=False)
class Element:
    """A tag with its attributes in order, what stands inside, and where its closing tag starts in the text."""

    tag: str
    attributes: tuple[tuple[str, str], ...] = ()
    children: list[Element | Text | Held] = field(default_factory=list)
    end: int = -1

    def walk(self) -> Iterator[Element | Text | Held]:
        """Give everything below, in document order."""
        for child in self.children:
            yield child
            if isinstance(child, Element):
                yield from child.walk()

    def elements(self, tag: str = "") -> Iterator[Element]:
        """Give the elements below, all or those with one tag."""
        return (node for node in self.walk() if isinstance(node, Element) and (not tag or node.tag == tag))

    def get(self, name: str) -> str | None:
        """Give an attribute."""
        return next((value for key, value in self.attributes if key == name), None)

    @property
    def blocks(self) -> list[Element | Held]:
        """Give the innermost blocks in document order; a placeholder outside any block counts as one."""
        found: list[Element | Held] = []
        for child in self.children:
            if isinstance(child, Element) and child.tag in BLOCKS:
                found += child.blocks or [child]
            elif isinstance(child, Held) and not self.tag:
                found.append(child)
        return found

    @property
    def text(self) -> str:
        """Give the text below, placeholders as one blank each."""
        return "".join(
            node.text if isinstance(node, Text) else " " for node in self.walk() if not isinstance(node, Element)
        )

    @property
    def numbers(self) -> list[int]:
        """Give the numbers of the placeholders below."""
        return [node.number for node in self.walk() if isinstance(node, Held)]


@dataclass(frozen=True)
class Problem:
    """Something that the reader could not take as well-formed: which rule, and in which words."""

    code: str
    message: str


@dataclass
class Tree:
    """A parsed entry. `root` is an element without a tag."""

    root: Element
    problems: list[Problem]


TOKEN = re.compile(
    r"""<span\ translate=(?:no|"no"|'no')>\s*_\^_(?P<number>\d{1,6})_\^_\s*</span>
    |<span\ translate=(?:no|"no"|'no')>(?P<damaged>[^<]*)</span>
    |<(?P<close>/?)(?P<tag>[A-Za-z][A-Za-z0-9]*)(?P<attributes>(?:\s+[^\s=<>"'/]+(?:\s*=\s*(?:"[^"<>]*"|'[^'<>]*'|[^\s"'=<>`]+))?)*)\s*(?P<void>/?)>
    |(?P<text>[^<]+)
    |(?P<stray><)""",
    re.VERBOSE,
)
ATTRIBUTE = re.compile(r"""([^\s=<>"'/]+)(?:\s*=\s*("[^"]*"|'[^']*'|[^\s"'=<>`]+))?""")


def parse(html: str) -> Tree:
    """Read an entry. What cannot be read becomes a problem, and its text stays text."""
    root = Element("")
    stack = [root]
    problems: list[Problem] = []
    for token in TOKEN.finditer(html):
        top = stack[-1]
        if token["number"]:
            top.children.append(Held(int(token["number"])))
        elif token["damaged"] is not None:
            problems.append(
                Problem(
                    "placeholder-damaged", f"A placeholder must read _^_N_^_. One reads `{clip(token['damaged'])}`."
                )
            )
        elif token["tag"]:
            tag(token, stack, problems)
        elif token["text"]:
            top.children.append(Text(unescape(token["text"])))
        else:
            start = token.start()
            problems.append(
                Problem(
                    "tag-broken", f"A `<` must start a whole tag. Here it does not: `{clip(html[start : start + 40])}`."
                )
            )
            top.children.append(Text("<"))
    for element in stack[:0:-1]:
        problems.append(
            Problem("tag-unclosed", f"Every tag must be closed. `<{element.tag}>` is still open at the end.")
        )
    return Tree(root, problems)


def tag(token: re.Match[str], stack: list[Element], problems: list[Problem]) -> None:
    """Open or close an element."""
    name = token["tag"].lower()
    if not token["close"] and len(stack) > DEEPEST:
        problems.append(Problem("tag-deep", f"Tags must not be nested deeper than {DEEPEST}. `<{name}>` would be."))
        return
    if not token["close"]:
        element = Element(name, attributes(token["attributes"]))
        stack[-1].children.append(element)
        if name not in VOID:
            stack.append(element)
        return
    if stack[-1].tag == name:
        stack.pop().end = token.start()
    elif all(element.tag != name for element in stack):
        problems.append(
            Problem("tag-stray", f"A closing tag must belong to an open one. `</{name}>` has no `<{name}>` before it.")
        )
    else:
        inner = stack[-1].tag
        problems.append(
            Problem(
                "tag-misnested",
                f"The tag opened last must close first. `</{name}>` comes while `<{inner}>` is still open.",
            )
        )
        while stack.pop().tag != name:
            pass


def attributes(text: str) -> tuple[tuple[str, str], ...]:
    """Read the attributes of a tag; one without a value has an empty one."""
    found = ((match[1].lower(), match[2] or "") for match in ATTRIBUTE.finditer(text))
    return tuple((name, resolved(value[1:-1] if value[:1] in ("'", '"') else value)) for name, value in found)


def resolved(value: str) -> str:
    """Resolve character references of an attribute. One without a semicolon is none there: `?a=1&copy=2` is an address."""
    return re.sub(r"&(?:#\d+|#[xX][0-9a-fA-F]+|\w+);", lambda found: unescape(found[0]), value)


def clip(text: str, longest: int = 40) -> str:
    """Shorten text for a message, and show what cannot be printed.

    A joiner is kept, because a Sinhala conjunct is spelled with it, and no letter is cut from its marks.
    """
    short = text
    if len(text) > longest:
        end = longest - 3
        while end and (text[end] in JOINERS or text[end - 1] in JOINERS or category(text[end]).startswith("M")):
            end -= 1
        short = text[: end or longest - 3] + "..."
    return "".join(each if each.isprintable() or each in JOINERS else "\ufffd" for each in short)


def write(node: Element | Text | Held) -> str:
    """Spell a tree as HTML: lower-case tags, quoted attributes, escaped text, placeholders as in keys."""
    if isinstance(node, Held):
        return placeholder(node.number)
    if isinstance(node, Text):
        return escape(node.text)
    inner = "".join(write(child) for child in node.children)
    if not node.tag:
        return inner
    pairs = "".join(f' {name}="{escape(value)}"' for name, value in node.attributes)
    return f"<{node.tag}{pairs}>" if node.tag in VOID else f"<{node.tag}{pairs}>{inner}</{node.tag}>"
