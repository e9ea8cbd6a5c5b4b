"""The same numbers as PyTorch's own attention, where both have an answer."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.attention.bias import causal_lower_right

import headwise as hw
from support.engines import ENGINES

engines = pytest.mark.parametrize("engine", ENGINES)


def operands(queries=7, keys=7, heads=4, groups=4, batch=2):
    shapes = ((batch, heads, queries, 8), (batch, groups, keys, 8), (batch, groups, keys, 8))
    return [torch.randn(shape, dtype=torch.float64, requires_grad=True) for shape in shapes]


def same(found, wanted, given):
    """Output and gradients."""
    torch.testing.assert_close(found, wanted, atol=1e-12, rtol=0)
    weights = torch.randn_like(found)
    ours, theirs = (torch.autograd.grad((output * weights).sum(), given) for output in (found, wanted))
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other, atol=1e-11, rtol=0)


@engines
def test_plain_attention_equals_sdpa(engine):
    given = operands(5, 9)
    same(hw.attention(*given, engine=engine), F.scaled_dot_product_attention(*given), given)


@engines
def test_causal_attention_equals_sdpa_where_both_conventions_agree(engine):
    given = operands()
    wanted = F.scaled_dot_product_attention(*given, is_causal=True)
    same(hw.attention(*given, mask=hw.Causal(), engine=engine), wanted, given)


@engines
def test_causal_attention_over_more_keys_is_lower_right(engine):
    """M03."""
    given = operands(3, 9)
    wanted = F.scaled_dot_product_attention(*given, attn_mask=causal_lower_right(3, 9))
    same(hw.attention(*given, mask=hw.Causal(), engine=engine), wanted, given)


@engines
def test_a_bool_tensor_means_in_a_mask_what_it_means_in_sdpa(engine):
    """M09: True = may see, in both."""
    given, mask = operands(5, 9), torch.rand(2, 4, 5, 9) > 0.3
    mask[..., 0] = True
    wanted = F.scaled_dot_product_attention(*given, attn_mask=mask)
    same(hw.attention(*given, mask=mask, engine=engine), wanted, given)


@engines
def test_a_float_tensor_is_a_bias_and_is_added_as_in_sdpa(engine):
    given, bias = operands(5, 9), torch.randn(5, 9, dtype=torch.float64)
    wanted = F.scaled_dot_product_attention(*given, attn_mask=bias)
    same(hw.attention(*given, score=hw.Bias(bias), engine=engine), wanted, given)


@engines
def test_grouped_heads_and_scale_are_those_of_sdpa(engine):
    given = operands(heads=6, groups=2)
    wanted = F.scaled_dot_product_attention(*given, enable_gqa=True, scale=0.7)
    same(hw.attention(*given, scale=0.7, engine=engine), wanted, given)


def moved(module, bias=True):
    """A layer of ours with the weights of an `nn.MultiheadAttention`."""
    width, heads = module.embed_dim, module.num_heads
    layer = hw.MultiHeadAttention(width, heads, bias=bias).double()
    weights = module.in_proj_weight.chunk(3)
    for place, part in enumerate((layer.query, layer.key, layer.value)):
        part.linear.weight.data.copy_(weights[place])
        if bias:
            part.linear.bias.data.copy_(module.in_proj_bias.chunk(3)[place])
    layer.output.load_state_dict(module.out_proj.state_dict())
    return layer


@pytest.mark.parametrize("bias", [True, False])
def test_the_layer_equals_multihead_attention(bias):
    module = nn.MultiheadAttention(12, 3, bias=bias, batch_first=True, dtype=torch.float64)
    layer = moved(module, bias)
    if bias:
        nn.init.normal_(layer.output.bias)
        module.out_proj.bias.data.copy_(layer.output.bias)
    x, context = torch.randn(2, 5, 12, dtype=torch.float64), torch.randn(2, 8, 12, dtype=torch.float64)
    for inputs in ((x, x, x), (x, context, context)):
        layer.keep_attention = True
        wanted, weights = module(*inputs, average_attn_weights=False)
        torch.testing.assert_close(layer(*inputs), wanted, atol=1e-12, rtol=0)
        torch.testing.assert_close(layer.attn, weights, atol=1e-12, rtol=0)


def test_masks_of_multihead_attention_are_converted_by_name():
    """M09: True = hidden there; padding and pairs together."""
    module = nn.MultiheadAttention(12, 3, batch_first=True, dtype=torch.float64)
    layer, x = moved(module), torch.randn(2, 5, 12, dtype=torch.float64)
    hidden = torch.ones(5, 5, dtype=torch.bool).triu(1)
    padded = torch.tensor([[False] * 5, [False] * 3 + [True] * 2])
    wanted, _ = module(x, x, x, attn_mask=hidden, key_padding_mask=padded)
    found = layer(x, mask=hw.Dense.from_mha(hidden) & hw.Padding(~padded))
    torch.testing.assert_close(found, wanted, atol=1e-12, rtol=0)
