"""A run that is interrupted anywhere and resumed ends with the same bits as one that never was."""

import json
from dataclasses import replace

import pytest
import torch
from safetensors.torch import load_file

from headwise.train.config import TrainConfig
from headwise.train.loop import TrainingError, fit
from headwise.train.observer import Observer
from headwise.train.run_folder import RunFolder

CONFIG = TrainConfig(steps=14, batch=4, report_every=5, sample_every=4, checkpoint_every=3, learning_rate=0.02)


class Killed(Exception):
    """Stands for the end of the process."""


class Doomed(Observer):
    """Writes samples, and ends the process after some step: before or after that step's log, sample and checkpoint."""

    def __init__(self, run, model, step=None, moment="updated"):
        self.run, self.model, self.step, self.moment = run, model, step, moment

    def updated(self, step, loss):
        self._die(step, "updated")

    def reported(self, report):
        self._die(report.step, "reported")

    def sample(self, step):
        self.run.append_sample(step, f"{self.model.embedding.weight.sum().item()}")
        self._die(step, "sampled")

    def _die(self, step, moment):
        if (step, moment) == (self.step, self.moment):
            raise Killed


def contents(path):
    """Everything that a run leaves, without the fields of time."""
    log = [json.loads(line) for line in (path / "log.jsonl").read_text().splitlines()]
    for entry in log:
        del entry["seconds"]
    tensors = load_file(path / "model.safetensors")
    moments = load_file(path / "state" / "step-00000014" / "optimizer.safetensors")
    checkpoints = sorted(each.name for each in (path / "state").iterdir())
    return log, (path / "samples.txt").read_text(), tensors | moments, checkpoints


def assert_same(left, right):
    assert left[0] == right[0]
    assert left[1] == right[1]
    assert left[2].keys() == right[2].keys()
    for name, tensor in left[2].items():
        assert torch.equal(tensor, right[2][name]), name
    assert left[3] == right[3]


@pytest.fixture
def attempt(pairs, data, tokenizer):
    def once(folder, *, config=CONFIG, resume=False, step=None, moment="updated"):
        folder.mkdir(exist_ok=True)
        torch.manual_seed(5)
        model = pairs(tokenizer.vocab, dropout=0.3)
        run = RunFolder(folder)
        return fit(model, data, config, run=run, observer=Doomed(run, model, step, moment), resume=resume)

    return once


@pytest.mark.parametrize(
    ("step", "moment"),
    [*((step, "updated") for step in range(1, 15)), (0, "reported"), (5, "reported"), (8, "sampled"), (14, "sampled")],
)
def test_a_killed_run_ends_with_the_same_bits(attempt, tmp_path, step, moment):
    """Case T04: N steps are k steps, a kill, and N - k steps, at every k, with dropout and with accumulation."""
    # Every second step with accumulation, every third with Muon.
    config = replace(CONFIG, accumulate=1 + step % 2, optimizer="adamw" if step % 3 else "muon")
    attempt(tmp_path / "whole", config=config)
    with pytest.raises(Killed):
        attempt(tmp_path / "killed", config=config, step=step, moment=moment)
    attempt(tmp_path / "killed", config=config, resume=True)
    assert_same(contents(tmp_path / "killed"), contents(tmp_path / "whole"))


@pytest.mark.parametrize("step", [2, 5, 9, 13])
@pytest.mark.parametrize(
    "settings",
    [
        {"ema": 0.9},
        {"ema": 0.9, "optimizer": "muon", "label_smoothing": 0.1},
        {"precision": "float16"},
        {"precision": "bfloat16", "accumulate": 2},
        {"patience": 2},
    ],
)
def test_a_killed_run_ends_with_the_same_bits_under_other_settings(attempt, tmp_path, settings, step):
    """Case T04: averaged weights, the scale of the loss and the patience are part of what is restored."""
    config = replace(CONFIG, **settings)
    attempt(tmp_path / "whole", config=config)
    with pytest.raises(Killed):
        attempt(tmp_path / "killed", config=config, step=step)
    attempt(tmp_path / "killed", config=config, resume=True)
    assert_same(contents(tmp_path / "killed"), contents(tmp_path / "whole"))


def test_a_run_that_is_killed_again_and_again_ends_with_the_same_bits(attempt, tmp_path):
    """Case T04: the kills come at every step in turn."""
    attempt(tmp_path / "whole")
    for number, step in enumerate(range(2, 15)):
        with pytest.raises(Killed):
            attempt(tmp_path / "killed", step=step, resume=number > 0)
    attempt(tmp_path / "killed", resume=True)
    assert_same(contents(tmp_path / "killed"), contents(tmp_path / "whole"))


def test_a_line_that_was_torn_is_cut_off(attempt, tmp_path):
    attempt(tmp_path / "whole")
    with pytest.raises(Killed):
        attempt(tmp_path / "killed", step=7)
    with (tmp_path / "killed" / "log.jsonl").open("a") as file:
        file.write('{"step": 9, "tr')
    attempt(tmp_path / "killed", resume=True)
    assert_same(contents(tmp_path / "killed"), contents(tmp_path / "whole"))


def test_a_damaged_checkpoint_costs_steps_and_no_bits(attempt, tmp_path):
    attempt(tmp_path / "whole")
    with pytest.raises(Killed):
        attempt(tmp_path / "killed", step=11)
    (tmp_path / "killed" / "state" / "step-00000009" / "optimizer.safetensors").write_bytes(b"torn")
    attempt(tmp_path / "killed", resume=True)
    left, right = contents(tmp_path / "killed"), contents(tmp_path / "whole")
    assert left[:2] == right[:2]
    assert all(torch.equal(tensor, right[2][name]) for name, tensor in left[2].items())


def test_resuming_needs_a_run_folder(model, data):
    with pytest.raises(TrainingError, match="Got no `run`"):
        fit(model, data, CONFIG, resume=True)
