"""Rotary recipes for long texts inside a model, with caches and padding."""

from functools import partial

import pytest
import torch

from headwise.cache import KVCache
from headwise.mask.padding import Padding
from headwise.position import DynamicNTK, Linear, Llama3, LongRope, Proportional, Rotary, Yarn
from headwise.transformer.autoregressive import AutoregressiveTransformer

FIXED = [Linear(2.0), Yarn(2.0, 4), Llama3(2.0, 4), Proportional(0.5, 2.0)]
GROWING = [DynamicNTK(2.0, 4), LongRope((1.0, 1.5), (2.0, 4.0), 4, factor=2.0)]


def make(scaling, layers=2):
    torch.manual_seed(0)
    model = AutoregressiveTransformer(11, 16, 4, layers, position=partial(Rotary, scaling=scaling))
    return model.double().eval(), torch.randint(0, 11, (2, 9))


def same(a, b):
    torch.testing.assert_close(a, b, atol=1e-11, rtol=1e-10)


def name(scaling):
    return type(scaling).__name__


@pytest.mark.parametrize("scaling", FIXED, ids=name)
def test_chunks_equal_one_pass(scaling):
    model, tokens = make(scaling)
    cache = KVCache()
    same(torch.cat([model(part, cache=cache) for part in tokens.split((4, 1, 3, 1), dim=1)], dim=1), model(tokens))


@pytest.mark.parametrize("scaling", GROWING, ids=name)
def test_each_step_equals_recomputing_at_the_length_known_at_that_step(scaling):
    model, tokens = make(scaling, layers=1)
    cache = KVCache()
    for step in range(9):
        last = model(tokens[:, step : step + 1], cache=cache)[:, -1]
        same(last, model(tokens[:, : step + 1])[:, -1])


@pytest.mark.parametrize("scaling", GROWING, ids=name)
def test_within_the_trained_length_deep_models_equal_one_pass(scaling):
    model, tokens = make(scaling)
    cache = KVCache()
    same(torch.cat([model(part, cache=cache) for part in tokens[:, :4].split(1, dim=1)], dim=1), model(tokens[:, :4]))


@pytest.mark.parametrize("scaling", GROWING, ids=name)
def test_a_short_text_does_not_feel_a_longer_one_beside_it(scaling):
    """P07: each row has its own length, so the angles of a padded row are those that it has alone."""
    model, tokens = make(scaling)
    keep = torch.ones(2, 9, dtype=torch.bool)
    keep[1, :6] = False
    out = model(tokens, mask=Padding(keep))
    same(out[1, 6:], model(tokens[1:, 6:])[0])
    same(out[0], model(tokens[:1])[0])
    assert not torch.allclose(model(tokens, mask=Padding(keep)), model(tokens))


@pytest.mark.parametrize("scaling", GROWING, ids=name)
def test_a_padded_batch_goes_on_through_a_cache(scaling):
    model, tokens = make(scaling, layers=1)
    keep, cache = torch.ones(2, 7, dtype=torch.bool), KVCache()
    keep[1, :4] = False
    model(tokens[:, :7], mask=Padding(keep), cache=cache)
    for step in (7, 8):
        out = model(tokens[:, step : step + 1], cache=cache)[:, -1]
        same(out[0], model(tokens[:1, : step + 1])[0, -1])
        same(out[1], model(tokens[1:, 4 : step + 1])[0, -1])
