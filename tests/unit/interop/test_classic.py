"""Subclasses written for classic annotated code: sequence first, and a get_scores of two arguments."""

import math

import pytest
import torch
from torch import nn

import headwise as hw
from headwise.interop.classic import ClassicMultiHeadAttention


class Distance(ClassicMultiHeadAttention):
    def get_scores(self, query, key):
        assert query.dim() == 4 and query.shape[2:] == (self.heads, self.d_k)
        return -(query[:, None] - key[None]).square().sum(-1)


class ByRow(ClassicMultiHeadAttention):
    """Counts the rows of what it gets, as relative attention of old does."""

    def __init__(self, heads, d_model):
        super().__init__(heads, d_model, dropout_prob=0.0)
        self.table = nn.Parameter(torch.randn(64, heads))

    def get_scores(self, query, key):
        scores = torch.einsum("ibhd,jbhd->ijbh", query, key)
        places = torch.arange(query.shape[0])[:, None] - torch.arange(key.shape[0]) + 32
        return scores + self.table[places][:, :, None]


def by_hand(layer, x, visible, scores):
    """`[seq, batch, d_model]`, as the classic code computes it."""
    query, key, value = (part(x) for part in (layer.query, layer.key, layer.value))
    scores = scores(query, key) / math.sqrt(layer.d_k)
    weights = scores.masked_fill(~visible, -torch.inf).softmax(1)
    return layer.output(torch.einsum("ijbh,jbhd->ibhd", weights, value).flatten(2))


@pytest.mark.parametrize("kind", [Distance, ByRow])
def test_classic_subclass_computes_what_it_says(kind):
    layer = kind(4, 16).eval()
    x = torch.randn(9, 2, 16)
    visible = torch.ones(9, 9).tril().bool()[:, :, None]
    found = layer(query=x, key=x, value=x, mask=visible)
    torch.testing.assert_close(found, by_hand(layer, x, visible[..., None], layer.get_scores))
    torch.testing.assert_close(layer(query=x, key=x, value=x, mask=hw.Causal()), found)


def test_plain_classic_layer_uses_the_fast_engines():
    layer = ClassicMultiHeadAttention(4, 16, dropout_prob=0.0)
    x = torch.randn(9, 2, 16)
    assert layer.score_method is None
    whole = torch.ones(1, 1, 1, dtype=torch.bool)
    torch.testing.assert_close(layer(query=x, key=x, value=x), by_hand(layer, x, whole, layer.get_scores))


def test_classic_method_runs_in_blocks_once_it_says_so():
    class Linear(Distance):
        whole_matrix = False

    layer = Linear(4, 16).eval()
    x = torch.randn(9, 2, 16)
    expected = layer(query=x, key=x, value=x)
    layer.attend.engine = "blockwise"
    torch.testing.assert_close(layer(query=x, key=x, value=x), expected)
    whole = Distance(4, 16).eval()
    whole.attend.engine = "blockwise"
    with pytest.raises(hw.EngineRefused, match="whole_matrix = True"):
        whole(query=x, key=x, value=x)


def test_classic_method_learns_and_goes_with_other_parts():
    layer = ByRow(4, 16)
    layer.keep_attention = True
    x = torch.randn(9, 2, 16)
    layer(query=x, key=x, value=x, mask=hw.Causal()).square().sum().backward()
    assert layer.table.grad.abs().sum() > 0
    assert layer.attn.shape == (2, 4, 9, 9)
    turned = ClassicMultiHeadAttention(4, 16, 0.0, position=hw.Rotary(4), score=hw.Softcap(5.0))
    assert turned(query=x, key=x, value=x).shape == x.shape


def test_a_classic_method_that_returns_other_axes_is_refused():
    class Wrong(ClassicMultiHeadAttention):
        def get_scores(self, query, key):
            return torch.einsum("ibhd,jbhd->bhij", query, key)[..., :3]

    x = torch.randn(9, 2, 16)
    with pytest.raises(hw.ShapeError, match="axis B of the result of get_scores must be 2 or 1, it is 9"):
        Wrong(4, 16)(query=x, key=x, value=x)
