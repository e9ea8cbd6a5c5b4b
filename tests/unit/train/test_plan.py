"""The plan: what is counted is what a training has."""

from dataclasses import replace

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

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


def test_activations_are_about_those_of_a_pass():
    model = build_model(SHAPE, vocab=19, seed=0).eval()
    batch = torch.zeros(4, 24, dtype=torch.long)
    storages = {}

    def note(tensor):
        storages[tensor.untyped_storage()._cdata] = tensor.untyped_storage().nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        loss = token_loss_sum(model(batch), batch)
    own = {each.untyped_storage()._cdata for each in model.parameters()}
    kept = sum(count for place, count in storages.items() if place not in own)
    assert loss > 0
    assert plan_of(CONFIG).activations == pytest.approx(kept, rel=0.15)


def test_settings_that_save_memory_save_it():
    plain = plan_of(CONFIG)
    recomputed = plan_of(replace(CONFIG, model=replace(SHAPE, recompute=True)))
    split = plan_of(replace(CONFIG, train=TrainConfig(steps=10, batch=4, accumulate=4)))
    muon = plan_of(replace(CONFIG, train=TrainConfig(steps=10, batch=4, optimizer="muon")))
    half = plan_of(replace(CONFIG, train=TrainConfig(steps=10, batch=4, precision="bfloat16")))
    assert recomputed.activations < plain.activations / 2
    assert recomputed.flops == pytest.approx(plain.flops * 4 / 3)
    assert split.activations < plain.activations / 3
    assert muon.moments < plain.moments
    assert half.activations < 0.8 * plain.activations
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
