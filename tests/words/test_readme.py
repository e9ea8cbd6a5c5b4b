"""The README is true: its examples run and print what it says, its files exist, its commands are there."""

import contextlib
import io
import re
from pathlib import Path

import pytest
import torch

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", README, flags=re.DOTALL)


def test_the_examples_run_in_order_and_print_what_the_readme_says():
    """C01: each number and shape that is printed there is printed here."""
    names: dict = {}
    printed = ""
    shown = []
    for language, text in BLOCKS:
        if language == "python":
            with contextlib.redirect_stdout(io.StringIO()) as out:
                exec(compile(text, "README.md", "exec"), names)
            printed = out.getvalue()
        elif language == "text":
            assert printed == text
            shown.append(text)
    assert shown, "the README shows no output"


def test_the_first_example_has_about_ten_lines():
    first = next(text for language, text in BLOCKS if language == "python")
    assert len(first.strip().splitlines()) <= 12


@pytest.mark.parametrize("path", re.findall(r"\]\(([^)#:]+)\)", README))
def test_linked_files_exist(path):
    assert (ROOT / path).exists()


def test_the_commands_of_make_are_there():
    targets = set(re.findall(r"^(\w[\w-]*):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))
    named = re.findall(r"^make ([\w-]+)|`make ([\w-]+)", README, flags=re.MULTILINE)
    assert {"train", "test"} <= {name for pair in named for name in pair if name} <= targets


def test_the_commands_of_the_table_are_there(capsys):
    from headwise.cli import main

    with contextlib.suppress(SystemExit):
        main(["--help"])
    told = capsys.readouterr().out
    for name in re.findall(r"^\| `headwise (\w+)", README, flags=re.MULTILINE):
        assert re.search(rf"\b{name}\b", told), name


def test_the_example_of_contributing_trains_a_mask_a_score_and_an_attention_of_ones_own():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    torch.manual_seed(0)
    names: dict = {}
    exec(compile(example, "CONTRIBUTING.md", "exec"), names)
    # Guessing one of 50 tokens costs 3.9 nats.
    assert names["loss"].item() < 2.0
