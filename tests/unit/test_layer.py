"""The facts of the layer: what it computes, one clause a test."""

import math

import pytest
import torch
from torch import nn

import headwise as hw
from support.engines import ENGINES


def make(d_model=12, heads=3, **options):
    return hw.MultiHeadAttention(d_model, heads, **options).double()


def tokens(length=5, batch=2, width=12):
    return torch.randn(batch, length, width, dtype=torch.float64)


def close(found, wanted, atol=1e-12):
    torch.testing.assert_close(found, wanted, atol=atol, rtol=0)


def by_hand(layer, x, context=None, visible=None):
    """Head by head, with matrices: the four steps of the paper."""
    context = x if context is None else context
    group = layer.heads // layer.kv_heads
    parts = []
    for head in range(layer.heads):
        q = layer.query(x)[:, :, head]
        k, v = layer.key(context)[:, :, head // group], layer.value(context)[:, :, head // group]
        scores = q @ k.transpose(1, 2) / math.sqrt(layer.head_dim)
        if visible is not None:
            scores = scores.masked_fill(~visible, -math.inf)
        parts.append(scores.softmax(dim=-1) @ v)
    return layer.output(torch.cat(parts, dim=-1))


def test_the_layer_is_project_split_attend_join_project():
    layer, x = make(), tokens()
    close(layer(x), by_hand(layer, x))


def test_scores_are_scaled_by_the_root_of_head_dim():
    """The factor is that of head_dim, not of d_model, of value_dim or of the heads."""
    layer, x = make(head_dim=7, value_dim=2), tokens()
    layer.keep_attention = True
    layer(x)
    q, k = layer.query(x).transpose(1, 2), layer.key(x).transpose(1, 2)
    close(layer.attn, (q @ k.transpose(2, 3) / 7**0.5).softmax(-1))


def test_softmax_runs_along_the_keys():
    layer, x, context = make(), tokens(5), tokens(8)
    layer.keep_attention = True
    layer(x, context)
    assert layer.attn.shape == (2, 3, 5, 8)
    close(layer.attn.sum(-1), torch.ones(2, 3, 5, dtype=torch.float64))
    assert (layer.attn.sum(-2) - 1).abs().max() > 0.1


def test_without_key_the_layer_attends_to_itself():
    layer, x = make(), tokens()
    close(layer(x), layer(x, x))
    close(layer(x), layer(x, x, x))


def test_without_value_values_come_from_the_keys():
    layer, x, context = make(), tokens(), tokens(7)
    close(layer(x, context), layer(x, context, context))
    close(layer(x, context), by_hand(layer, x, context))


def test_values_may_come_from_elsewhere():
    layer, x, context, other = make(), tokens(), tokens(7), tokens(7)
    assert not torch.allclose(layer(x, context), layer(x, context, other))
    weights = layer.query(x).transpose(1, 2) @ layer.key(context).permute(0, 2, 3, 1) / 2
    mixed = weights.softmax(-1) @ layer.value(other).transpose(1, 2)
    close(layer(x, context, other), layer.output(mixed.transpose(1, 2).flatten(-2)))


def test_heads_are_joined_in_order_before_the_output_map():
    layer, x = make(bias=False), tokens()
    with torch.no_grad():
        layer.output.weight.copy_(torch.eye(12))
    joined = layer(x).unflatten(-1, (3, 4))
    for head in range(3):
        q, k, v = (part(x)[:, :, head] for part in (layer.query, layer.key, layer.value))
        close(joined[:, :, head], (q @ k.transpose(1, 2) / 2).softmax(-1) @ v)


@pytest.mark.parametrize("kv_heads", [1, 2, 3, 6])
def test_each_key_head_serves_a_run_of_query_heads(kv_heads):
    layer, x = make(heads=6, kv_heads=kv_heads), tokens()
    assert layer.key.linear.out_features == kv_heads * 2
    close(layer(x), by_hand(layer, x))


def test_grouped_heads_are_probed_by_one_constant_each():
    """Key head g has the value g everywhere, so a query head says which one serves it."""
    value = torch.arange(3.0)[None, :, None, None].expand(1, 3, 4, 1).contiguous()
    for engine in ENGINES:
        output = hw.attention(torch.randn(1, 6, 5, 1), torch.randn(1, 3, 4, 1), value, engine=engine)
        torch.testing.assert_close(output[0, :, 0, 0], torch.tensor([0.0, 0.0, 1.0, 1.0, 2.0, 2.0]))


def test_widths_of_heads_values_and_context_are_independent():
    layer = make(12, 3, head_dim=5, value_dim=7, context_dim=9)
    shapes = {name: tuple(parameter.shape) for name, parameter in layer.named_parameters()}
    assert shapes["query.linear.weight"] == (15, 12)
    assert shapes["key.linear.weight"] == (15, 9)
    assert shapes["value.linear.weight"] == (21, 9)
    assert shapes["output.weight"] == (12, 21)
    x, context = tokens(), tokens(8, width=9)
    assert layer(x, context).shape == (2, 5, 12)
    close(layer(x, context), by_hand(layer, x, context))


@pytest.mark.parametrize(
    ("bias", "biased"),
    [
        (True, {"query", "key", "value", "output"}),
        (False, set()),
        (("query", "value"), {"query", "value"}),
        ("output", {"output"}),
        ((), set()),
    ],
)
def test_each_projection_has_a_bias_or_none(bias, biased):
    layer, x = make(bias=bias), tokens()
    parts = {"query": layer.query.linear, "key": layer.key.linear, "value": layer.value.linear, "output": layer.output}
    assert {name for name, part in parts.items() if part.bias is not None} == biased
    close(layer(x), by_hand(layer, x))


def test_projections_are_called_as_submodules():
    """Hooks fire, so adapters and quantisation work: each projection once, with the tensor that it maps."""
    layer, x, context, calls = make(), tokens(), tokens(7), []
    for name, part in layer.named_modules():
        if isinstance(part, nn.Linear | hw.PrepareForMultiHeadAttention):
            part.register_forward_hook(
                lambda module, given, result, name=name: calls.append((name, tuple(result.shape)))
            )
    layer(x, context)
    assert sorted(calls) == [
        ("key", (2, 7, 3, 4)),
        ("key.linear", (2, 7, 12)),
        ("output", (2, 5, 12)),
        ("query", (2, 5, 3, 4)),
        ("query.linear", (2, 5, 12)),
        ("value", (2, 7, 3, 4)),
        ("value.linear", (2, 7, 12)),
    ]


def test_a_projection_may_be_replaced():
    class LowRank(nn.Module):
        def __init__(self, base):
            super().__init__()
            self.base, self.down, self.up = base, nn.Linear(12, 2).double(), nn.Linear(2, 12).double()

        def forward(self, x):
            return self.base(x) + self.up(self.down(x))

    layer, x = make(), tokens()
    layer.query.linear, layer.key.linear = LowRank(layer.query.linear), LowRank(layer.key.linear)
    close(layer(x), by_hand(layer, x))
    layer(x).sum().backward()
    assert layer.key.linear.up.weight.grad.abs().sum() > 0


def test_norms_of_queries_and_keys_act_on_each_head():
    layer, x = make(qk_norm=nn.RMSNorm), tokens()
    layer.keep_attention = True
    layer(x)

    def normed(y):
        return (y / (y.square().mean(-1, keepdim=True) + torch.finfo(y.dtype).eps).sqrt()).transpose(1, 2)

    scores = normed(layer.query(x)) @ normed(layer.key(x)).transpose(2, 3) / 2
    close(layer.attn, scores.softmax(-1))


def test_layers_start_with_different_weights_and_zero_biases():
    one, two = make(), make()
    assert not torch.equal(one.query.linear.weight, two.query.linear.weight)
    assert not torch.equal(one.query.linear.weight, one.key.linear.weight)
    assert one.query.linear.bias.eq(0).all()
    assert one.output.bias.eq(0).all()


def test_state_dict_keys_are_those_of_the_classic_annotated_implementation():
    assert list(make(bias=("value", "output")).state_dict()) == [
        "query.linear.weight",
        "key.linear.weight",
        "value.linear.weight",
        "value.linear.bias",
        "output.weight",
        "output.bias",
    ]


def test_weights_of_a_classic_layer_load_as_they_are_and_give_its_numbers():
    class Prepare(nn.Module):
        def __init__(self, d_model, heads, d_k, bias):
            super().__init__()
            self.linear, self.heads, self.d_k = nn.Linear(d_model, heads * d_k, bias=bias), heads, d_k

        def forward(self, x):
            return self.linear(x).view(*x.shape[:-1], self.heads, self.d_k)

    class Classic(nn.Module):
        """Sequence first, scores `[i, j, b, h]`, softmax over axis 1, as annotated code of the kind does it."""

        def __init__(self, heads, d_model):
            super().__init__()
            d_k = d_model // heads
            self.query, self.key = Prepare(d_model, heads, d_k, True), Prepare(d_model, heads, d_k, True)
            self.value = Prepare(d_model, heads, d_k, True)
            self.output, self.scale = nn.Linear(d_model, d_model), d_k**-0.5

        def forward(self, query, key, value, mask):
            q, k, v = self.query(query), self.key(key), self.value(value)
            scores = torch.einsum("ibhd,jbhd->ijbh", q, k) * self.scale
            weights = scores.masked_fill(mask[..., None] == 0, -math.inf).softmax(dim=1)
            return self.output(torch.einsum("ijbh,jbhd->ibhd", weights, v).flatten(-2))

    classic = Classic(3, 12).double()
    layer = make(batch_first=False)
    layer.load_state_dict(classic.state_dict(), strict=True)
    x, context = torch.randn(5, 2, 12).double(), torch.randn(7, 2, 12).double()
    mask = torch.rand(5, 7, 2) > 0.3
    mask[:, 0] = True
    close(layer(query=x, key=context, value=context, mask=mask), classic(x, context, context, mask))
