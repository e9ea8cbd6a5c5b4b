"""The reference: public names once more, in the words of their docstrings, linked with their sources both ways."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path

import pytest

from facing.config import Config
from facing.model import FacingError
from facing.pages.build import Built, build
from facing.pages.site import read_site
from facing.source import Modern

from .test_build import Fake, Reader, text

PACKAGE = """
from lib.mask.causal import Causal

_HOMES = {"Causal": 1}
__all__ = ["__version__", "attend", *_HOMES]


def attend(q, *, mask: "Mask | None" = None) -> int:
    '''Attends.'''
"""
CAUSAL = """
from dataclasses import dataclass


@dataclass
class Causal:
    '''
    Looks back; see [base](base.py).

    ## More
    '''

    size: int = 3

    def sees(self, i, j):
        '''Says whether.'''
        # A note inside.
        return j <= i

    def _hidden(self):
        return 1
"""
SOURCES = {"__init__.py": PACKAGE, "mask/causal.py": CAUSAL, "mask/base.py": "# Base.\nx = 1\n"}
KEY = '<p>Looks back; see <a href="base.py">base</a>.</p>'


def make(folder: Path, *translators: Fake) -> Built:
    for name, source in SOURCES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source, encoding="utf-8")
    return build(read_site(folder, Config(name="Lib", package="lib", api="__init__.py"), Modern()), translators)


def test_each_public_name_is_listed_with_signature_docstring_and_methods(tmp_path: Path) -> None:
    page = text(make(tmp_path), "api.html")
    plain = unescape(re.sub(r"<[^>]*>", "", page))
    assert "Causal(size: int = 3)" in plain
    assert 'attend(q, *, mask: "Mask | None" = None) -> int' in plain
    assert "Attends." in plain
    assert "Says whether." in plain
    assert "A note inside." not in plain
    assert "_hidden" not in plain


def test_names_lead_to_their_source_and_sources_to_the_reference(tmp_path: Path) -> None:
    built = make(tmp_path)
    assert '<a id="Causal"></a><a href="mask/causal.html#Causal">' in text(built, "api.html")
    assert '<a href="../api.html#Causal">Reference: Causal</a>' in text(built, "mask/causal.html")
    assert {"Causal", "Causal.sees", "attend"} <= set(Reader(text(built, "api.html")).ids)
    assert "Reference: " not in text(built, "mask/base.html")


def test_links_of_a_docstring_lead_from_the_reference_to_the_same_place(tmp_path: Path) -> None:
    assert '<a href="mask/base.html">base</a>' in text(make(tmp_path), "api.html")


def test_a_docstring_is_translated_in_the_reference_too(tmp_path: Path) -> None:
    theirs = '<p>Blickt zurück; siehe <a href="base.py">Grundlage</a>.</p>'
    built = make(tmp_path, Fake("de", {KEY: theirs}))
    assert 'Blickt zurück; siehe <a href="mask/base.html">Grundlage</a>' in text(built, "de/api.html")
    assert "<h1>Referenz</h1>" in text(built, "de/api.html")


def test_a_fault_of_a_docstring_is_reported_once(tmp_path: Path) -> None:
    make(tmp_path)
    (tmp_path / "mask/causal.py").write_text(CAUSAL.replace("(base.py)", "(gone.py)"), encoding="utf-8")
    site = read_site(tmp_path, Config(package="lib", api="__init__.py"), Modern())
    assert [each.file for each in build(site).findings if each.code == "link-broken"] == ["mask/causal.py"]


def test_without_names_there_is_nothing_to_list(tmp_path: Path) -> None:
    (tmp_path / "__init__.py").write_text("x = 1\n")
    with pytest.raises(FacingError, match="must set `__all__`"):
        read_site(tmp_path, Config(api="__init__.py"), Modern())
