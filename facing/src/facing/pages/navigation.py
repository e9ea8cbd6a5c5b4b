"""---
title: Navigation
summary: The tree of pages, the way from the front page to a page, and its neighbours.
---
"""

from __future__ import annotations

import posixpath
from dataclasses import dataclass, field
from functools import lru_cache
from urllib.parse import quote

from facing.model import Page
from facing.pages.site import Site


@dataclass
class Node:
    """A folder or a page of the tree. A folder has no link and the title of its index, which is its first page; `open` says that it
    holds the current page, and `foreign` that the title is not translated.
    """

    title: str
    href: str = ""
    foreign: bool = False
    current: bool = False
    open: bool = False
    children: list[Node] = field(default_factory=list)


@dataclass(frozen=True)
class Titles:
    """The titles of all pages in one language, by path; `foreign` holds the paths of those that are not translated."""

    by_path: dict[str, str]
    foreign: frozenset[str] = frozenset()
    trees: dict[str, str] = field(default_factory=dict, compare=False)
    """The tree of pages as HTML, for each folder from which it has been seen."""

    def __getitem__(self, path: str) -> str:
        return self.by_path[path]

    def node(self, page: Page, current: Page | None, href: str) -> Node:
        """Make the node of a page as seen from another."""
        return Node(self[page.path], href, page.path in self.foreign, page is current)


def relative(target: str, page: str) -> str:
    """Give the link from one output to another."""
    return from_folder(target, posixpath.dirname(page))


@lru_cache(maxsize=65536)
def from_folder(target: str, folder: str) -> str:
    return quote(posixpath.relpath(target, folder or "."))


def index_of(site: Site, folder: str) -> Page | None:
    """Find the page that stands for a folder: its index, or what it has as a README."""
    for name in ("index.html", "README.html"):
        if found := site.by_output.get(f"{folder}/{name}" if folder else name):
            return found
    return None


def tree(site: Site, page: Page, titles: Titles) -> list[Node]:
    """Build the tree as seen from the folder of a page; the page itself is not marked, so that its neighbours see the same."""
    root = Node("")
    folders: dict[str, Node] = {"": root}
    current = posixpath.dirname(page.path)
    for each in site.pages:
        folder = posixpath.dirname(each.path)
        node = titles.node(each, None, relative(each.output, page.output))
        parent = ensure(folders, folder, current, site, titles)
        if folder and index_of(site, folder) is each:
            # The page opens the list, wherever it stands in the order of reading. It keeps its title, which is that of the folder:
            # a page has one name wherever it is named.
            parent.children.insert(0, node)
        else:
            parent.children.append(node)
    return root.children


def ensure(folders: dict[str, Node], folder: str, current: str, site: Site, titles: Titles) -> Node:
    """Give the node of a folder, and make it and its parents where they are not there yet."""
    if folder not in folders:
        parent = ensure(folders, posixpath.dirname(folder), current, site, titles)
        folders[folder] = folder_node(site, folder, titles)
        folders[folder].open = current == folder or current.startswith(f"{folder}/")
        parent.children.append(folders[folder])
    return folders[folder]


def folder_node(site: Site, folder: str, titles: Titles) -> Node:
    """Name a folder by the title of its index; one without an index keeps its own name."""
    index = index_of(site, folder)
    return Node(posixpath.basename(folder), foreign=True) if index is None else titles.node(index, None, "")


def breadcrumbs(site: Site, page: Page, titles: Titles) -> list[Node]:
    """Give the way to a page: the front page, then its folders, then the page itself."""
    steps: list[Node] = []
    folders = page.path.split("/")[:-1]
    for depth in range(len(folders) + 1):
        folder = "/".join(folders[:depth])
        index = index_of(site, folder)
        if index is page:
            continue
        if index is not None:
            step = titles.node(index, page, relative(index.output, page.output))
            steps.append(step if folder else Node(site.name, step.href))
        else:
            steps.append(Node(posixpath.basename(folder), foreign=True))
    steps.append(titles.node(page, page, ""))
    return steps


def neighbours(site: Site, page: Page, titles: Titles) -> tuple[Node | None, Node | None]:
    """Give the pages before and after, in the order of reading; a page outside of it has none.

    The front page comes first. Without an order of reading all pages follow one another as the tree lists them.
    """
    path = [each for each in site.pages if not site.order or each.path in site.order or each.output == "index.html"]
    at = next((number for number, each in enumerate(path) if each is page), None)
    found = []
    for place in () if at is None else (at - 1, at + 1):
        each = path[place] if 0 <= place < len(path) else None
        found.append(None if each is None else titles.node(each, page, relative(each.output, page.output)))
    return (found[0], found[1]) if found else (None, None)


def listed(site: Site, paths: tuple[str, ...], page: Page, titles: Titles) -> list[Node]:
    """List pages that the configuration names, such as those to read first."""
    by_path = {each.path: each for each in site.pages}
    return [titles.node(each, page, relative(each.output, page.output)) for each in map(by_path.__getitem__, paths)]
