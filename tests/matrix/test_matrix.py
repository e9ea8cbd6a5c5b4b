"""
Any mask with any score, any position, any grouping, on any engine, cached or not, recorded or not: right, or refused with a reason.

The fast suite runs cells in which every two values meet; `make test-slow` runs whole products of the axes that belong together.
"""

import pytest
import torch

import headwise as hw
from headwise.engines.base import Output
from matrix import calls, layers
from matrix.cover import pairs_of, pairwise, product
from matrix.outcome import Outcome
from support.engines import ENGINES

SUITES = {"attention": calls, "layer": layers}


def cells_by(cells, axis):
    """The cells, in groups of the values of one axis."""
    groups = {}
    for cell in cells:
        groups.setdefault(cell[axis], []).append(cell)
    return groups


FAST = [
    pytest.param(suite, cells, id=f"{suite} {value}")
    for suite, module in SUITES.items()
    for value, cells in cells_by(pairwise(module.AXES), "mask").items()
]


@pytest.mark.parametrize(("suite", "cells"), FAST)
def test_every_two_values_of_all_axes_meet_in_a_cell_that_is_right_or_refused(suite, cells):
    assert_none_is_wrong(SUITES[suite], cells)


LEVELS = [(suite, level) for suite, module in SUITES.items() for level in module.LEVELS]


@pytest.mark.slow
@pytest.mark.parametrize(("suite", "level"), LEVELS, ids=map(": ".join, LEVELS))
def test_every_cell_of_a_product_is_right_or_refused(suite, level):
    assert_none_is_wrong(SUITES[suite], product(SUITES[suite].AXES, SUITES[suite].LEVELS[level]))


def assert_none_is_wrong(module, cells):
    outcomes = [module.check(cell) for cell in cells]
    wrong = [(result.note, cell) for result, cell in zip(outcomes, cells, strict=True) if result.kind == "wrong"]
    assert not wrong
    # Only a named engine refuses.
    assert all(
        cell["engine"] != "auto" for result, cell in zip(outcomes, cells, strict=True) if result.kind == "refused"
    )


@pytest.mark.parametrize("suite", SUITES)
def test_the_cover_meets_every_pair_and_the_product_every_combination(suite):
    axes = SUITES[suite].AXES
    cells = pairwise(axes)
    met = set().union(*(pairs_of({name: [value] for name, value in cell.items()}) for cell in cells))
    assert met == pairs_of(axes)
    for whole in SUITES[suite].LEVELS.values():
        combinations = {tuple(cell[name] for name in whole) for cell in product(axes, whole)}
        assert len(combinations) == torch.tensor([len(axes[name]) for name in whole]).prod()


PLAIN = {name: values[0] for name, values in calls.AXES.items()} | {"engine": "sdpa", "dtype": "float32", "length": "7"}


@pytest.mark.parametrize(
    ("fault", "note"),
    [
        (lambda output: output * (1 + 1e-5), "output is off by"),
        (lambda output: output.index_fill(2, torch.tensor(0), torch.nan), "output holds other infinities or NaN"),
        (lambda output: output.double(), "the output is torch.float64"),
        (lambda output: output.no_such_method(), "AttributeError: "),
        (lambda output: output * (1 + 1e-6 * output.new_zeros(1)) + 0 * output.detach().sum(), ""),
    ],
    ids=["a number", "a NaN", "a type", "a crash", "none"],
)
def test_a_faulty_engine_is_found(monkeypatch, fault, note):
    """The matrix can fail: a change of one part in a hundred thousand is seen, and one that changes nothing is not."""
    sdpa = ENGINES["sdpa"]
    run = sdpa.run
    monkeypatch.setattr(sdpa, "run", lambda call: Output(fault(run(call).output), None))
    outcome = calls.check(PLAIN)
    assert (outcome.kind, note in outcome.note) == ("wrong" if note else "equal", True)


def test_a_refusal_counts_only_with_its_reasons(monkeypatch):
    sdpa = ENGINES["sdpa"]
    monkeypatch.setattr(sdpa, "why_not", lambda call: ["it rests"])
    assert calls.check(PLAIN) == Outcome(
        "refused",
        "engine 'sdpa' cannot run this call: it rests. Usual fix: engine='auto', or see explain(...) for those that can.",
    )

    def refuse(call):
        raise hw.EngineRefused("no")

    monkeypatch.undo()
    monkeypatch.setattr(sdpa, "run", refuse)
    assert calls.check(PLAIN).kind == "wrong"
