"""---
title: Navigation
summary: The tree of pages, the way from the front page to a page, and its neighbours.
---
"""

from __future__ import annotations

import posixpath
from dataclasses import dataclass, field
from urllib.parse import quote

from facing.model import Page
from facing.pages.site import Site


@dataclass
class Node:
    """A folder or a page of the tree. A folder has no link, its index is its first page; `open` says that it holds the current page."""

    title: str
    href: str = ""
    current: bool = False
    open: bool = False
    children: list[Node] = field(default_factory=list)


def relative(target: str, page: str) -> str:
    """Give the link from one output to another."""
    return quote(posixpath.relpath(target, posixpath.dirname(page) or "."))


def index_of(site: Site, folder: str) -> Page | None:
    """Find the page that stands for a folder."""
    output = f"{folder}/index.html" if folder else "index.html"
    return next((page for page in site.pages if page.output == output), None)


def tree(site: Site, page: Page, titles: dict[str, str]) -> list[Node]:
    """Build the tree as seen from one page."""
    root = Node("")
    folders: dict[str, Node] = {"": root}
    current = posixpath.dirname(page.path)
    for each in site.pages:
        folder = posixpath.dirname(each.path)
        link = relative(each.output, page.output)
        ensure(folders, folder, current).children.append(Node(titles[each.path], link, current=each is page))
    return root.children


def ensure(folders: dict[str, Node], folder: str, current: str) -> Node:
    """Give the node of a folder, and make it and its parents where they are not there yet."""
    if folder not in folders:
        parent = ensure(folders, posixpath.dirname(folder), current)
        inside = current == folder or current.startswith(f"{folder}/")
        folders[folder] = Node(posixpath.basename(folder), open=inside)
        parent.children.append(folders[folder])
    return folders[folder]


def breadcrumbs(site: Site, page: Page, titles: dict[str, str]) -> list[Node]:
    """Give the way to a page: the front page, then its folders, then the page itself."""
    steps: list[Node] = []
    folders = page.path.split("/")[:-1]
    for depth in range(len(folders) + 1):
        folder = "/".join(folders[:depth])
        index = index_of(site, folder)
        if index is page:
            continue
        if index is not None:
            title = site.name if not folder else titles[index.path]
            steps.append(Node(title, relative(index.output, page.output)))
        else:
            steps.append(Node(posixpath.basename(folder)))
    steps.append(Node(titles[page.path], current=True))
    return steps


def neighbours(site: Site, page: Page) -> tuple[Page | None, Page | None]:
    """Give the pages before and after, in the order of reading."""
    at = site.pages.index(page)
    before = site.pages[at - 1] if at else None
    after = site.pages[at + 1] if at + 1 < len(site.pages) else None
    return before, after


def reading_path(site: Site, page: Page, titles: dict[str, str]) -> list[Node]:
    """List the pages that the configuration tells to read first."""
    by_path = {each.path: each for each in site.pages}
    listed = [by_path[path] for path in site.config.order]
    return [Node(titles[each.path], relative(each.output, page.output), current=each is page) for each in listed]
