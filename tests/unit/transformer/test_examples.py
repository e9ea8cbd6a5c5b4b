"""The examples in the notes of these pages print what they say."""

import doctest
import importlib
import pkgutil

import pytest

import headwise.position
import headwise.transformer

PACKAGES = [headwise.position, headwise.transformer]
NAMES = [
    f"{package.__name__}.{module.name}" for package in PACKAGES for module in pkgutil.iter_modules(package.__path__)
]


@pytest.mark.parametrize("name", [*NAMES, "headwise.source.qk_norm", "headwise.norm"])
def test_examples_print_what_they_say(name):
    assert doctest.testmod(importlib.import_module(name), raise_on_error=False).failed == 0


def test_the_pages_have_examples():
    found = {name for name in NAMES if doctest.DocTestFinder().find(importlib.import_module(name))[0].examples}
    assert found >= {f"headwise.transformer.{name}" for name in ("layer", "encoder", "decoder", "autoregressive")}
