"""A compiled training, with a real compiler: the losses of the plain one, and a resume that is exact."""

import json

import pytest
import torch
from safetensors.torch import load_file

from headwise.engines.compiler import why_no_compiler
from headwise.train.build import build_model
from headwise.train.config import ModelConfig, TrainConfig
from headwise.train.loop import fit
from headwise.train.observer import Observer
from headwise.train.run_folder import RunFolder

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(why_no_compiler() is not None, reason="torch.compile needs a compiler"),
]
SHAPE = ModelConfig(layers=2, d_model=16, heads=2, context=16)
STEPS = {"steps": 8, "batch": 4, "accumulate": 2, "report_every": 2, "checkpoint_every": 2, "learning_rate": 0.01}


class Killed(Exception):
    """Stands for the end of the process."""


class Ended(Observer):
    """Ends the process after a step."""

    def __init__(self, step):
        self.step = step

    def updated(self, step, loss):
        if step == self.step:
            raise Killed


@pytest.fixture
def train(data, tokenizer, tmp_path):
    def once(name, *, compile, killed=None, resume=False):
        (tmp_path / name).mkdir(exist_ok=True)
        model = build_model(SHAPE, vocab=tokenizer.vocab, seed=0)
        config = TrainConfig(compile=compile, **STEPS)
        fit(model, data, config, run=RunFolder(tmp_path / name), observer=Ended(killed), resume=resume)
        lines = (tmp_path / name / "log.jsonl").read_text().splitlines()
        return [{**json.loads(line), "seconds": 0} for line in lines], load_file(tmp_path / name / "model.safetensors")

    return once


@pytest.mark.filterwarnings("ignore")
def test_a_compiled_run_has_the_losses_of_the_plain_one_and_resumes_exactly(train):
    plain, compiled = train("plain", compile=False), train("compiled", compile=True)
    for key in ("train_loss", "validation_loss", "gradient_norm"):
        values = [[entry[key] for entry in log if entry[key] is not None] for log in (plain[0], compiled[0])]
        assert len(values[0]) >= 4
        assert values[0] == pytest.approx(values[1], rel=1e-4), key
    with pytest.raises(Killed):
        train("killed", compile=True, killed=5)
    resumed = train("killed", compile=True, resume=True)
    assert resumed[0] == compiled[0]
    assert resumed[1].keys() == compiled[1].keys()
    for name, weight in resumed[1].items():
        assert torch.equal(weight, compiled[1][name]), name
