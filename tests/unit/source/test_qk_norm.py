"""Normalised queries and keys: their formulas, their place, and that everything else goes on working."""

import pytest
import torch

from headwise.cache import KVCache
from headwise.errors import HeadwiseError
from headwise.layer import MultiHeadAttention
from headwise.mask.causal import Causal
from headwise.position import Rotary
from headwise.source.qk_norm import QK_NORMS, make_qk_norm

EACH = pytest.mark.parametrize("name", QK_NORMS)


def rms(x):
    return x / (x.square().mean(-1, keepdim=True) + 1e-6).sqrt()


def standard(x):
    return (x - x.mean(-1, keepdim=True)) / (x.var(-1, keepdim=True, correction=0) + 1e-5).sqrt()


FORMULAS = {
    "rms": rms,
    "layer": standard,
    "l2": lambda x: x / x.norm(dim=-1, keepdim=True) * 10**0.5 * x.shape[-1] ** 0.25,
    "rms_full": lambda x: rms(x.flatten(-2)).view_as(x),
    "layer_full": lambda x: standard(x.flatten(-2)).view_as(x),
}


def layer(**options):
    torch.manual_seed(0)
    return MultiHeadAttention(16, 4, kv_heads=2, mask=Causal(), position=Rotary, **options).double().eval()


@EACH
def test_values_equal_the_formula(name):
    x = torch.randn(2, 5, 4, 6, dtype=torch.float64)
    norm = make_qk_norm(name, 4, 6).double()
    torch.testing.assert_close(norm(x), FORMULAS[name](x), atol=1e-12, rtol=1e-6)


@EACH
def test_queries_and_keys_are_normalised_before_they_turn(name):
    norm, plain = layer(qk_norm=name), layer()
    plain.load_state_dict({key: value for key, value in norm.state_dict().items() if "norm" not in key})
    plain.query.register_forward_hook(lambda _, __, out: FORMULAS[name](out))
    plain.key.register_forward_hook(lambda _, __, out: FORMULAS[name](out))
    x = torch.randn(2, 5, 16, dtype=torch.float64)
    torch.testing.assert_close(norm(x), plain(x), atol=1e-7, rtol=1e-6)
    assert not torch.allclose(norm(x), layer()(x))


@EACH
def test_scores_do_not_grow_with_the_weights(name):
    module, x = layer(qk_norm=name), torch.randn(2, 5, 16, dtype=torch.float64)
    before = module(x)
    with torch.no_grad():
        for part in (module.query, module.key):
            part.linear.weight *= 1000
            part.linear.bias.zero_()
    torch.testing.assert_close(module(x), before, atol=1e-3, rtol=1e-3)


@EACH
def test_chunks_through_a_cache_equal_one_pass(name):
    module, x, cache = layer(qk_norm=name), torch.randn(2, 7, 16, dtype=torch.float64), KVCache()
    out = torch.cat([module(part, cache=cache) for part in x.split((3, 1, 3), dim=1)], dim=1)
    torch.testing.assert_close(out, module(x), atol=1e-12, rtol=0)


@EACH
def test_every_parameter_gets_a_gradient(name):
    module = layer(qk_norm=name)
    module(torch.randn(2, 5, 16, dtype=torch.float64)).square().sum().backward()
    assert [key for key, p in module.named_parameters() if p.grad is None] == []


@EACH
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_types_are_computed_in_float32(name, dtype):
    x = (torch.randn(2, 4, 8) * 300).to(dtype)
    norm = make_qk_norm(name, 4, 8)
    exact = norm.double()(x.double())
    out = norm.to(dtype)(x)
    assert out.dtype == dtype
    # The learned number of "l2" is rounded to the type as well, which costs as much as the result.
    assert (out.double() - exact).abs().max() <= 3 * (exact.to(dtype).double() - exact).abs().max()


def test_unit_vectors_give_cosines_times_the_temperature():
    norm = make_qk_norm("l2", 1, 64)
    q, k = norm(torch.randn(2, 9, 1, 64)).unbind(0)
    scores = torch.einsum("ihd,jhd->hij", q, k) / 8
    cosines = torch.nn.functional.cosine_similarity(q[:, None, 0], k[None, :, 0], dim=-1)
    torch.testing.assert_close(scores[0], 10 * cosines)


def test_a_norm_may_be_a_function_of_head_dim():
    module = MultiHeadAttention(16, 4, qk_norm=torch.nn.RMSNorm)
    assert module.query_norm.normalized_shape == (4,)
    with pytest.raises(HeadwiseError, match=r"qk_norm must be None, one of rms, layer.*got 'batch'"):
        MultiHeadAttention(16, 4, qk_norm="batch")
