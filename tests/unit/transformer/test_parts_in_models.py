"""Masks, scores and positions of every kind inside a whole model: cached, padded, and different in each layer."""

from functools import partial

import pytest
import torch
from torch import nn

from headwise.cache import KVCache
from headwise.errors import HeadwiseError
from headwise.layer import MultiHeadAttention
from headwise.mask.causal import Causal
from headwise.mask.dilated import Dilated
from headwise.mask.padding import Padding
from headwise.mask.prefix import Prefix
from headwise.mask.window import Window
from headwise.position import Rotary, Sinusoidal
from headwise.score.alibi import Alibi
from headwise.score.sink import Sink
from headwise.score.softcap import Softcap
from headwise.score.t5 import T5Bias
from headwise.transformer.autoregressive import AutoregressiveTransformer
from headwise.transformer.layer import ParallelLayer, SandwichLayer, TransformerLayer
from headwise.transformer.per_layer import PerLayer


class Distance(MultiHeadAttention):
    """Scores by distance in the space of features."""

    def get_scores(self, query, key, query_positions, key_positions):
        return -torch.cdist(query, key)


SCORES = [
    None,
    Alibi,
    partial(T5Bias, buckets=8, max_distance=16),
    Sink,
    (Alibi(4), Softcap(3.0)),
    lambda s, b, h, i, j: s / (1 + h),
]
MASKS = [Causal(), Window(3), Causal() & Dilated(6, 2), [Window(2), Causal()]]
LAYERS = [
    TransformerLayer,
    ParallelLayer,
    SandwichLayer,
    partial(TransformerLayer, attention=Distance),
    partial(TransformerLayer, qk_norm="rms"),
    partial(TransformerLayer, head_dim=6, qk_norm="l2"),
]
OPTIONS = [
    *({"score": score} for score in SCORES),
    *({"score": score, "position": None} for score in SCORES),
    *({"mask": mask} for mask in MASKS),
    *({"layer": layer} for layer in LAYERS),
    {"kv_heads": 1},
    {"kv_heads": [2, 4], "position": PerLayer(lambda index: Rotary(2) if index else None)},
    {"pre_norm": False, "norm": "layer", "bias": True, "tied": False},
]
EACH = pytest.mark.parametrize("options", OPTIONS, ids=range(len(OPTIONS)))


def make(options):
    torch.manual_seed(0)
    model = AutoregressiveTransformer(11, 16, 4, 2, **options).double().eval()
    # Parts that learn start at zero; here they should have something to say.
    for part in model.modules():
        if isinstance(part, T5Bias | Sink):
            for parameter in part.parameters():
                nn.init.normal_(parameter)
    return model, torch.randint(0, 11, (2, 8))


def same(a, b):
    torch.testing.assert_close(a, b, atol=1e-11, rtol=1e-10)


@EACH
def test_chunks_through_a_cache_equal_one_pass(options):
    model, tokens = make(options)
    cache = KVCache()
    same(torch.cat([model(part, cache=cache) for part in tokens.split((3, 1, 4), dim=1)], dim=1), model(tokens))


@EACH
def test_left_padding_changes_nothing_with_and_without_a_cache(options):
    """P07."""
    model, tokens = make(options)
    keep = torch.ones(2, 6, dtype=torch.bool)
    keep[1, :3] = False
    alone = model(tokens[1:, 3:])[0]
    cache = KVCache()
    first = model(tokens[:, :6], mask=Padding(keep), cache=cache)
    same(first[1, 3:], alone[:3])
    same(torch.cat([model(tokens[:, k : k + 1], cache=cache)[1] for k in (6, 7)]), alone[3:])


@EACH
def test_every_parameter_gets_a_gradient(options):
    model, tokens = make(options)
    model.train()(tokens).square().sum().backward()
    assert [name for name, p in model.named_parameters() if p.grad is None] == []


@EACH
def test_a_state_dict_makes_an_equal_model(options):
    model, tokens = make(options)
    other = AutoregressiveTransformer(11, 16, 4, 2, **options).double().eval()
    other.load_state_dict(model.state_dict())
    assert torch.equal(other(tokens), model(tokens))


def test_a_prefix_is_read_in_both_directions():
    model, tokens = make({"mask": Causal() | Prefix(4)})
    changed = tokens.clone()
    changed[:, 3] = (changed[:, 3] + 1) % 11
    assert not torch.allclose(model(changed)[:, 0], model(tokens)[:, 0])
    changed = tokens.clone()
    changed[:, 5] = (changed[:, 5] + 1) % 11
    same(model(changed)[:, :5], model(tokens)[:, :5])


def test_a_shared_bias_gets_the_gradients_of_all_layers():
    own, tokens = make({"score": T5Bias, "position": None})
    shared, _ = make({"score": T5Bias(4), "position": None})
    tables = [part for part in own.modules() if isinstance(part, T5Bias)]
    (table,) = {part for part in shared.modules() if isinstance(part, T5Bias)}
    assert len(tables) == 2
    shared.load_state_dict(own.state_dict())
    own.load_state_dict(shared.state_dict())
    for model in (own, shared):
        model(tokens).square().sum().backward()
    (weight,) = table.parameters()
    same(weight.grad, sum(parameter.grad for part in tables for parameter in part.parameters()))


def test_a_scheme_for_the_embedding_cannot_stand_in_a_layer():
    with pytest.raises(HeadwiseError, match="Sinusoidal"):
        AutoregressiveTransformer(11, 16, 4, 2, position=[Sinusoidal(16), None])
