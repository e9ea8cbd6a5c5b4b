"""What is hidden does not reach the output or a gradient, NaN included; what is visible and broken shows."""

import math

import pytest
import torch

import headwise as hw
from support.compare import able, close, gradients, operands
from support.engines import ENGINES
from support.parts import Sizes, keep
from support.probe import bits, probe, seen

SIZES = Sizes(3, 4, 6, 9)
BROKEN = [math.nan, math.inf, -math.inf]


@pytest.fixture(params=ENGINES)
def engine(request):
    return request.param


@pytest.mark.parametrize("broken", BROKEN)
@pytest.mark.parametrize("place", ["key", "value"])
@pytest.mark.parametrize("mask", ["padding", "causal and padding"])
def test_a_hidden_slot_never_leaks(engine, mask, place, broken):
    """M01 and M10: padded slots may hold anything; output and gradients are those of clean slots."""
    flags = keep(SIZES)
    rule = hw.Padding(flags) if mask == "padding" else hw.Causal() & hw.Padding(flags)
    query, key, value = operands(SIZES, 2)
    clean = hw.attention(query, key, value, mask=rule, engine="reference")
    wanted = gradients((query, key, value), clean)
    spoiled = {"key": key, "value": value}
    spoiled[place] = torch.where(flags[:, None, :, None], spoiled[place], broken).detach().requires_grad_()
    tensors = (query, spoiled["key"], spoiled["value"])
    output = hw.attention(*tensors, mask=rule, engine=engine)
    close(output, clean, 1e-12)
    for found, right in zip(gradients(tensors, output), wanted, strict=True):
        close(found, right, 1e-11)


@pytest.mark.parametrize("place", ["key", "value"])
@pytest.mark.parametrize("engine", ["reference", "blockwise"])
def test_a_nan_hidden_pairwise_is_contained(engine, place):
    """A NaN in the last key is seen by the last query only, under a causal mask; the other rows do not notice."""
    query, key, value = operands(Sizes(2, 2, 5, 5), 1)
    spoiled = {"key": key.detach().clone(), "value": value.detach().clone()}
    spoiled[place][:, :, 4, 1] = math.nan
    tensors = (query, spoiled["key"], spoiled["value"])
    output = hw.attention(*tensors, mask=hw.Causal(), engine=engine)
    assert output[:, :, 4].isnan().any()
    clean = hw.attention(query, key, value, mask=hw.Causal(), engine="reference")
    close(output[:, :, :4], clean[:, :, :4], 1e-13)
    wanted, found = (torch.autograd.grad(rows[:, :, :4].square().sum(), query)[0] for rows in (clean, output))
    close(found[:, :, :4], wanted[:, :, :4], 1e-12)


@pytest.mark.parametrize("place", ["key", "value"])
@pytest.mark.parametrize("engine", ["reference", "blockwise"])
def test_a_nan_that_nobody_sees_spoils_no_gradient(engine, place):
    """Hidden pair by pair, from every query: under a strictly causal mask nobody sees the last key."""
    query, key, value = operands(Sizes(2, 2, 5, 5), 1)
    mask = torch.ones(5, 5, dtype=torch.bool).tril(-1)
    clean = hw.attention(query, key, value, mask=mask, engine="reference")
    wanted = gradients((query, key, value), clean)
    spoiled = {"key": key.detach().clone(), "value": value.detach().clone()}
    spoiled[place][:, :, 4, 1] = math.nan
    tensors = (query, spoiled["key"].requires_grad_(), spoiled["value"].requires_grad_())
    output = hw.attention(*tensors, mask=mask, engine=engine)
    close(output, clean, 1e-13)
    for found, right in zip(gradients(tensors, output), wanted, strict=True):
        close(found, right, 1e-12)


@pytest.mark.parametrize("broken", BROKEN)
@pytest.mark.parametrize("gradient", [True, False])
def test_a_broken_query_shows(engine, broken, gradient):
    """M15: a NaN query gives NaN, never a silent 0; the other rows do not notice."""
    query, key, value = operands(Sizes(1, 2, 4, 4), 2, requires_grad=False)
    clean = hw.attention(query, key, value, engine=engine)
    query[0, 1, 2] = broken
    output = hw.attention(query.requires_grad_(gradient), key, value, engine=engine)
    assert output[0, 1, 2].isnan().all()
    rows = torch.ones(1, 2, 4, dtype=torch.bool)
    rows[0, 1, 2] = False
    close(output[rows], clean[rows], 1e-12)


@pytest.mark.parametrize("place", ["key", "value"])
def test_a_visible_broken_key_or_value_shows(engine, place):
    tensors = dict(zip(("query", "key", "value"), operands(Sizes(1, 2, 4, 4), 1, requires_grad=False), strict=True))
    tensors[place][0, 0, 1] = math.nan
    output = hw.attention(**tensors, mask=hw.Causal(), engine=engine)
    assert output[:, :, 1:].isnan().all()


def test_a_nan_query_without_any_key_is_0(engine):
    """M15: whether a row has keys is asked of the mask alone."""
    query, key, value = operands(Sizes(1, 1, 2, 3), 1, requires_grad=False)
    query[0, 0, 0] = math.nan
    mask = torch.tensor([[False, False, False], [True, True, False]])
    output = hw.attention(query, key, value, mask=mask, engine=engine)
    assert output[0, 0, 0].eq(0).all()
    assert output[0, 0, 1].isfinite().all()


@pytest.mark.parametrize("gradient", [True, False])
def test_keyless_rows_are_0_with_finite_gradients(engine, gradient):
    """M04 and M13: rows without a key are 0, their lse is -inf, and their neighbours do not notice."""
    query, key, value = operands(Sizes(2, 2, 5, 5), 2, requires_grad=gradient)
    mask = torch.ones(5, 5, dtype=torch.bool).tril() & (torch.arange(5) != 1)[:, None]
    output = hw.attention(query, key, value, mask=mask, engine=engine)
    assert output[:, :, 1].eq(0).all()
    rows = [0, 2, 3, 4]
    close(output[:, :, rows], hw.attention(query, key, value, mask=hw.Causal(), engine="reference")[:, :, rows], 1e-12)
    if gradient:
        found = gradients((query, key, value), output)
        assert all(gradient.isfinite().all() for gradient in found)
        assert found[0][:, :, 1].eq(0).all()
    if engine in able(query, key, value, mask=mask, return_lse=True):
        _, lse = hw.attention(query, key, value, mask=mask, engine=engine, return_lse=True)
        assert (lse == -math.inf).nonzero()[:, 2].unique().tolist() == [1]


def test_wholly_hidden_row_is_no_mean_of_all_keys(engine):
    """M13: the lowest finite number as a mask would give 15/4, the future included."""
    mask = torch.ones(4, 4, dtype=torch.bool).tril()
    mask[1] = False
    output = hw.attention(*probe(4, 4), mask=mask, engine=engine)
    assert output[0, 0, :, 0].tolist() == pytest.approx([1.0, 0.0, 7 / 3, 15 / 4])


def test_no_key_at_all_gives_0(engine):
    query, key, value = operands(Sizes(2, 2, 3, 0), 1)
    if engine not in able(query, key, value):
        pytest.skip("refused, which is an answer too")
    output = hw.attention(query, key, value, engine=engine)
    assert output.shape == (2, 2, 3, 6)
    assert output.eq(0).all()
    assert all(found.isfinite().all() for found in gradients((query, key, value), output))


@pytest.mark.parametrize("sizes", [Sizes(0, 2, 3, 4), Sizes(2, 2, 0, 4), Sizes(1, 2, 0, 0)], ids=str)
def test_empty_axes_give_empty_results(sizes):
    query, key, value = operands(sizes, 2)
    for mask in (
        None,
        hw.Causal(),
        lambda b, h, i, j: i > j,
        hw.Padding(keep(Sizes(3, 2, 0, sizes.keys))[: sizes.batch]),
    ):
        if isinstance(mask, hw.Padding) and mask.keep.shape[0] != sizes.batch:
            continue
        output = hw.attention(query, key, value, mask=mask)
        assert output.shape == (sizes.batch, 2, sizes.queries, 6)
        output.sum().backward()


def test_probe_names_the_keys_of_each_query(engine):
    """The probe itself: the bit set of a row is the table of its mask."""
    mask = hw.Window(3) | (lambda b, h, i, j: j == 0)
    output = hw.attention(*probe(4, 6, heads=2, groups=1), mask=mask, engine=engine)
    visible = mask.table(4, 6).visible[0, 0]
    assert torch.equal(seen(output, visible.sum(-1))[0, 1], bits(visible))
