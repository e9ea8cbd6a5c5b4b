"""How tensors lie in memory, and which of them are empty, changes no number."""

import math

import pytest
import torch

import headwise as hw
from support.compare import able, close, gradients
from support.engines import ENGINES
from support.oracle import attend, make_pairs

engines = pytest.mark.parametrize("engine", ENGINES)


def plain(*shape):
    return torch.randn(shape, dtype=torch.float64)


LAYOUTS = {
    "heads behind the sequence": lambda: tuple(plain(2, 5, 4, 8).transpose(1, 2) for _ in range(3)),
    "features in front": lambda: tuple(plain(2, 4, 8, 5).transpose(2, 3) for _ in range(3)),
    "values with features in front": lambda: (plain(2, 4, 5, 8), plain(2, 4, 5, 8), plain(2, 4, 8, 5).transpose(2, 3)),
    "every second feature": lambda: tuple(plain(2, 4, 5, 16)[..., ::2] for _ in range(3)),
    "every second key": lambda: (plain(2, 4, 5, 8), plain(2, 4, 10, 8)[:, :, ::2], plain(2, 4, 10, 8)[:, :, 1::2]),
    "one batch for all": lambda: (plain(2, 4, 5, 8), *(plain(1, 4, 5, 8).expand(2, -1, -1, -1) for _ in range(2))),
    "one head for all": lambda: (plain(2, 4, 5, 8), *(plain(2, 1, 5, 8).expand(-1, 4, -1, -1) for _ in range(2))),
    "one key for all": lambda: (plain(2, 4, 5, 8), *(plain(2, 4, 1, 8).expand(-1, -1, 5, -1) for _ in range(2))),
    "one feature for all": lambda: tuple(plain(2, 4, 5, 1).expand(-1, -1, -1, 8) for _ in range(3)),
    "one tensor thrice": lambda: (plain(2, 4, 5, 8),) * 3,
    "parts of one tensor": lambda: plain(2, 5, 3, 4, 8).permute(2, 0, 3, 1, 4).unbind(0),
    "a view into a larger one": lambda: tuple(plain(3, 5, 9, 11)[1:, 1:, 2:7, 1:9] for _ in range(3)),
}


@engines
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("return_lse", [False, True])
@pytest.mark.parametrize("mask", ["none", "causal", "transposed", "expanded"])
def test_memory_layout_changes_no_number(engine, layout, return_lse, mask):
    """Output, lse and gradients; the mask, too, may lie anyhow."""
    given = [tensor.detach() for tensor in LAYOUTS[layout]()]
    table = torch.rand(5, 5) > 0.4
    rule = {
        "none": None,
        "causal": hw.Causal(),
        "transposed": table.T,
        "expanded": table[:1].expand(5, 5),
    }[mask]
    visible = {"none": torch.ones(5, 5, dtype=torch.bool), "causal": torch.ones(5, 5, dtype=torch.bool).tril()}
    visible = visible.get(mask, rule)
    leaves = [tensor.requires_grad_() for tensor in given]
    clean = [tensor.detach().clone(memory_format=torch.contiguous_format).requires_grad_() for tensor in given]
    result = hw.attention(*leaves, mask=rule, engine=engine, return_lse=return_lse)
    output, lse = result if return_lse else (result, None)
    wanted, right = attend(*clean, make_pairs(2, 4, 5, 5), sees=lambda p: visible)
    close(output, wanted, 1e-12)
    if return_lse:
        close(lse, right, 1e-12)
    expected = gradients(clean, wanted, right if return_lse else None)
    for found, one in zip(gradients(leaves, output, lse), expected, strict=True):
        close(found, one, 1e-11)


@engines
@pytest.mark.parametrize("return_lse", [False, True])
@pytest.mark.parametrize("layout", ["transposed", "expanded", "sliced"])
def test_memory_layout_of_a_bias_changes_no_number(engine, layout, return_lse):
    given = [plain(2, 4, 5, 8) for _ in range(3)]
    bias = {"transposed": plain(5, 5).T, "expanded": plain(5, 1).expand(5, 5), "sliced": plain(5, 10)[:, ::2]}[layout]
    for mask in (None, hw.Causal()):
        result = hw.attention(*given, mask=mask, score=hw.Bias(bias), engine=engine, return_lse=return_lse)
        sees = (lambda p: p.j <= p.i) if mask is not None else None
        wanted, lse = attend(*given, make_pairs(2, 4, 5, 5), sees=sees, score=lambda s, p: s + bias)
        close(result[0] if return_lse else result, wanted, 1e-12)
        if return_lse:
            close(result[1], lse, 1e-12)


@engines
@pytest.mark.parametrize("causal", [False, True])
def test_a_bias_of_minus_infinity_hides_a_pair(engine, causal):
    """Rows of nothing else are rows without keys: 0, with an lse of -inf and finite gradients, whether or not a mask hides more."""
    bias = torch.zeros(5, 5, dtype=torch.float64)
    bias[1] = -math.inf
    bias[3, ::2] = -math.inf
    visible = bias.isfinite()
    given = [plain(2, 4, 5, 8).requires_grad_() for _ in range(3)]
    mask = hw.Causal() if causal else None
    wanted, right = attend(*given, make_pairs(2, 4, 5, 5), sees=lambda p: visible & (p.j <= p.i if causal else True))
    output = hw.attention(*given, mask=mask, score=hw.Bias(bias), engine=engine)
    close(output, wanted, 1e-12)
    for found, one in zip(gradients(given, output), gradients(given, wanted), strict=True):
        close(found, one, 1e-11)
    _, lse = hw.attention(*given, mask=mask, score=hw.Bias(bias), engine=engine, return_lse=True)
    close(lse, right, 1e-12)


@engines
def test_inputs_are_left_as_they_were(engine):
    given = [plain(2, 4, 5, 8) for _ in range(3)]
    before = [tensor.clone() for tensor in given]
    keep = torch.tensor([[True] * 5, [False] * 2 + [True] * 3])
    flags = keep.clone()
    hw.attention(*given, mask=hw.Causal() & hw.Padding(keep), score=hw.Alibi(4), engine=engine)
    assert all(torch.equal(tensor, old) for tensor, old in zip(given, before, strict=True))
    assert torch.equal(keep, flags)


@engines
def test_the_output_is_no_view_of_an_input(engine):
    """With one key the output is the value; writing to it must not change the value."""
    query, key, value = plain(1, 1, 1, 4), plain(1, 1, 1, 4), plain(1, 1, 1, 4)
    before = value.clone()
    hw.attention(query, key, value, engine=engine).zero_()
    assert torch.equal(value, before)


@engines
@pytest.mark.parametrize("scale", [1, 1.0, -0.5, 0.0, 20.0])
def test_any_finite_scale_is_used_as_it_is(engine, scale):
    given = [plain(2, 4, 5, 8) for _ in range(3)]
    wanted, _ = attend(*given, make_pairs(2, 4, 5, 5), scale=scale)
    close(hw.attention(*given, scale=scale, engine=engine), wanted, 1e-11)


@engines
@pytest.mark.parametrize("mode", [torch.inference_mode, torch.no_grad])
def test_modes_without_gradients_give_the_same_numbers(engine, mode):
    given = [plain(2, 4, 5, 8).requires_grad_() for _ in range(3)]
    wanted = hw.attention(*given, mask=hw.Window(3), engine=engine)
    with mode():
        output = hw.attention(*given, mask=hw.Window(3), engine=engine)
    assert not output.requires_grad
    close(output, wanted.detach(), 1e-12)


@pytest.mark.parametrize("sizes", [(1, 0), (0, 1), (0, 0)], ids=str)
def test_empty_axes_have_a_lse_too(sizes):
    queries, keys = sizes
    output, lse = hw.attention(plain(2, 4, queries, 8), plain(2, 2, keys, 8), plain(2, 2, keys, 8), return_lse=True)
    assert output.shape == (2, 4, queries, 8)
    assert lse.shape == (2, 4, queries)
    assert output.eq(0).all()
    assert lse.eq(-math.inf).all()


@pytest.mark.parametrize("shape", [(2, 4, 3, 8), (2, 4, 3, 0)], ids=str)
@engines
def test_no_key_is_an_answer_or_a_refusal_and_never_a_crash(engine, shape):
    """The CPU kernel divides by the number of keys: called without any, it ends the process."""
    query, key, value = plain(2, 4, 3, 8), plain(2, 4, 0, 8), plain(2, 4, 0, shape[3])
    if engine in able(query, key, value):
        assert hw.attention(query, key, value, engine=engine).shape == shape
    else:
        with pytest.raises(hw.EngineRefused, match=r"no keys|empty"):
            hw.attention(query, key, value, engine=engine)
