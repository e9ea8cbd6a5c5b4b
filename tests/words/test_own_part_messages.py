"""Masks and score parts of one's own that answer with something else: named before any engine runs."""

import pytest
import torch

import headwise as hw
from support.messages import check, t


def own(base, **methods):
    return type("Mine", (base,), methods)()


def attend(**part):
    return lambda engine: hw.attention(t(2, 4, 5, 8), t(2, 2, 7, 8), t(2, 2, 7, 8), engine=engine, **part)


def mask(sees):
    return attend(mask=own(hw.Mask, sees=lambda self, grid: sees(grid)))


def bias(numbers):
    return attend(score=own(hw.AdditiveScore, bias=lambda self, grid: numbers(grid)))


def score(change, sink=lambda grid: None):
    methods = {"change": lambda self, scores, grid: change(scores, grid), "sink": lambda self, grid: sink(grid)}
    return attend(score=own(hw.Score, **methods))


ENTRY = "must return one entry for each pair of the grid that it gets, which may be a block of all: here [2, 4, 2, 3], or size 1"
WRONG = {
    "a mask of the whole": (mask(lambda g: t(1, 1, g.queries, g.keys, dtype=torch.bool)), "Mine.sees(grid) " + ENTRY),
    "a mask with axes swapped": (mask(lambda g: (g.distance >= 0).mT), "Mine.sees(grid) " + ENTRY),
    "a mask of other heads": (mask(lambda g: t(1, 3, 1, 1, dtype=torch.bool)), "got [1, 3, 1, 1]. Usual fix: cut tensors"),
    "a mask on another device": (
        mask(lambda g: (g.distance >= 0).to("meta")),
        "Mine.sees(grid) must return a tensor on the device of the call, cpu; got one on meta",
    ),
    "a bias of the whole": (bias(lambda g: t(1, 1, 5, 7)), "Mine.bias(grid) " + ENTRY),
    "a bias of other heads": (bias(lambda g: t(1, 7, 1, 1)), "got [1, 7, 1, 1]"),
    "a bias on another device": (bias(lambda g: t(1, 1, 1, 1).to("meta")), "Mine.bias(grid) must return a tensor on the device"),
    "scores cut off": (
        score(lambda s, g: s[..., :1]),
        "Mine.change(scores, grid) must return scores of the shape and dtype that it gets, [2, 4, 2, 3] torch.float32; got [2, 4, 2, 1]",
    ),
    "scores doubled": (score(lambda s, g: torch.cat([s, s], 1)), "Mine.change(scores, grid) " + ENTRY),
    "scores of half precision": (score(lambda s, g: s.half()), "got [2, 4, 2, 3] torch.float16. Usual fix: return scores +"),
    "scores of double precision": (score(lambda s, g: s.double()), "got [2, 4, 2, 3] torch.float64"),
    "scores on another device": (score(lambda s, g: s.to("meta")), "Mine.change(scores, grid) must return a tensor on the device"),
    "a sink of other heads": (
        score(lambda s, g: s, lambda g: t(3)),
        "Mine.sink(grid) must return a float for each head [H], H=4, or None; got torch.float32 [3]",
    ),
    "a sink of no axis": (score(lambda s, g: s, lambda g: t()), "got torch.float32 []"),
    "a sink that is no tensor": (score(lambda s, g: s, lambda g: 0.0), "got float. Usual fix: a Parameter of H numbers."),
}  # fmt: skip


@pytest.mark.parametrize("engine", ["auto", "sdpa", "blockwise", "reference"])
@pytest.mark.parametrize("name", WRONG)
def test_an_answer_that_does_not_fit_its_pairs_is_named(name, engine):
    make, words = WRONG[name]
    check(lambda: make(engine), hw.MaskError if "mask" in name else hw.ScoreError, words)


@pytest.mark.parametrize("sizes", [(1, 1), (1, 5), (5, 1), (0, 3), (3, 0), (2, 3)])
def test_parts_that_fit_are_taken_at_every_size(sizes):
    query, key = t(2, 4, sizes[0], 8), t(2, 4, sizes[1], 8)
    rule = own(hw.Mask, sees=lambda self, grid: grid.distance >= 0)
    parts = (
        own(hw.AdditiveScore, bias=lambda self, grid: -grid.distance),
        own(
            hw.Score, change=lambda self, scores, grid: scores.mul_(2), sink=lambda self, grid: torch.zeros(grid.heads)
        ),
    )
    assert hw.attention(query, key, key, mask=rule, score=parts).shape == (2, 4, sizes[0], 8)
