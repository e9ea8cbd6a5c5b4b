"""Real kills at random moments: nothing is lost, and no bit differs."""

import json
import os
import random
import signal
import time

import pytest
import torch
from safetensors.torch import load_file

from headwise.train.config import TrainConfig
from headwise.train.loop import fit
from headwise.train.observer import Observer
from headwise.train.run_folder import RunFolder

CONFIG = TrainConfig(steps=30, batch=4, report_every=7, sample_every=4, checkpoint_every=3, learning_rate=0.01)


class Writer(Observer):
    """Writes a sample that another weight would change."""

    def __init__(self, run, model):
        self.run, self.model = run, model

    def sample(self, step):
        self.run.append_sample(step, f"{self.model.embedding.weight.sum().item()!r}")


def attempt(folder, data, pairs, vocab):
    torch.manual_seed(5)
    model, run = pairs(vocab, dropout=0.2), RunFolder(folder)
    fit(model, data, CONFIG, run=run, observer=Writer(run, model), resume=True)


def killed_child(folder, arguments, seconds):
    """Trains in a process of its own and kills it; says whether it was killed before it was done."""
    child = os.fork()
    if child == 0:
        # The child leaves without the clean-up of the test process.
        try:
            attempt(folder, *arguments)
            os._exit(0)
        finally:
            os._exit(1)
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    status = os.waitpid(child, 0)[1]
    assert status in (0, signal.SIGKILL), "the child has failed by itself"
    return status == signal.SIGKILL


def contents(folder):
    log = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    log = [{name: value for name, value in entry.items() if name != "seconds"} for entry in log]
    return log, (folder / "samples.txt").read_text(), load_file(folder / "model.safetensors")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("wanted", [pytest.param(24, id="bounded"), pytest.param(200, id="all")])
def test_faults_at_random_moments_lose_nothing(pairs, data, tokenizer, tmp_path, wanted):
    """Case T04: a run that is killed at random moments ends with the bits of one that was not."""
    torch.set_num_threads(1)
    arguments = (data, pairs, tokenizer.vocab)
    (tmp_path / "whole").mkdir()
    started = time.monotonic()
    attempt(tmp_path / "whole", *arguments)
    duration = time.monotonic() - started
    log, samples, tensors = contents(tmp_path / "whole")
    chance = random.Random(0)
    kills, runs = 0, 0
    while kills < wanted:
        folder = tmp_path / f"run-{runs}"
        folder.mkdir()
        # A run is killed ten times or more on its way, and then left alone.
        for _ in range(12):
            kills += killed_child(folder, arguments, chance.uniform(0, duration / 3))
        attempt(folder, *arguments)
        again_log, again_samples, again = contents(folder)
        assert again_log == log
        assert again_samples == samples
        assert all(torch.equal(tensor, again[name]) for name, tensor in tensors.items())
        assert not list((folder / "state").glob("*.part")), "a later checkpoint removes what a kill has left"
        runs += 1
        assert runs < 100, "the kills come too late to meet a running process"
