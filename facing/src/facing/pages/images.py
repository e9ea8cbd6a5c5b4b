"""---
title: Images
summary: A local image is copied; one from elsewhere would be a request to a third party, so a link stands for it.
---
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from html import escape
from urllib.parse import urlsplit

from facing.model import Original, placeholder
from facing.notes.check import ImageTag


def image(
    original: Original, number: int, text: str, resolve: Callable[[str], str], alts: Mapping[str, str] | None = None
) -> Original:
    """Resolve the image behind placeholder `number` of `text`; any other original stays as it is.

    `alts` has translations of alternative texts.
    """
    if original.kind != "image":
        return original
    values = ImageTag(original.html).values
    source, alt = resolve(values.get("src", "")), values.get("alt", "")
    alt = escape((alts or {}).get(alt, alt))
    if urlsplit(source).netloc:
        # Inside a link the text is enough; alone it becomes a link to the image.
        before = text.partition(placeholder(number))[0]
        linked = before.rfind("<a ") > before.rfind("</a>")
        word = alt or escape(source)
        html = (
            f'<span class="outside">{word}</span>'
            if linked
            else f'<a class="outside" href="{escape(source)}">{word}</a>'
        )
        return replace(original, html=html)
    return replace(original, html=f'<img src="{escape(source)}" alt="{alt}" loading="lazy">')
