"""A run that goes on with other settings than it began with is refused, with the names and both values."""

import json
from dataclasses import replace

import pytest
import torch

from headwise.train.config import ModelConfig, RunConfig, TrainConfig
from headwise.train.experiment import resume_experiment, run_experiment
from headwise.train.gradient import TrainingError
from headwise.train.loop import fit
from headwise.train.run_folder import RunFolder

CONFIG = TrainConfig(steps=4, batch=2, checkpoint_every=2, ema=0.9)


@pytest.fixture
def begun(model, data, tmp_path):
    """A run of which two of four updates are done."""
    fit(model, data, CONFIG, run=RunFolder(tmp_path))
    for each in (tmp_path / "state").glob("step-*4"):
        each.rename(tmp_path / "gone")
    return RunFolder(tmp_path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"seed": 2}, "seed=2 in place of 1"),
        ({"learning_rate": 0.5}, "learning_rate=0.5 in place of 0.002"),
        ({"steps": 9}, "steps=9 in place of 4"),
        ({"optimizer": "muon"}, "optimizer='muon' in place of 'adamw'"),
        ({"ema": None}, "ema=None in place of 0.9"),
        ({"seed": 2, "clip": None}, "seed=2 in place of 1, clip=None in place of 1.0"),
    ],
)
def test_a_changed_setting_is_refused_and_the_weights_stay(model, data, begun, change, message):
    before = [each.clone() for each in model.parameters()]
    with pytest.raises(
        TrainingError, match=f"must have the settings it began with. Got {message}; put the former back"
    ):
        fit(model, data, replace(CONFIG, **change), run=begun, resume=True)
    assert all(torch.equal(*pair) for pair in zip(before, model.parameters(), strict=True))


@pytest.mark.parametrize(
    "change", [{}, {"threads": 1}, {"accumulate": 2}, {"report_every": 3}, {"checkpoint_every": 3}]
)
def test_settings_that_leave_the_updates_as_they_are_may_change(model, data, begun, change):
    assert fit(model, data, replace(CONFIG, **change), run=begun, resume=True).step == 4


def test_a_checkpoint_of_a_former_version_knows_no_settings_and_goes_on(model, data, begun):
    path = begun.path / "state" / "step-00000002" / "state.json"
    content = json.loads(path.read_text())
    assert content.pop("settings")["seed"] == 1
    path.write_text(json.dumps(content))
    assert fit(model, data, replace(CONFIG, seed=2), run=begun, resume=True).step == 4


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("steps = 4", "steps = 3", "steps=3 in place of 4"),
        ("dropout = 0.0", "dropout = 0.5", "model.dropout=0.5 in place of 0.0"),
        ('documents = "joined"', 'documents = "apart"', "documents='apart' in place of 'joined'"),
    ],
)
def test_an_edited_settings_file_is_refused(tmp_path, monkeypatch, old, new, message):
    monkeypatch.setenv("HEADWISE_CACHE", str(tmp_path / "cache"))
    shape = ModelConfig(layers=1, d_model=8, heads=2, context=8)
    train = replace(CONFIG, threads=1, validation_rows=2, sample_length=2)
    run_experiment(RunConfig(model=shape, train=train), run=tmp_path / "run")
    path = tmp_path / "run" / "config.toml"
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))
    with pytest.raises(TrainingError, match=message):
        resume_experiment(tmp_path / "run")
    path.write_text(path.read_text().replace(new, old))
    assert resume_experiment(tmp_path / "run") is None
