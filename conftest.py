"""What all tests share.

The tests of facing lie in a folder of the package's name; importing the package first keeps the folder from hiding it.
"""

import importlib.util
import os
from pathlib import Path

import pytest

import facing

assert facing.__file__, "the installed package, not the folder"


@pytest.fixture(scope="session")
def tutorials() -> Path:
    """The sources of existing tutorials: the package labml-nn, installed, or unpacked where FACING_TUTORIALS says."""
    if folder := os.environ.get("FACING_TUTORIALS"):
        return Path(folder) / "labml_nn"
    spec = importlib.util.find_spec("labml_nn")
    if spec is None or not spec.submodule_search_locations:
        pytest.skip("labml-nn 0.5.1 is neither installed nor in the folder that FACING_TUTORIALS names")
    return Path(next(iter(spec.submodule_search_locations)))


@pytest.fixture(scope="session")
def catalogues() -> Path:
    """The folder of real catalogues."""
    folder = os.environ.get("FACING_CATALOGUES")
    if not folder:
        pytest.skip("FACING_CATALOGUES names no folder of catalogues")
    return Path(folder)
