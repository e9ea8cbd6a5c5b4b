"""Derivatives: of every order on the definition, of the first on every engine, and a refusal in words where there is none."""

import pytest
import torch
from torch import nn

import headwise as hw
from support.compare import able, close, operands
from support.engines import ENGINES
from support.oracle import attend, make_pairs
from support.parts import MASKS, SCORES, Sizes

SMALL = Sizes(2, 2, 2, 3)
# PyTorch scripts its own formulas on the first forward derivative, and warns of itself.
forward_derivatives = pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated")


@pytest.mark.parametrize("score", ["none", "alibi, then softcap", "function"])
@pytest.mark.parametrize("mask", ["full", "causal and padding", "dense BHIJ"])
def test_first_and_second_derivatives_of_the_definition_are_right(mask, score):
    """D06: against differences, in float64, with keyless rows among them."""
    arguments = {"mask": MASKS[mask].make(SMALL), "score": SCORES[score].make(SMALL), "engine": "reference"}
    given = operands(SMALL, 1, features=2, value_features=3)

    def call(query, key, value):
        output, lse = hw.attention(query, key, value, return_lse=True, **arguments)
        return output, torch.where(lse.isfinite(), lse, 0)

    assert torch.autograd.gradcheck(call, given)
    assert torch.autograd.gradgradcheck(call, given)


@forward_derivatives
def test_the_definition_has_forward_derivatives():
    """D06: torch.func.jvp."""
    query, key, value = operands(SMALL, 1, requires_grad=False)
    step = torch.randn_like(query)

    def call(given):
        return hw.attention(given, key, value, mask=hw.Causal(), engine="reference")

    _, found = torch.func.jvp(call, (query,), (step,))
    difference = (call(query + 1e-6 * step) - call(query - 1e-6 * step)) / 2e-6
    close(found, difference, 1e-8)


@pytest.mark.parametrize("return_lse", [False, True])
def test_sdpa_refuses_second_derivatives_in_a_sentence(return_lse):
    """D06."""
    given = operands(SMALL, 2)
    output = hw.attention(*given, mask=hw.Causal(), engine="sdpa", return_lse=return_lse)
    output = output[0] if return_lse else output
    (first,) = torch.autograd.grad(output.square().sum(), given[0], create_graph=True)
    with pytest.raises(
        hw.EngineRefused, match=r"engine 'sdpa' has first derivatives in reverse mode only.*'reference'"
    ):
        first.square().sum().backward()


@pytest.mark.parametrize("return_lse", [False, True])
@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize("mask", ["full", "causal", "documents", "padding"])
@pytest.mark.parametrize("linear", [True, False])
def test_second_derivatives_of_every_engine_are_those_of_the_definition_or_refused(mask, score, return_lse, linear):
    """D06: none is silently another one, also where the gradient that comes in is a constant."""
    sizes = Sizes(2, 2, 5, 6)
    arguments = {"mask": MASKS[mask].make(sizes), "score": SCORES[score].make(sizes), "return_lse": return_lse}
    given = operands(sizes, 1)

    def second(engine):
        result = hw.attention(*given, **arguments, engine=engine)
        output, lse = result if return_lse else (result, torch.zeros(1))
        lse = torch.where(lse.isfinite(), lse, 0)
        loss = output.sum() + lse.sum() if linear else output.square().sum() + lse.square().sum()
        first = torch.autograd.grad(loss, given, create_graph=True)
        return torch.autograd.grad(sum(grad.square().sum() for grad in first), given)

    wanted = second("reference")
    for engine in {"auto", *able(*given, **arguments)} - {"reference"}:
        try:
            found = second(engine)
        except hw.EngineRefused as refused:
            assert "has first derivatives in reverse mode only" in str(refused)
            continue
        for one, other in zip(found, wanted, strict=True):
            close(one, other, 1e-9, rtol=1e-9)


@forward_derivatives
def test_sdpa_refuses_forward_derivatives_in_a_sentence():
    """D06."""
    query, key, value = operands(SMALL, 2, requires_grad=False)
    with pytest.raises(
        hw.EngineRefused, match=r"a second or a forward-mode derivative was asked for.*engine='reference'"
    ):
        torch.func.jvp(lambda given: hw.attention(given, key, value, engine="sdpa"), (query,), (query,))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("wanted", [(0,), (1,), (2,), (0, 2), (1, 2)], ids=str)
def test_gradients_of_some_operands_are_those_among_all(engine, wanted):
    """A frozen query, key or value changes nothing for the others."""
    given = operands(Sizes(2, 4, 5, 5), 2)
    whole = torch.autograd.grad(hw.attention(*given, mask=hw.Causal(), engine=engine).square().sum(), given)
    some = [tensor.detach().requires_grad_(place in wanted) for place, tensor in enumerate(given)]
    hw.attention(*some, mask=hw.Causal(), engine=engine).square().sum().backward()
    for place, tensor in enumerate(some):
        if place in wanted:
            close(tensor.grad, whole[place], 1e-12)
        else:
            assert tensor.grad is None


@pytest.mark.parametrize("frozen", [True, False])
@pytest.mark.parametrize("engine", ["auto", *ENGINES])
def test_gradients_reach_captured_tensors_of_every_shape(engine, frozen):
    """A11: a scalar, a number a head and a table, captured by a score function; on CPU; with and without frozen operands."""
    sizes = Sizes(2, 4, 5, 7)
    given = operands(sizes, 2, requires_grad=not frozen)
    scalar, head, table = torch.tensor(0.3), torch.randn(4), torch.randn(13)
    captured = [tensor.double().requires_grad_() for tensor in (scalar, head, table)]

    def score(s, b, h, i, j):
        return s + captured[0] * (i - j) + captured[1][h] * s + captured[2][i - j + 6]

    if engine not in ("auto", *able(*given, mask=hw.Causal(), score=score)):
        pytest.skip("refused")
    output = hw.attention(*given, mask=hw.Causal(), score=score, engine=engine)
    pairs = make_pairs(*sizes)
    distance = pairs.i_slot - pairs.j_slot
    wanted, _ = attend(
        *given,
        pairs,
        sees=lambda p: p.j <= p.i,
        score=lambda s, p: s + captured[0] * distance + captured[1][p.h] * s + captured[2][distance + 6],
    )
    close(output, wanted, 1e-12)
    found = torch.autograd.grad(output.square().sum(), captured)
    for one, right in zip(found, torch.autograd.grad(wanted.square().sum(), captured), strict=True):
        close(one, right, 1e-11)


@pytest.mark.parametrize("shape", [(5, 7), (1, 7), (2, 4, 5, 7), (1, 4, 1, 7), (2, 1, 5, 1)], ids=str)
@pytest.mark.parametrize("engine", ENGINES)
def test_gradients_reach_a_bias_of_every_shape(engine, shape):
    sizes = Sizes(2, 4, 5, 7)
    given = operands(sizes, 2, requires_grad=False)
    bias = nn.Parameter(torch.randn(shape, dtype=torch.float64))
    output, lse = hw.attention(*given, mask=hw.Causal(), score=hw.Bias(bias), engine=engine, return_lse=True)
    wanted, right = attend(*given, make_pairs(*sizes), sees=lambda p: p.j <= p.i, score=lambda s, p: s + bias)
    (found,) = torch.autograd.grad(output.square().sum() + lse.square().sum(), bias)
    close(found, torch.autograd.grad(wanted.square().sum() + right.square().sum(), bias)[0], 1e-11)


@pytest.mark.parametrize("engine", ENGINES)
def test_gradients_reach_tensors_that_are_not_leaves(engine):
    base = torch.randn(2, 2, 4, 6, dtype=torch.float64, requires_grad=True)
    hw.attention(base * 2, base.flip(2), base.transpose(2, 3).flip(2).transpose(2, 3), engine=engine).sum().backward()
    other = base.detach().requires_grad_()
    attend(other * 2, other.flip(2), other.transpose(2, 3).flip(2).transpose(2, 3), make_pairs(2, 2, 4, 4))[
        0
    ].sum().backward()
    close(base.grad, other.grad, 1e-12)


@pytest.mark.parametrize("rule", ["mask", "score", "both"])
def test_every_rule_trains_on_cpu(rule):
    """A10: a function as mask or score, forward and backward, for tensors that need gradients."""
    given = operands(Sizes(1, 2, 8, 8), 2, features=16)
    mask = None if rule == "score" else lambda b, h, i, j: (i - j) % 3 != 1
    score = None if rule == "mask" else lambda s, b, h, i, j: s * 0.9 - (i - j).abs()
    hw.attention(*given, mask=mask, score=score).sum().backward()
    assert all(tensor.grad.isfinite().all() for tensor in given)
    assert all(tensor.grad.abs().sum() > 0 for tensor in given[2:])


@pytest.mark.parametrize("engine", ENGINES)
def test_dropout_drops_the_same_weights_in_the_backward_pass(engine):
    """The output is linear in the values, so their gradient, applied to them, gives the output's sum again."""
    query, key, value = operands(Sizes(1, 2, 40, 40), 2)
    output = hw.attention(query, key, value, dropout=0.5, engine=engine)
    (grad,) = torch.autograd.grad(output.sum(), value)
    close((grad * value).sum(), output.sum(), 1e-9)


@pytest.mark.parametrize("engine", ENGINES)
def test_runs_are_equal_to_the_last_bit(engine):
    """D10: thirty runs, output and gradients, on one thread; also a batch against its sequences alone, where it is claimed: reference."""
    given = operands(Sizes(4, 2, 17, 17), 1, dtype=torch.float32)
    runs = []
    for _ in range(30):
        output = hw.attention(*given, mask=hw.Causal(), engine=engine)
        runs.append((output, *torch.autograd.grad(output.sum(), given)))
    for run in runs[1:]:
        assert all(torch.equal(one, first) for one, first in zip(run, runs[0], strict=True))


@pytest.mark.parametrize("engine", ENGINES)
def test_results_do_not_depend_on_earlier_calls(engine):
    """P12: lengths 12, 13, 11 and 12 again; then other heads, other types and other masks in between."""

    def run(length, heads=2, dtype=torch.float64):
        torch.manual_seed(length)
        given = operands(Sizes(1, heads, length, length), 1, dtype=dtype, requires_grad=False)
        return hw.attention(*given, mask=hw.Causal(), score=hw.Alibi(heads), engine=engine)

    first = {length: run(length) for length in (12, 13, 11)}
    for length in (13, 11, 12):
        run(length, heads=4)
        run(length, dtype=torch.float32)
        assert torch.equal(run(length), first[length])
