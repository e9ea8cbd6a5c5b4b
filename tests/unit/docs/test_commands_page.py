"""The page of all commands says what the program says, and leaves nothing out."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[3] / "docs"


@pytest.fixture(scope="module")
def made():
    spec = importlib.util.spec_from_file_location("commands_page", FOLDER / "commands_page.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_page_is_what_the_program_says(made):
    assert made.page() == (FOLDER / "commands.md").read_text(), "run `python docs/commands_page.py`"


def test_every_flag_of_a_narrow_terminal_is_on_the_page():
    """The help as people see it, read in another way than the page does: each flag in it stands below its command."""
    page = (FOLDER / "commands.md").read_text()
    sections = dict(re.findall(r"^## `headwise (\w+)`\n(.*?)(?=^## |\Z)", page, re.MULTILINE | re.DOTALL))
    shared = sections["train"].partition("### The text")[2]
    for name in ("train", "sweep", "sample", "bench"):
        ran = subprocess.run([sys.executable, "-m", "headwise", name, "--help"], capture_output=True, text=True)
        flags = set(re.findall(r"(?<![\w-])--[a-z][a-z0-9-]*", ran.stdout)) - {"--help"}
        assert len(flags) >= 10
        text = sections[name] + (shared if name == "sweep" else "")
        assert {flag for flag in flags if not re.search(rf"{flag}\b", text)} == set(), name


def test_lists_and_pairs_of_flags_read_as_words(made):
    assert (
        made.entry("--rules [STR [STR ...]]", "Names; all by default. (default: )")
        == "* `--rules STR ...`: Names; all by default."
    )
    assert (
        made.entry("--bias, --no-bias", "Whether. (default: False)")
        == "* `--bias`, `--no-bias`: Whether. Off by default."
    )
    assert made.entry("--out {None}|PATH", "A_B in `a_b`. (default: None)") == "* `--out PATH`: A\\_B in `a_b`."
    assert made.entry("PATH", "A run. (required)") == "* `PATH`: A run. Must be given."
