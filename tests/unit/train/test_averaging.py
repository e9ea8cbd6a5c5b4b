"""Averaged weights, smoothed targets, recomputed layers, compiled passes, and stopping early."""

import pytest
import torch
import torch.nn.functional as F
from safetensors.torch import load_file

from headwise.train.averaging import WeightAverage
from headwise.train.batch import NO_TARGET
from headwise.train.build import build_model
from headwise.train.config import ModelConfig, TrainConfig
from headwise.train.loop import fit
from headwise.train.loss import Pass, accumulate_gradients, mean_loss, token_loss_sum
from headwise.train.observer import Observer
from headwise.train.patience import Patience
from headwise.train.run_folder import RunFolder

SHAPE = ModelConfig(layers=2, d_model=16, heads=2, context=16, dropout=0.1)


def test_the_average_is_that_of_the_formula():
    model = torch.nn.Linear(1, 1, bias=False)
    average = WeightAverage(model, decay=0.3)
    with average.applied():
        pass
    expected = model.weight.item()
    for step in range(6):
        with torch.no_grad():
            model.weight.fill_(float(step))
        average.update(step)
        decay = min(0.3, (1 + step) / (10 + step))
        expected = decay * expected + (1 - decay) * step
        with average.applied():
            assert model.weight.item() == pytest.approx(expected, rel=1e-5)
        assert model.weight.item() == step


def test_what_is_measured_and_stored_is_the_average(model, data, tmp_path):
    class Listener(Observer):
        def sample(self, step):
            self.sampled = model.embedding.weight.clone()

    listener = Listener()
    config = TrainConfig(steps=10, batch=4, ema=0.9, learning_rate=0.02, sample_every=10)
    result = fit(model, data, config, run=RunFolder(tmp_path), observer=listener)
    stored = load_file(tmp_path / "model.safetensors")
    checkpoint = load_file(tmp_path / "state" / "step-00000010" / "model.safetensors")
    assert torch.equal(stored["embedding.weight"], listener.sampled)
    assert torch.equal(stored["embedding.weight"], model.embedding.weight)
    assert not torch.equal(stored["embedding.weight"], checkpoint["embedding.weight"])
    limit = config.validation_rows
    assert result.validation_loss == mean_loss(model, data.validation_batches(rows=4, limit=limit))


def test_averaging_changes_no_update(pairs, data, tokenizer, tmp_path):
    weights = []
    for ema in (None, 0.99):
        torch.manual_seed(5)
        folder = tmp_path / str(ema)
        folder.mkdir()
        fit(pairs(tokenizer.vocab), data, TrainConfig(steps=6, batch=2, ema=ema), run=RunFolder(folder))
        weights.append(load_file(folder / "state" / "step-00000006" / "model.safetensors"))
    assert all(torch.equal(tensor, weights[1][name]) for name, tensor in weights[0].items())


def test_smoothing_spreads_a_share_over_all_tokens():
    logits = torch.randn(1, 3, 5)
    targets = torch.tensor([[2, NO_TARGET, 4]])
    soft = torch.full((2, 5), 0.1 / 5)
    soft[0, 2] += 0.9
    soft[1, 4] += 0.9
    expected = F.cross_entropy(logits[0, [0, 2]], soft, reduction="sum")
    torch.testing.assert_close(token_loss_sum(logits, targets, smoothing=0.1), expected)


def test_smoothing_stays_out_of_the_validation(model, data):
    batches = list(data.validation_batches(rows=4, limit=8))
    smooth = accumulate_gradients(model, batches[0], how=Pass(smoothing=0.3))
    plain = accumulate_gradients(model, batches[0])
    assert smooth > plain or smooth < plain
    before = mean_loss(model, batches)
    result = fit(
        model, data, TrainConfig(steps=1, batch=4, label_smoothing=0.3, learning_rate=1e-12, validation_rows=8)
    )
    assert result.validation_loss == pytest.approx(before, rel=1e-5)


def test_recomputed_layers_have_the_same_gradients(data, tokenizer):
    from dataclasses import replace

    gradients, losses = [], []
    for recompute in (False, True):
        model = build_model(replace(SHAPE, recompute=recompute), vocab=tokenizer.vocab, seed=2)
        torch.manual_seed(7)
        losses.append(accumulate_gradients(model, data.batch(seed=0, step=0, rows=2)).item())
        gradients.append([each.grad for each in model.parameters()])
    assert losses[0] == losses[1]
    assert all(torch.equal(ours, theirs) for ours, theirs in zip(*gradients, strict=True))


def test_recomputed_layers_keep_less(data, tokenizer):
    from dataclasses import replace

    kept = []
    for recompute in (False, True):
        model = build_model(replace(SHAPE, recompute=recompute), vocab=tokenizer.vocab, seed=2)
        sizes = []
        pack = lambda tensor, sizes=sizes: sizes.append(tensor.numel()) or tensor  # noqa: E731
        with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
            model(data.batch(seed=0, step=0, rows=2).inputs)
        kept.append(sum(sizes))
    assert kept[1] < kept[0] / 2


def test_a_compiled_training_is_the_same_training(data, tokenizer, monkeypatch):
    compiled = []
    real = torch.compile

    def compile_without_a_compiler(model):
        compiled.append(model)
        return real(model, backend="eager")

    monkeypatch.setattr(torch, "compile", compile_without_a_compiler)
    losses = []
    for compile in (False, True):
        model = build_model(ModelConfig(layers=1, d_model=16, heads=2, context=16), vocab=tokenizer.vocab, seed=2)
        losses.append(fit(model, data, TrainConfig(steps=3, batch=2, compile=compile)).validation_loss)
    assert compiled == [model]
    assert losses[0] == pytest.approx(losses[1], rel=1e-5)


def test_an_equal_loss_is_no_better_one():
    patience = Patience(2)
    assert [patience.see(loss) for loss in (1.0, 1.0, 1.0)] == [False, False, True]
    assert not any(Patience(None).see(1.0) for _ in range(9))


def test_a_training_that_gets_no_better_stops(model, data, tmp_path):
    # The learning rate is so small that no loss changes by a bit.
    config = TrainConfig(steps=99, batch=4, report_every=2, patience=3, learning_rate=1e-30, weight_decay=0.0)
    result = fit(model, data, config, run=RunFolder(tmp_path))
    assert (result.step, result.out_of_patience, result.stopped_by) == (8, True, None)
    resumed = fit(model, data, config, run=RunFolder(tmp_path), resume=True)
    assert (resumed.step, resumed.out_of_patience) == (8, True)
