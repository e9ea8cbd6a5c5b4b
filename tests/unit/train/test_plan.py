"""The plan: what is counted is what a training has."""

from dataclasses import replace

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from headwise.bench.measure import peak_memory
from headwise.train.build import build_model
from headwise.train.config import ModelConfig, RunConfig, TrainConfig
from headwise.train.loss import token_loss_sum
from headwise.train.plan import make_plan, plan_lines, product_rate

SHAPE = ModelConfig(layers=2, d_model=32, heads=4, context=24)
CONFIG = RunConfig(model=SHAPE, train=TrainConfig(steps=10, batch=4))


def plan_of(config, vocab=19):
    return make_plan(config, vocab=vocab, rate=lambda config: 1e9)


@pytest.mark.parametrize("tied", [True, False])
def test_the_arithmetic_is_that_of_the_products(tied):
    config = replace(CONFIG, model=replace(SHAPE, tied=tied, kv_heads=2))
    model = build_model(config.model, vocab=19, seed=0)
    batch = torch.zeros(4, 24, dtype=torch.long)
    with FlopCounterMode(display=False) as counter:
        token_loss_sum(model(batch), batch).backward()
    products = sum(
        count for name, count in counter.get_flop_counts()["Global"].items() if str(name) in ("aten.mm", "aten.addmm")
    )
    plan = plan_of(config)
    attention = 6 * 2 * 32 * 24
    assert (plan.flops_per_token - attention) * batch.numel() == products
    assert plan.parameters == sum(each.numel() for each in model.parameters())


LEAN = ModelConfig(layers=3, d_model=64, heads=4, context=128)
GPT2 = {"feed_forward": "gelu", "norm": "layer", "position": "learned"}


@pytest.mark.parametrize(
    ("changed", "tolerance"),
    [
        ({}, 0.1),
        (GPT2, 0.1),
        ({"pre_norm": False}, 0.1),
        ({"bias": True, "tied": False}, 0.1),
        ({"kv_heads": 2}, 0.1),
        ({"feed_forward": "squared_relu"}, 0.1),
        # A layer that is computed again, and weights that are dropped, come and go block by block; what is there at once is estimated.
        ({"recompute": True}, 0.25),
        ({"dropout": 0.1}, 0.25),
    ],
)
def test_activations_are_those_of_a_measured_pass(changed, tolerance):
    shape = replace(LEAN, **changed)
    model = build_model(shape, vocab=65, seed=0)
    batch = torch.zeros(8, 128, dtype=torch.long)

    def passes():
        token_loss_sum(model(batch), batch).backward()

    passes()
    # Gradients that are there already are counted by themselves.
    measured = peak_memory(passes)
    plan = plan_of(RunConfig(model=shape, train=TrainConfig(batch=8)), vocab=65)
    assert plan.activations == pytest.approx(measured, rel=tolerance)


def test_the_loss_of_a_large_vocabulary_is_the_peak():
    model = build_model(SHAPE, vocab=5000, seed=0)
    batch = torch.zeros(4, 24, dtype=torch.long)
    measured = peak_memory(lambda: token_loss_sum(model(batch), batch).backward())
    assert plan_of(CONFIG, vocab=5000).activations == pytest.approx(measured, rel=0.1)


def test_settings_that_save_memory_save_it():
    deep = replace(SHAPE, layers=12)
    plain = plan_of(CONFIG)
    plain_deep = plan_of(replace(CONFIG, model=deep))
    recomputed = plan_of(replace(CONFIG, model=replace(deep, recompute=True)))
    split = plan_of(replace(CONFIG, train=TrainConfig(steps=10, batch=4, accumulate=4)))
    muon = plan_of(replace(CONFIG, train=TrainConfig(steps=10, batch=4, optimizer="muon")))
    half = plan_of(replace(CONFIG, train=TrainConfig(steps=10, batch=4, precision="bfloat16")))
    assert recomputed.activations < plain_deep.activations / 2
    assert recomputed.flops == pytest.approx(plain_deep.flops * 4 / 3)
    assert split.activations < plain.activations / 3
    assert muon.moments < plain.moments
    assert half.activations < 0.85 * plain.activations
    assert (plain.tokens, split.tokens) == (960, 960)


def test_documents_that_are_kept_apart_have_their_own_engine():
    assert plan_of(CONFIG).engine == "sdpa"
    assert plan_of(replace(CONFIG, documents="apart")).engine != ""


def test_a_plan_of_any_batch_needs_no_memory_for_it():
    huge = plan_of(replace(CONFIG, train=TrainConfig(steps=10, batch=10**9)))
    assert huge.tokens == 10 * 10**9 * SHAPE.context
    assert huge.engine == "sdpa"


def test_the_time_follows_from_the_rate():
    plan = plan_of(CONFIG)
    assert plan.seconds == plan.flops / 5e8
    assert product_rate(CONFIG, seconds=0.01) > 1e6
    names = [name for name, _ in plan_lines(plan, CONFIG, characters=1000)]
    assert names == ["parameters", "memory", "FLOPs", "tokens", "engine", "time"]


def test_the_rate_of_a_wide_model_is_measured_in_narrow_products(monkeypatch):
    wide = RunConfig(model=ModelConfig(d_model=2**20, heads=2**14), train=TrainConfig(batch=1, threads=1))
    sizes = []
    plain = torch.randn
    monkeypatch.setattr(torch, "randn", lambda *size: sizes.append(size) or plain(*(min(each, 8) for each in size)))
    assert product_rate(wide, seconds=0.001) > 0
    assert sizes == [(128, 2048), (8192, 2048)]
