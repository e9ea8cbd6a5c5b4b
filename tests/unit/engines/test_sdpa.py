"""The fused kernel against the definition: flags, masks, groups, lse, and what it refuses."""

import pytest
import torch
import torch.nn.functional as F

import headwise as hw
from headwise.engines.sdpa import Sdpa
from unit.engines.compare import assert_defined, operands

RUN = Sdpa().run


def keep_of(batch: int, keys: int, *, keyless: bool = False) -> torch.Tensor:
    keep = torch.arange(keys) >= torch.arange(batch)[:, None] * 5
    keep[0, 7] = False
    if keyless:
        keep[-1] = False
    return keep


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("kv_heads", [4, 2, 1])
@pytest.mark.parametrize("mask", ["full", "causal", "padding", "causal padding", "keyless"])
def test_fused_kernel_equals_the_definition(mask: str, kv_heads: int, dtype: torch.dtype) -> None:
    masks = {
        "full": hw.Full(),
        "causal": hw.Causal(),
        "padding": hw.Padding(keep_of(2, 37)),
        "causal padding": hw.Causal() & hw.Padding(keep_of(2, 37)),
        "keyless": hw.Causal() & hw.Padding(keep_of(2, 37, keyless=True)),
    }
    assert_defined(RUN, operands(kv_heads=kv_heads, dtype=dtype), mask=masks[mask])


@pytest.mark.parametrize(("queries", "keys"), [(5, 19), (19, 5), (1, 19), (19, 1), (1, 1)])
def test_causal_order_is_lower_right(queries: int, keys: int) -> None:
    assert_defined(RUN, operands(queries=queries, keys=keys), mask=hw.Causal())


def test_values_of_another_width_need_no_other_engine() -> None:
    assert_defined(RUN, operands(values=5), mask=hw.Causal())
    assert_defined(RUN, operands(values=11), mask=hw.Causal() & hw.Padding(keep_of(2, 37)))


def test_learned_bias_gets_its_gradient_with_and_without_the_lse() -> None:
    bias = torch.randn(37, 37, requires_grad=True)
    found = assert_defined(RUN, operands(), (bias,), score=hw.Bias(bias), mask=hw.Causal())
    query, key, value = operands()
    output = hw.attention(query, key, value, score=hw.Bias(bias), mask=hw.Causal(), engine="sdpa")
    (grad,) = torch.autograd.grad((output * torch.linspace(-1, 1, output.numel()).view_as(output)).sum(), bias)
    assert grad.abs().sum() > 0 and found["gradient of learned 0"].abs().sum() > 0


def test_causal_padding_without_lse_equals_that_with_it() -> None:
    mask = hw.Causal() & hw.Padding(keep_of(2, 37))
    tensors = operands()
    alone = hw.attention(*tensors, mask=mask, engine="sdpa")
    together, _ = hw.attention(*tensors, mask=mask, engine="sdpa", return_lse=True)
    torch.testing.assert_close(alone, together)


# PyTorch itself warns of `torch.jit.script` when it first computes forward-mode derivatives.
@pytest.mark.filterwarnings("ignore:.torch.jit.script")
def test_second_and_forward_derivatives_are_refused_in_one_sentence() -> None:
    query, key, value = operands(dtype=torch.float64)
    (grad,) = torch.autograd.grad(hw.attention(query, key, value, engine="sdpa").sum(), query, create_graph=True)
    with pytest.raises(hw.EngineRefused, match="first derivatives in reverse mode only"):
        grad.pow(2).sum().backward()
    with pytest.raises(hw.EngineRefused, match="first derivatives in reverse mode only"):
        torch.func.jvp(lambda q: hw.attention(q, key, value, engine="sdpa"), (query.detach(),), (query.detach(),))


def test_broken_query_shows_and_hidden_slots_do_not() -> None:
    query, key, value = (tensor.detach() for tensor in operands())
    query[0, 0, 3] = torch.nan
    output = hw.attention(query, key, value, mask=hw.Causal(), engine="sdpa")
    assert output[0, 0, 3].isnan().all() and output[0, 1].isfinite().all()
    query, key, value = (tensor.detach() for tensor in operands())
    key[1, :, :5], value[1, :, :5] = torch.nan, torch.inf
    output = hw.attention(query, key, value, mask=hw.Causal() & hw.Padding(keep_of(2, 37)), engine="sdpa")
    assert output.isfinite().all()


def test_plain_call_gives_the_bits_of_pytorch() -> None:
    tensors = operands()
    assert torch.equal(hw.attention(*tensors), F.scaled_dot_product_attention(*tensors))
