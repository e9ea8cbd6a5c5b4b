"""Every pair of code on the page gives the same numbers there and here."""

import importlib.util
import re
from pathlib import Path

import pytest
import torch

import headwise as hw

PAGE = (Path(hw.__file__).parent / "interop" / "coming_from.md").read_text()
SETUP, *SECTIONS = re.split(r"^## ", PAGE, flags=re.MULTILINE)


def blocks(text):
    return re.findall(r"^```python\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)


@pytest.mark.filterwarnings("ignore:flex_attention called without torch.compile")
@pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")
@pytest.mark.parametrize("section", SECTIONS, ids=lambda section: section.splitlines()[0])
def test_pairs_give_the_same_numbers(section):
    if "import x_transformers" in section and importlib.util.find_spec("x_transformers") is None:
        pytest.skip("x-transformers is not installed")
    names = {}
    exec("\n".join(blocks(SETUP)), names)
    code = blocks(section)
    assert code and len(code) % 2 == 0
    for there, here in zip(code[::2], code[1::2], strict=True):
        names.pop("there", None), names.pop("here", None)
        exec(there, names)
        assert "here" not in names
        exec(here, names)
        torch.testing.assert_close(names["here"], names["there"], atol=1e-6, rtol=1e-5)


def test_page_covers_five_origins():
    assert len(SECTIONS) == 5
