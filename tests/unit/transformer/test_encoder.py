"""Stacks: layers of their own, arguments that differ from layer to layer, and how they start."""

import math
from functools import partial

import pytest
import torch

from headwise.errors import HeadwiseError, ShapeError
from headwise.layer import MultiHeadAttention
from headwise.mask.causal import Causal
from headwise.mask.full import Full
from headwise.mask.padding import Padding
from headwise.mask.window import Window
from headwise.position import Rotary
from headwise.score.softcap import Softcap
from headwise.transformer.encoder import Encoder
from headwise.transformer.layer import ParallelLayer, SandwichLayer, TransformerLayer
from headwise.transformer.per_layer import PerLayer


def test_an_encoder_is_its_layers_and_a_norm():
    encoder, x = Encoder(16, 4, 3).double(), torch.randn(2, 5, 16, dtype=torch.float64)
    y = x
    for layer in encoder.layers:
        y = layer(y)
    assert torch.equal(encoder(x), encoder.norm(y))


def test_post_norm_stacks_end_without_another_norm():
    encoder, x = Encoder(16, 4, 2, pre_norm=False), torch.randn(2, 5, 16)
    assert torch.equal(encoder(x), encoder.layers[1](encoder.layers[0](x)))
    assert not any(name.startswith("norm") for name in encoder.state_dict())


def test_layers_start_with_different_weights():
    encoder = Encoder(16, 4, 3)
    for name, first in encoder.layers[0].named_parameters():
        for other in encoder.layers[1:]:
            same = other.get_parameter(name)
            assert first is not same
            assert first.dim() == 1 or not torch.equal(first, same)


def test_matrices_start_at_the_published_size():
    torch.manual_seed(0)
    encoder = Encoder(160, 4, 8)
    layer, std = encoder.layers[3], math.sqrt(2 / (5 * 160))
    assert layer.attention.query.linear.weight.std().item() == pytest.approx(std, rel=0.03)
    assert layer.feed_forward.up.weight.std().item() == pytest.approx(std, rel=0.03)
    assert layer.attention.output.weight.std().item() == pytest.approx(std / 4, rel=0.03)
    assert layer.feed_forward.down.weight.std().item() == pytest.approx(std / 4, rel=0.03)
    assert layer.feed_forward.down.bias.abs().sum() == 0
    post = Encoder(160, 4, 8, pre_norm=False).layers[3]
    assert post.attention.output.weight.std().item() == pytest.approx(std, rel=0.03)


def test_a_deep_stack_keeps_the_size_of_its_tokens():
    torch.manual_seed(0)
    encoder, x = Encoder(32, 4, 24), torch.randn(2, 9, 32)
    for layer in encoder.layers:
        x = layer(x)
    assert 0.9 < x.std() < 2.0


def test_modules_of_ones_own_keep_their_start():
    class Ones(torch.nn.Linear):
        def reset_parameters(self):
            torch.nn.init.ones_(self.weight)

    encoder = Encoder(8, 2, 2, feed_forward=lambda d_model: Ones(d_model, d_model, bias=False))
    assert encoder.layers[1].feed_forward.weight.sum() == 64


def test_lists_and_functions_give_each_layer_its_own():
    encoder = Encoder(
        16,
        4,
        4,
        mask=[Causal(), Window(2), Causal(), Full()],
        position=PerLayer(lambda index: None if index == 3 else Rotary),
        kv_heads=[4, 2, 1, 4],
        feed_forward=["relu", "gelu", "swiglu", "geglu"],
        width=PerLayer(lambda index: 8 * (index + 1)),
        layer=[TransformerLayer, ParallelLayer, SandwichLayer, TransformerLayer],
    )
    attentions = [layer.attention for layer in encoder.layers]
    assert [attention.mask for attention in attentions] == [Causal(), Window(2), Causal(), Full()]
    assert [attention.position for attention in attentions] == [Rotary(4), Rotary(4), Rotary(4), None]
    assert [attention.kv_heads for attention in attentions] == [4, 2, 1, 4]
    assert [layer.feed_forward.width for layer in encoder.layers] == [8, 16, 24, 32]
    assert [type(layer) for layer in encoder.layers] == [
        TransformerLayer,
        ParallelLayer,
        SandwichLayer,
        TransformerLayer,
    ]


def test_an_instance_is_shared_and_a_factory_is_not():
    class Learns(torch.nn.Module):
        def __init__(self, size):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.zeros(size))

        def forward(self, x, positions, *, length=None):
            return x + self.weight

    shared = Encoder(16, 4, 3, position=Learns(4))
    assert len({id(layer.attention.position) for layer in shared.layers}) == 1
    own = Encoder(16, 4, 3, position=Learns)
    assert len({id(layer.attention.position) for layer in own.layers}) == 3
    assert own.layers[0].attention.position.weight.shape == (4,)
    part = Encoder(16, 4, 2, position=partial(Rotary, base=500.0))
    assert part.layers[1].attention.position == Rotary(4, 500.0)


def test_a_tuple_of_scores_belongs_to_every_layer():
    encoder = Encoder(16, 4, 2, score=(Softcap(5.0), lambda s, b, h, i, j: s - (i - j)))
    capped = Encoder(16, 4, 2, score=[Softcap(5.0), None])
    x = torch.randn(2, 5, 16)
    for layer, other in zip(encoder.layers, capped.layers, strict=True):
        other.load_state_dict(layer.state_dict())
    assert not torch.allclose(encoder(x), capped(x))


def test_lists_of_another_length_are_refused():
    with pytest.raises(HeadwiseError, match="a list for mask must have one entry for each of the 3 layers; got 2"):
        Encoder(16, 4, 3, mask=[Causal(), Causal()])
    with pytest.raises(HeadwiseError, match="layers must be a whole number of at least 1; got 0"):
        Encoder(16, 4, 0)


def test_an_encoder_needs_its_width():
    with pytest.raises(ShapeError, match="M = 16"):
        Encoder(16, 4, 1)(torch.zeros(2, 5, 8))


def test_padding_does_not_change_real_tokens():
    encoder, x = Encoder(16, 4, 2, position=Rotary).double(), torch.randn(2, 7, 16, dtype=torch.float64)
    keep = torch.arange(7) < torch.tensor([[7], [4]])
    out = encoder(x, mask=Padding(keep))
    torch.testing.assert_close(out[1, :4], encoder(x[1:, :4])[0], atol=1e-12, rtol=0)
    torch.testing.assert_close(out[0], encoder(x[:1])[0], atol=1e-12, rtol=0)


def test_the_layer_may_be_a_partial():
    encoder = Encoder(16, 4, 2, layer=partial(TransformerLayer, head_dim=6, qk_norm=torch.nn.LayerNorm))
    assert encoder.layers[0].attention.head_dim == 6
    assert isinstance(encoder.layers[1].attention, MultiHeadAttention)
    assert encoder(torch.randn(1, 3, 16)).shape == (1, 3, 16)
