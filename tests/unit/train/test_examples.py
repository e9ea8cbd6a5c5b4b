"""The examples in the notes run, and print what they say."""

import doctest
import importlib

import pytest

NAMES = [
    f"headwise.{name}"
    for name in (
        *(
            f"train.{each}"
            for each in (
                "batch",
                "bpe",
                "config",
                "patience",
                "plan",
                "presets",
                "progress",
                "schedule",
                "shakespeare",
                "split",
                "subwords",
                "tokenizer",
                "toml",
            )
        ),
        "generation.logits",
        "generation.window",
    )
]


@pytest.mark.parametrize("name", NAMES)
def test_examples_print_what_they_say(name):
    result = doctest.testmod(importlib.import_module(name))
    assert result.failed == 0
    assert result.attempted > 0
