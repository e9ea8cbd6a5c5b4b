"""The training loop: it learns, it reports, it stops on request, and it saves."""

import json
import os
import shutil
import signal

import pytest
import torch

from headwise.errors import HeadwiseError
from headwise.train.checkpoint import Checkpoints
from headwise.train.config import ConfigError, RunConfig, TrainConfig
from headwise.train.loop import TrainingError, fit
from headwise.train.observer import Observer
from headwise.train.run_folder import RunError, RunFolder

CONFIG = TrainConfig(steps=25, batch=4, report_every=10, sample_every=20, checkpoint_every=15, learning_rate=0.02)


class Listener(Observer):
    def __init__(self, stop_at=None):
        self.reports, self.samples, self.stop_at = [], [], stop_at

    def updated(self, step, loss):
        if step == self.stop_at:
            os.kill(os.getpid(), signal.SIGINT)

    def reported(self, report):
        self.reports.append(report)

    def sample(self, step):
        self.samples.append(step)


def test_a_model_learns(model, data):
    listener = Listener()
    result = fit(model, data, CONFIG, observer=listener)
    assert [report.step for report in listener.reports] == [0, 10, 20, 25]
    assert listener.samples == [20, 25]
    assert result.step == 25
    assert result.validation_loss < listener.reports[0].validation_loss - 0.5
    assert result.stopped_by is None


def test_the_log_has_a_line_for_every_ten_steps(model, data, tmp_path):
    fit(model, data, TrainConfig(steps=35, batch=2, report_every=25), run=RunFolder(tmp_path))
    entries = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert [entry["step"] for entry in entries] == [0, 10, 20, 25, 30, 35]
    assert all(entry["learning_rate"] > 0 for entry in entries)
    assert all(entry["train_loss"] > 0 for entry in entries[1:])
    assert [entry["step"] for entry in entries if "validation_loss" in entry] == [0, 25, 35]


def test_two_runs_with_one_seed_are_bit_equal(pairs, data, tokenizer):
    weights = []
    for _ in range(2):
        torch.manual_seed(5)
        model = pairs(tokenizer.vocab, dropout=0.3)
        fit(model, data, CONFIG)
        weights.append(model.embedding.weight)
        # Whatever else is drawn in between has no influence.
        torch.rand(7)
    assert torch.equal(*weights)


@pytest.mark.parametrize("accumulate", [1, 2])
def test_accumulation_leaves_the_update_as_it_is(pairs, data, tokenizer, accumulate):
    """Case T01: any split gives the same update."""
    losses = []
    for parts in (1, accumulate):
        torch.manual_seed(5)
        losses.append(
            fit(pairs(tokenizer.vocab), data, TrainConfig(steps=5, batch=4, accumulate=parts)).validation_loss
        )
    assert losses[0] == pytest.approx(losses[1], rel=1e-5)


def test_an_interrupt_lets_the_update_finish_and_saves(model, data, tmp_path):
    handler = signal.getsignal(signal.SIGINT)
    result = fit(model, data, CONFIG, run=RunFolder(tmp_path), observer=Listener(stop_at=7))
    assert (result.step, result.stopped_by) == (7, signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is handler
    assert [each.name for each in (tmp_path / "state").iterdir()] == ["step-00000007"]
    assert (tmp_path / "model.safetensors").is_file()
    assert not list(tmp_path.rglob("*.part"))


def test_a_second_interrupt_does_not_wait(model, data):
    class Impatient(Listener):
        def updated(self, step, loss):
            os.kill(os.getpid(), signal.SIGINT)
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        fit(model, data, CONFIG, observer=Impatient())


def test_checkpoints_come_at_their_steps_and_at_the_end(model, data, tmp_path):
    fit(model, data, CONFIG, run=RunFolder(tmp_path))
    assert sorted(each.name for each in Checkpoints(tmp_path / "state").folder.iterdir()) == [
        "step-00000015",
        "step-00000025",
    ]


def test_a_loss_that_is_not_finite_stops_before_the_update(model, data):
    with torch.no_grad():
        model.norm.weight[0] = float("nan")
    before = model.embedding.weight.clone()
    with pytest.raises(
        TrainingError, match=r"The loss must be finite\. It is nan at step 0, and the weight norm\.weight is not finite"
    ):
        fit(model, data, CONFIG)
    assert torch.equal(before, model.embedding.weight)


def test_noam_needs_the_width(model, data):
    config = TrainConfig(steps=2, schedule="noam", batch=2)
    with pytest.raises(ConfigError, match="pass it to `fit`"):
        fit(model, data, config)
    assert fit(model, data, config, d_model=8).step == 2


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"config": RunConfig()}, "`config` must be a TrainConfig. Got RunConfig"),
        ({"config": {"steps": 3}}, "`config` must be a TrainConfig. Got dict"),
        ({"data": ["text"]}, "`data` must be TextData. Got list"),
    ],
)
def test_arguments_of_another_kind_are_refused(model, data, change, message):
    with pytest.raises(HeadwiseError) as caught:
        fit(**{"model": model, "data": data, "config": CONFIG, **change})
    assert message in str(caught.value)


def test_a_model_without_a_weight_that_can_learn_is_refused(model, data):
    with pytest.raises(TrainingError, match="No parameter requires a gradient"):
        fit(model.requires_grad_(False), data, CONFIG)


def test_a_second_training_does_not_write_into_a_run(model, data, tmp_path):
    fit(model, data, TrainConfig(steps=2, batch=2), run=RunFolder(tmp_path))
    log = (tmp_path / "log.jsonl").read_text()
    with pytest.raises(RunError, match="has a log"):
        fit(model, data, TrainConfig(steps=2, batch=2, seed=9), run=RunFolder(tmp_path))
    assert (tmp_path / "log.jsonl").read_text() == log


def test_a_lost_end_of_the_log_is_told(model, data, tmp_path):
    class Heard(Observer):
        def restored(self, restored):
            self.shorter = restored.shorter

    heard = Heard()
    config = TrainConfig(steps=3, batch=2, checkpoint_every=2)
    fit(model, data, config, run=RunFolder(tmp_path))
    shutil.rmtree(tmp_path / "state" / "step-00000003")
    (tmp_path / "log.jsonl").write_text('{"step": 0')
    fit(model, data, config, run=RunFolder(tmp_path), observer=heard, resume=True)
    assert heard.shorter == ("log.jsonl",)
    assert [json.loads(line)["step"] for line in (tmp_path / "log.jsonl").read_text().splitlines()] == [3]
