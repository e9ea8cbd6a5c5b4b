"""Transformer layers: the order of their steps, and what they do not do."""

import pytest
import torch
from torch import nn

from headwise.errors import HeadwiseError
from headwise.layer import MultiHeadAttention
from headwise.mask.causal import Causal
from headwise.position import Rotary
from headwise.score.alibi import Alibi
from headwise.transformer.layer import ParallelLayer, SandwichLayer, TransformerLayer

KINDS = [TransformerLayer, SandwichLayer, ParallelLayer]


def make(kind=TransformerLayer, **options):
    return kind(16, 4, **options).double().eval()


def tokens(length=5, batch=2):
    return torch.randn(batch, length, 16, dtype=torch.float64)


def test_pre_norm_adds_what_each_step_finds():
    layer, x = make(), tokens()
    y = x + layer.attention(layer.attention_norm(x))
    torch.testing.assert_close(layer(x), y + layer.feed_forward(layer.feed_forward_norm(y)), atol=1e-14, rtol=0)


def test_post_norm_normalises_the_sum():
    layer, x = make(pre_norm=False), tokens()
    y = layer.attention_norm(x + layer.attention(x))
    torch.testing.assert_close(layer(x), layer.feed_forward_norm(y + layer.feed_forward(y)), atol=1e-14, rtol=0)


def test_a_sandwich_normalises_before_and_behind_each_step():
    layer, x = make(SandwichLayer), tokens()
    y = x + layer.attention_out_norm(layer.attention(layer.attention_norm(x)))
    wanted = y + layer.feed_forward_out_norm(layer.feed_forward(layer.feed_forward_norm(y)))
    torch.testing.assert_close(layer(x), wanted, atol=1e-14, rtol=0)


def test_parallel_steps_read_the_same_tokens():
    layer, x = make(ParallelLayer), tokens()
    y = layer.norm(x)
    torch.testing.assert_close(layer(x), x + layer.attention(y) + layer.feed_forward(y), atol=1e-14, rtol=0)


@pytest.mark.parametrize("kind", [SandwichLayer, ParallelLayer])
def test_other_arrangements_are_pre_norm(kind):
    with pytest.raises(HeadwiseError, match=f"{kind.__name__} normalises before its steps.*pre_norm=False"):
        kind(16, 4, pre_norm=False)


@pytest.mark.parametrize("kind", KINDS)
def test_permuting_the_batch_permutes_the_output(kind):
    layer, x = make(kind, mask=Causal()), tokens(batch=3)
    torch.testing.assert_close(layer(x[[2, 0, 1]]), layer(x)[[2, 0, 1]], atol=1e-13, rtol=0)


@pytest.mark.parametrize("kind", KINDS)
def test_the_mask_reaches_the_attention(kind):
    layer, x = make(kind), tokens()
    torch.testing.assert_close(layer(x, mask=Causal())[:, :3], layer(x[:, :3], mask=Causal()), atol=1e-13, rtol=0)
    assert not torch.allclose(layer(x)[:, :3], layer(x[:, :3]))


@pytest.mark.parametrize("kind", KINDS)
def test_dropout_acts_in_training_only(kind):
    layer, x = kind(16, 4, dropout=0.5), torch.randn(2, 5, 16)
    assert not torch.equal(layer(x), layer(x))
    layer.eval()
    assert torch.equal(layer(x), layer(x))


@pytest.mark.parametrize("kind", KINDS)
def test_without_dropout_training_and_eval_agree(kind):
    layer, x = make(kind), tokens()
    assert torch.equal(layer.train()(x), layer.eval()(x))


def test_factories_build_parts_of_the_right_size():
    layer = TransformerLayer(16, 4, position=Rotary, score=Alibi)
    assert layer.attention.position == Rotary(4)
    wide = TransformerLayer(16, 4, head_dim=10, position=Rotary)
    assert wide.attention.position == Rotary(10)
    shared = Rotary(4, 500.0)
    assert TransformerLayer(16, 4, position=shared).attention.position is shared


def test_an_attention_of_ones_own_takes_its_place():
    class Distance(MultiHeadAttention):
        def get_scores(self, query, key, query_positions, key_positions):
            return -torch.cdist(query, key)

    layer = make(attention=Distance)
    assert isinstance(layer.attention, Distance)
    x = tokens()
    y = x + layer.attention(layer.attention_norm(x))
    torch.testing.assert_close(layer(x), y + layer.feed_forward(layer.feed_forward_norm(y)), atol=1e-13, rtol=0)


def test_state_dict_names_are_plain():
    names = list(TransformerLayer(16, 4, bias=False, norm="rms", feed_forward="swiglu").state_dict())
    assert sorted(names) == [
        "attention.key.linear.weight",
        "attention.output.weight",
        "attention.query.linear.weight",
        "attention.value.linear.weight",
        "attention_norm.weight",
        "feed_forward.down.weight",
        "feed_forward.gate.weight",
        "feed_forward.up.weight",
        "feed_forward_norm.weight",
    ]


def test_norms_and_networks_of_ones_own():
    layer = TransformerLayer(16, 4, norm=nn.Identity, feed_forward=lambda d_model: nn.Linear(d_model, d_model))
    assert isinstance(layer.attention_norm, nn.Identity)
    assert isinstance(layer.feed_forward, nn.Linear)
