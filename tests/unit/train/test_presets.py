"""Presets, files that extend each other, and what follows from a depth."""

from typing import get_args

import pytest
import torch

from headwise.commands.parse import parse
from headwise.train.build import assembled
from headwise.train.config import ConfigError, RunConfig
from headwise.train.presets import PRESETS, PresetName, derived, merged
from headwise.train.settings import gathered
from headwise.train.toml import read_toml, with_setting


def test_each_preset_is_a_whole_set_of_settings():
    assert set(get_args(PresetName)) == set(PRESETS)
    for name in PRESETS:
        gathered(name=name).check()
    assert gathered(name="tiny") == RunConfig()
    with pytest.raises(ConfigError, match="must be one of nano, tiny"):
        gathered(name="huge")


@pytest.mark.parametrize(
    ("name", "vocab", "parameters"),
    [("small", 65, 10_646_784), ("gpt2", 50257, 124_439_808), ("llama-1b-shape", 128_256, 1_235_814_400)],
)
def test_presets_have_the_published_numbers_of_parameters(name, vocab, parameters):
    with torch.device("meta"):
        model = assembled(gathered(name=name).model, vocab)
    assert sum(each.numel() for each in model.parameters()) == parameters


def test_a_file_overrules_the_preset_and_flags_overrule_the_file(tmp_path):
    path = tmp_path / "a.toml"
    path.write_text("[train]\nsteps = 7\nbatch = 3\n")
    given = ["train", "--preset", "small", "--config", str(path), "--steps", "9"]
    settings = parse(given).settings
    assert (settings.model.layers, settings.train.batch, settings.train.steps) == (6, 3, 9)


def test_a_file_extends_a_file_that_extends_a_preset(tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "base.toml").write_text('extends = "small"\n[train]\nsteps = 7\nbatch = 3\n')
    (tmp_path / "sub" / "top.toml").write_text('extends = "../base.toml"\n[train]\nsteps = 8\n')
    config = read_toml(tmp_path / "sub" / "top.toml")
    assert (config.model.d_model, config.train.batch, config.train.steps) == (384, 3, 8)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('extends = "a.toml"', "must not extend itself"),
        ("extends = 3", "must be the name of a preset or of a file"),
        ('extends = "absent.toml"', r"absent\.toml: No such file"),
        ('extends = "tiny"\n[train]\nstepz = 3', r"a\.toml has `train\.stepz`"),
    ],
)
def test_a_wrong_base_is_refused(tmp_path, text, message):
    (tmp_path / "a.toml").write_text(text)
    with pytest.raises(ConfigError, match=message):
        read_toml(tmp_path / "a.toml")


def test_an_error_names_the_file_in_which_it_stands(tmp_path):
    (tmp_path / "base.toml").write_text("[model]\nlayerz = 3")
    (tmp_path / "top.toml").write_text('extends = "base.toml"')
    with pytest.raises(ConfigError, match=r"base\.toml has `model\.layerz`"):
        read_toml(tmp_path / "top.toml")


def test_width_heads_rate_and_steps_follow_from_the_depth():
    shallow, deep = derived(2, rows=1024), derived(12, rows=1024)
    assert shallow["model"] == {"layers": 2, "d_model": 128, "heads": 2}
    assert shallow["train"]["learning_rate"] == 2e-3
    assert deep["model"] == {"layers": 12, "d_model": 768, "heads": 12}
    assert deep["train"]["learning_rate"] == pytest.approx(6e-4, rel=0.02)
    # Twenty tokens for each parameter of the layers.
    assert shallow["train"]["steps"] * 1024 == pytest.approx(20 * 12 * 2 * 128**2, rel=1e-3)
    with pytest.raises(ConfigError, match=r"`depth` must be at least 1\. Got 0"):
        gathered(depth=0)


def test_a_flag_overrules_the_depth():
    settings = parse(["train", "--depth", "3", "--steps", "5", "--heads", "6"]).settings
    assert (settings.model.layers, settings.model.d_model, settings.model.heads, settings.train.steps) == (3, 192, 6, 5)


def test_tables_are_merged_key_by_key():
    assert merged({"a": {"b": 1, "c": 2}, "d": 3}, {"a": {"c": 4}, "d": {"e": 5}}) == {
        "a": {"b": 1, "c": 4},
        "d": {"e": 5},
    }


@pytest.mark.parametrize(
    ("name", "text", "section", "value"),
    [
        ("learning-rate", "1e-3", "train", 1e-3),
        ("learning_rate", "1", "train", 1.0),
        ("layers", "2", "model", 2),
        ("optimizer", "muon", "train", "muon"),
        ("tied", "false", "model", False),
        ("data", "some/file.txt", None, "some/file.txt"),
    ],
)
def test_one_setting_is_changed_by_its_name(name, text, section, value):
    config = with_setting(RunConfig(), name, text)
    assert getattr(config if section is None else getattr(config, section), name.replace("-", "_")) == value


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [("stepz", "3", "Got 'stepz'"), ("steps", "many", "the list has 'many'"), ("model", "3", "Got 'model'")],
)
def test_a_setting_that_is_unknown_or_of_another_kind_is_refused(name, text, message):
    with pytest.raises(ConfigError, match=message):
        with_setting(RunConfig(), name, text)
