"""A function of one pair means what it means for one pair, however it is written."""

import pytest
import torch
from torch import tensor

import headwise as hw
from headwise.call import Call
from headwise.errors import MaskError
from headwise.per_element import broadcasts, by_vmap, evaluate

SIZES = [(1, 1, 2, 2), (2, 2, 3, 3), (2, 3, 5, 7), (1, 4, 17, 19), (3, 1, 1, 300)]


def indices(batch, heads, queries, keys):
    return tuple(
        torch.arange(size).view([-1 if axis == place else 1 for place in range(4)])
        for axis, size in enumerate((batch, heads, queries, keys))
    )


def cell_by_cell(function, sizes, scores=None):
    """The definition, by a loop in Python."""
    values = []
    for b, h, i, j in torch.cartesian_prod(*(torch.arange(size) for size in sizes)).reshape(-1, 4):
        first = () if scores is None else (scores[b, h, i, j],)
        values.append(torch.as_tensor(function(*first, b, h, i, j)))
    return torch.stack(values).view(sizes)


TABLE = torch.sin(torch.arange(40.0 * 300).view(40, 300) * 3.1)
LENGTHS = tensor([1, 4, 2])
FEATURES = torch.cos(torch.arange(300.0 * 4).view(300, 4))
HEADS = tensor([0.5, -0.25, 2.0, 0.0])

MASKS = {
    "plain": lambda b, h, i, j: i >= j,
    "precedence (M20)": lambda b, h, i, j: (i >= j) & b % 2 == 0,
    "reduces with max": lambda b, h, i, j: i.max() >= j,
    "reduces with any": lambda b, h, i, j: (i == j).any(),
    "reduces with all": lambda b, h, i, j: (i >= j).all() | (j == 0),
    "looks up a table": lambda b, h, i, j: TABLE[i, j] > 0,
    "looks up a row, then a number": lambda b, h, i, j: TABLE[i][j] > 0,
    "looks up lengths": lambda b, h, i, j: j < LENGTHS[b],
    "dot product of rows": lambda b, h, i, j: (FEATURES[i] * FEATURES[j]).sum() > 0,
    "dot product of rows by @": lambda b, h, i, j: FEATURES[i] @ FEATURES[j] > 0,
    "sum over features": lambda b, h, i, j: (FEATURES[i] * FEATURES[j]).sum(-1) > 0,
    "whole numbers": lambda b, h, i, j: (i - j) % 2,
    "a constant": lambda b, h, i, j: True,
    "one index": lambda b, h, i, j: h == 0,
    "keyword of torch": lambda b, h, i, j: torch.logical_and(i >= j, torch.where(h > 1, j > 2, j > 0)),
    "writes into its argument": lambda b, h, i, j: i.add_(1) > j,
    "joins and reduces": lambda b, h, i, j: torch.stack([i, j + 1]).amax(0) > 2,
    "joins and reduces everything": lambda b, h, i, j: torch.stack(torch.broadcast_tensors(i, j)).max() > 2,
    "asks for the number of axes": lambda b, h, i, j: (i >= j) if i.dim() == 0 else (i < j),
    "cumulates": lambda b, h, i, j: (i + 0).reshape(1).cumsum(0)[0] >= j,
    "compares a list": lambda b, h, i, j: (tensor([0, 2, 4]) == j).any(),
    "closes over a Python list": lambda b, h, i, j: sum((j == k).int() for k in (1, 3)) > 0,
}


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("name", MASKS)
def test_mask_functions_mean_what_they_mean_for_one_pair(name, sizes):
    found = evaluate(MASKS[name], indices(*sizes), {}, MaskError).expand(sizes)
    assert torch.equal(found.bool(), cell_by_cell(MASKS[name], sizes).bool())


SCORES = {
    "per head": lambda s, b, h, i, j: s - HEADS[h] * (i - j).abs(),
    "table": lambda s, b, h, i, j: s + TABLE[i, j],
    "normalised by the largest": lambda s, b, h, i, j: s / s.abs().max(),
    "less the mean": lambda s, b, h, i, j: s - s.mean(),
    "softmax": lambda s, b, h, i, j: s.softmax(-1),
    "half": lambda s, b, h, i, j: s.half() * 0.5,
    "double": lambda s, b, h, i, j: s.double() * 0.5,
    "whole number": lambda s, b, h, i, j: i - j,
    "truth value": lambda s, b, h, i, j: s > 0,
    "constant": lambda s, b, h, i, j: 1.0,
    "key alone": lambda s, b, h, i, j: TABLE[0, j],
    "writes into the score": lambda s, b, h, i, j: s.mul_(2.0),
    "where": lambda s, b, h, i, j: torch.where(i >= j, s, -torch.inf),
}


@pytest.mark.parametrize("sizes", SIZES[:4])
@pytest.mark.parametrize("name", SCORES)
def test_score_functions_mean_what_they_mean_for_one_pair(name, sizes):
    scores = torch.randn(sizes)
    wanted = cell_by_cell(SCORES[name], sizes, scores.clone())
    found = evaluate(SCORES[name], (scores.clone(), *indices(*sizes)), {}, hw.ScoreError).expand(sizes)
    torch.testing.assert_close(found.double(), wanted.double(), rtol=1e-3 if name == "half" else 1e-6, atol=1e-6)


def test_equal_scores_do_not_hide_a_reduction():
    def less_the_largest(s, b, h, i, j):
        return s - s.max()

    scores = torch.zeros(1, 2, 30, 30)
    scores[0, 1, 17, 4] = -5.0
    found = evaluate(less_the_largest, (scores, *indices(1, 2, 30, 30)), {}, hw.ScoreError)
    assert not found.any()


def test_plain_functions_are_broadcast_and_reductions_are_not():
    arguments = indices(2, 4, 33, 33)
    shape = torch.Size((2, 4, 33, 33))
    assert broadcasts(MASKS["plain"], arguments, shape)
    assert broadcasts(MASKS["looks up a table"], arguments, shape)
    assert not broadcasts(MASKS["reduces with max"], arguments, shape)
    assert not broadcasts(MASKS["dot product of rows"], arguments, shape)
    # A broadcast mask keeps axes of 1 where it does not depend on them.
    assert evaluate(MASKS["plain"], arguments, {}, MaskError).shape == (1, 1, 33, 33)


def test_a_trial_serves_all_blocks_of_a_call():
    asked = []

    def rule(b, h, i, j):
        asked.append(i.shape)
        return i >= j

    query = torch.randn(1, 2, 70, 4)
    call = Call.of(query, query, query, mask=rule)
    for rows in ((0, 32), (32, 64), (64, 70)):
        call.mask.sees(call.grid.block(rows, (0, 70)))
    # A trial and its definition in the first block, then the three blocks.
    assert len(asked) == 5


@pytest.mark.parametrize("engine", ["reference", "blockwise"])
@pytest.mark.parametrize("kind", ["scalar", "per head", "table", "dot product"])
def test_captured_tensors_learn(engine, kind):
    """A11."""
    values = {"scalar": (), "per head": (4,), "table": (20, 20), "dot product": (20, 3)}[kind]
    learned = torch.randn(values, dtype=torch.float64, requires_grad=True)
    rules = {
        "scalar": lambda s, b, h, i, j: s + learned * (i - j),
        "per head": lambda s, b, h, i, j: s * learned[h],
        "table": lambda s, b, h, i, j: s + learned[i, j],
        "dot product": lambda s, b, h, i, j: s + learned[i] @ learned[j],
    }
    query, key, value = (torch.randn(1, 4, 20, 8, dtype=torch.float64, requires_grad=True) for _ in range(3))
    _, _, i, j = indices(1, 4, 20, 20)
    bias = {
        "scalar": lambda s: s + learned * (i - j),
        "per head": lambda s: s * learned[:, None, None],
        "table": lambda s: s + learned,
        "dot product": lambda s: s + learned @ learned.T,
    }
    wanted = torch.softmax(bias[kind](query @ key.mT / 8**0.5), -1) @ value
    found = hw.attention(query, key, value, score=rules[kind], engine=engine)
    torch.testing.assert_close(found, wanted)
    inputs = (query, key, value, learned)
    for one, other in zip(
        torch.autograd.grad(found.sin().sum(), inputs), torch.autograd.grad(wanted.sin().sum(), inputs), strict=True
    ):
        torch.testing.assert_close(one, other)


FAULTY = [
    (lambda b, h, i, j: bool(i >= j), "RuntimeError"),
    (lambda b, h, i, j: i.item() >= 2, "RuntimeError"),
    (lambda b, h, i, j: True if i >= j else False, "RuntimeError"),  # noqa: SIM210
    (lambda b, h, i, j: torch.rand(()) > 0.5, "RuntimeError"),
    (lambda b, h, i, j: TABLE[j, i + 10**6] > 0, "IndexError"),
    (lambda s, b, h, i, j: i >= j, "TypeError"),
    (lambda b, h, i, j: None, "RuntimeError|TypeError"),
    (lambda b, h, i, j: torch.arange(3) == i, r"for one pair it returned a tensor of shape \[3\]"),
    (lambda b, h, i, j: torch.zeros(33) == j, r"for one pair it returned a tensor of shape \[33\]"),
    (lambda b, h, i, j: 1 / 0, "ZeroDivisionError"),
]


@pytest.mark.parametrize("length", [1, 3, 33])
@pytest.mark.parametrize(("rule", "reason"), FAULTY)
def test_a_function_that_cannot_serve_one_pair_is_refused_with_its_reason(rule, reason, length):
    query = torch.randn(1, 2, length, 4)
    with pytest.raises(
        hw.MaskError, match=rf"a function \(b, h, i, j\) -> bool must work for one pair.*({reason})"
    ) as caught:
        hw.attention(query, query, query, mask=rule)
    assert caught.value.__cause__ is not None


def test_a_float_from_a_mask_function_is_refused():
    query = torch.randn(1, 2, 20, 4)
    with pytest.raises(
        hw.MaskError, match=r"a mask function must return bool.*it returned torch\.float32.*pass the function as score="
    ):
        hw.attention(query, query, query, mask=lambda b, h, i, j: (i - j) * 0.5)


def test_a_complex_score_is_refused():
    query = torch.randn(1, 2, 20, 4)
    with pytest.raises(
        hw.ScoreError, match=r"a score function must return a real number; it returned torch\.complex64"
    ):
        hw.attention(query, query, query, score=lambda s, b, h, i, j: s * 1j)


def test_a_faulty_score_function_is_refused_with_its_reason():
    query = torch.randn(1, 2, 20, 4)
    with pytest.raises(hw.ScoreError, match=r"a function \(s, b, h, i, j\) -> s must work for one pair.*randomness"):
        hw.attention(query, query, query, score=lambda s, b, h, i, j: s + torch.randn(()))


def test_the_random_generator_of_the_user_is_left_alone():
    query = torch.randn(1, 2, 20, 4)
    before = torch.get_rng_state()
    hw.attention(query, query, query, score=lambda s, b, h, i, j: s + i, mask=lambda b, h, i, j: i >= j)
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("name", ["plain", "reduces with max", "looks up lengths", "dot product of rows"])
def test_compiled_functions_mean_the_same(name):
    query = torch.randn(2, 2, 20, 4)

    def run(query):
        return hw.attention(query, query, query, mask=MASKS[name], engine="reference")

    torch.testing.assert_close(torch.compile(run, backend="eager", fullgraph=True)(query), run(query))


def test_a_compiled_function_reads_a_table_at_a_single_head_and_row():
    query, key, slopes = torch.randn(1, 1, 1, 4), torch.randn(1, 1, 20, 4), torch.randn(1, 20)

    def run(query):
        return hw.attention(query, key, key, score=lambda s, b, h, i, j: s * slopes[h, i], engine="reference")

    torch.testing.assert_close(torch.compile(run, backend="eager", fullgraph=True)(query), run(query))


def test_vmap_alone_agrees_with_a_loop():
    for name in ("plain", "one index", "a constant", "reduces with max"):
        found = by_vmap(MASKS[name], indices(2, 3, 4, 5)).expand(2, 3, 4, 5)
        assert torch.equal(found.bool(), cell_by_cell(MASKS[name], (2, 3, 4, 5)).bool())
