"""C01: every example in a docstring runs and prints what it says."""

import doctest
import importlib
import pkgutil
import re

import pytest
import torch

import headwise

# Commands parse arguments when they are run, and integrations need packages that are extras.
LEFT_OUT = ("headwise.integrations", "headwise.commands")


class Fenced(doctest.DocTestParser):
    """Examples inside of Markdown fences: the line that closes a fence is no part of what is printed."""

    def parse(self, string, name="<string>"):
        return super().parse(re.sub(r"^\s*```\w*\s*$", "", string, flags=re.MULTILINE), name)


def modules():
    found = pkgutil.walk_packages(headwise.__path__, "headwise.")
    return sorted(module.name for module in found if not module.name.startswith(LEFT_OUT))


def examples_of(name):
    module = importlib.import_module(name)
    names = {public: getattr(headwise, public) for public in headwise.__all__}
    names |= {"torch": torch, "hw": headwise, **vars(module)}
    finder = doctest.DocTestFinder(parser=Fenced(), exclude_empty=True)
    return [test for test in finder.find(module, name, globs=names) if test.examples]


@pytest.mark.parametrize("name", modules())
def test_examples_print_what_they_say(name):
    for test in examples_of(name):
        torch.manual_seed(0)
        report = []
        result = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(test, out=report.append)
        assert result.failed == 0, "".join(report)


def test_the_pages_of_the_heart_have_examples():
    heart = ("functional", "layer", "source.heads", "score.alibi", "cache")
    assert [name for name in heart if not examples_of(f"headwise.{name}")] == []
