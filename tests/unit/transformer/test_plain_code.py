"""The same models written out in plain PyTorch, or taken from it: equal numbers and gradients."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from headwise.mask.causal import Causal
from headwise.mask.padding import Padding
from headwise.transformer.autoregressive import AutoregressiveTransformer
from headwise.transformer.decoder import DecoderLayer
from headwise.transformer.layer import TransformerLayer


def plain_language_model(weights, tokens, heads, kv_heads, layers):
    """A pre-norm model with rotary positions, grouped heads and SwiGLU, one formula after the other."""

    def norm(x, weight):
        return x / (x.square().mean(-1, keepdim=True) + 1e-6).sqrt() * weight

    def rotate(x):
        half = x.shape[-1] // 2
        angles = torch.arange(x.shape[2]).double()[:, None] * 10000.0 ** (-torch.arange(half).double() / half)
        a, b = x[..., :half], x[..., half:]
        return torch.cat([a * angles.cos() - b * angles.sin(), b * angles.cos() + a * angles.sin()], dim=-1)

    table = weights["embedding.weight"]
    x = table[tokens]
    batch, length, width = x.shape
    for k in range(layers):
        w = {name.removeprefix(f"encoder.layers.{k}."): value for name, value in weights.items()}
        y = norm(x, w["attention_norm.weight"])
        q = rotate((y @ w["attention.query.linear.weight"].T).view(batch, length, heads, -1).transpose(1, 2))
        k_ = rotate((y @ w["attention.key.linear.weight"].T).view(batch, length, kv_heads, -1).transpose(1, 2))
        v = (y @ w["attention.value.linear.weight"].T).view(batch, length, kv_heads, -1).transpose(1, 2)
        k_, v = (t.repeat_interleave(heads // kv_heads, dim=1) for t in (k_, v))
        scores = q @ k_.transpose(-1, -2) / q.shape[-1] ** 0.5
        hidden = torch.ones(length, length, dtype=torch.bool).triu(1)
        mixed = scores.masked_fill(hidden, -torch.inf).softmax(-1) @ v
        x = x + mixed.transpose(1, 2).reshape(batch, length, width) @ w["attention.output.weight"].T
        y = norm(x, w["feed_forward_norm.weight"])
        gate = F.silu(y @ w["feed_forward.gate.weight"].T)
        x = x + (gate * (y @ w["feed_forward.up.weight"].T)) @ w["feed_forward.down.weight"].T
    return norm(x, weights["encoder.norm.weight"]) @ table.T


@pytest.mark.parametrize("kv_heads", [4, 2, 1])
@pytest.mark.parametrize("length", [1, 7])
def test_the_language_model_equals_plain_code(kv_heads, length):
    model, tokens = (
        AutoregressiveTransformer(13, 24, 4, 3, kv_heads=kv_heads).double(),
        torch.randint(0, 13, (2, length)),
    )
    weights = {name: p.detach().clone().requires_grad_() for name, p in model.named_parameters()}
    wanted = plain_language_model(weights, tokens, 4, kv_heads, 3)
    out = model(tokens)
    torch.testing.assert_close(out, wanted, atol=1e-12, rtol=1e-10)
    out.square().sum().backward()
    wanted.square().sum().backward()
    for name, p in model.named_parameters():
        torch.testing.assert_close(p.grad, weights[name].grad, atol=1e-10, rtol=1e-9)


def copy_attention(ours, theirs):
    query, key, value = theirs.in_proj_weight.chunk(3)
    query_bias, key_bias, value_bias = theirs.in_proj_bias.chunk(3)
    ours.load_state_dict(
        {
            "query.linear.weight": query,
            "query.linear.bias": query_bias,
            "key.linear.weight": key,
            "key.linear.bias": key_bias,
            "value.linear.weight": value,
            "value.linear.bias": value_bias,
            "output.weight": theirs.out_proj.weight,
            "output.bias": theirs.out_proj.bias,
        }
    )


def copy_rest(ours, theirs, norms):
    ours.feed_forward.up.load_state_dict(theirs.linear1.state_dict())
    ours.feed_forward.down.load_state_dict(theirs.linear2.state_dict())
    for ours_name, theirs_name in norms.items():
        getattr(ours, ours_name).load_state_dict(getattr(theirs, theirs_name).state_dict())


def shake(module):
    """Give biases and norms numbers, so that none is mistaken for another."""
    for parameter in module.parameters():
        nn.init.normal_(parameter, std=0.3)


@pytest.mark.parametrize("pre_norm", [True, False])
@pytest.mark.parametrize("activation", ["relu", "gelu"])
def test_a_layer_equals_that_of_pytorch(pre_norm, activation):
    theirs = nn.TransformerEncoderLayer(16, 4, 40, 0.0, activation, batch_first=True, norm_first=pre_norm).double()
    shake(theirs)
    ours = TransformerLayer(16, 4, width=40, feed_forward=activation, pre_norm=pre_norm).double()
    copy_attention(ours.attention, theirs.self_attn)
    copy_rest(ours, theirs, {"attention_norm": "norm1", "feed_forward_norm": "norm2"})
    x = torch.randn(2, 7, 16, dtype=torch.float64)
    torch.testing.assert_close(ours(x), theirs(x), atol=1e-11, rtol=1e-10)
    hidden = torch.arange(7) >= torch.tensor([[7], [4]])
    masked = theirs(x, src_key_padding_mask=hidden)
    torch.testing.assert_close(ours(x, mask=Padding(~hidden))[0], masked[0], atol=1e-11, rtol=1e-10)
    torch.testing.assert_close(ours(x, mask=Padding(~hidden))[1, :4], masked[1, :4], atol=1e-11, rtol=1e-10)


@pytest.mark.parametrize("pre_norm", [True, False])
def test_a_decoder_layer_equals_that_of_pytorch(pre_norm):
    theirs = nn.TransformerDecoderLayer(16, 4, 40, 0.0, batch_first=True, norm_first=pre_norm).double()
    shake(theirs)
    ours = DecoderLayer(16, 4, width=40, pre_norm=pre_norm, mask=Causal()).double()
    copy_attention(ours.attention, theirs.self_attn)
    copy_attention(ours.cross_attention, theirs.multihead_attn)
    copy_rest(ours, theirs, {"attention_norm": "norm1", "cross_attention_norm": "norm2", "feed_forward_norm": "norm3"})
    x, memory = torch.randn(2, 7, 16, dtype=torch.float64), torch.randn(2, 5, 16, dtype=torch.float64)
    # PyTorch's masks say which pairs are hidden.
    hidden = torch.ones(7, 7, dtype=torch.bool).triu(1)
    torch.testing.assert_close(ours(x, memory), theirs(x, memory, tgt_mask=hidden), atol=1e-11, rtol=1e-10)
