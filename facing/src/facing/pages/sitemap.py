"""---
title: The sitemap
summary: Every page in every language, with its counterparts.
---
"""

from __future__ import annotations

import posixpath
from collections.abc import Sequence
from html import escape
from urllib.parse import quote

from facing.pages.render import Edition
from facing.pages.site import Site

HEAD = (
    '<?xml version="1.0" encoding="UTF-8"?>\n'
    '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:xhtml="http://www.w3.org/1999/xhtml">\n'
)


def sitemap(site: Site, editions: Sequence[Edition]) -> str:
    """Write the sitemap; it needs absolute addresses, so it exists only where the address of the site is known."""
    base = site.config.url.rstrip("/") + "/"
    parts = [HEAD]
    for page in site.pages:
        if page.redirect is not None:
            continue
        places = {
            each.language: escape(base + quote(posixpath.join(each.folder(site), page.output))) for each in editions
        }
        links = "".join(
            f'<xhtml:link rel="alternate" hreflang="{language}" href="{place}"/>' for language, place in places.items()
        )
        parts += [f"<url><loc>{place}</loc>{links if len(places) > 1 else ''}</url>\n" for place in places.values()]
    return "".join([*parts, "</urlset>\n"])
