"""Settings: ranges, and TOML that is read strictly."""

import pytest

from headwise.train.build import build_model
from headwise.train.config import ConfigError, ModelConfig, RunConfig, TrainConfig
from headwise.train.toml import dump_toml, load_toml, read_toml


def test_settings_read_back_equal():
    model, train = ModelConfig(kv_heads=2, tied=False), TrainConfig(learning_rate=1e-5, debug=("attention",), clip=0.5)
    config = RunConfig(data='a "quoted" \\ file\x7f\n😀', model=model, train=train)
    assert load_toml(dump_toml(config), "here") == config


def test_an_absent_value_is_left_out():
    assert "threads" not in dump_toml(RunConfig())
    assert "threads = 2" in dump_toml(RunConfig(train=TrainConfig(threads=2)))


def test_an_unknown_key_is_answered_with_the_nearest_name():
    with pytest.raises(
        ConfigError, match=r"my\.toml has `train\.learing_rate`; the nearest known name is `train\.learning_rate`"
    ):
        load_toml("[train]\nlearing_rate = 0.1", "my.toml")


def test_a_key_without_a_near_name_is_answered_with_the_known_ones():
    with pytest.raises(
        ConfigError, match=r"`zzz`; known here are data, encoding, tokenizer, vocab, documents, model, train"
    ):
        load_toml("zzz = 1", "my.toml")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[train]\nsteps = true", "`train.steps` must be int. x has True"),
        ("[train]\nsteps = 1.5", "`train.steps` must be int"),
        ("[train]\nschedule = 'step'", "must be one of cosine, linear, wsd, noam. x has 'step'"),
        ("[train]\ndebug = ['weights']", "must be one of attention"),
        ("[train]\nsteps = 0", "`steps` must be at least 1. Got 0. It stands in x."),
        ("[model]\nheads = 3", "`heads` must divide `d_model`. Got d_model=128 and heads=3"),
        ("model = 3", "`model` must be ModelConfig. x has 3"),
        ("[train", "The settings must be TOML. x:"),
    ],
)
def test_a_wrong_value_is_named_with_its_place(text, message):
    with pytest.raises(ConfigError) as caught:
        load_toml(text, "x")
    assert message in str(caught.value)


def test_a_whole_number_serves_as_a_float():
    assert load_toml("[train]\nlearning_rate = 1", "x").train.learning_rate == 1.0


def test_a_missing_settings_file_is_named(tmp_path):
    with pytest.raises(ConfigError, match=r"absent\.toml: No such file"):
        read_toml(tmp_path / "absent.toml")


def test_a_settings_file_in_another_encoding_is_refused(tmp_path):
    (tmp_path / "a.toml").write_bytes(b"# caf\xe9\n")
    with pytest.raises(ConfigError, match="another byte at offset 5"):
        read_toml(tmp_path / "a.toml")


@pytest.mark.parametrize(
    "build",
    [
        lambda: ModelConfig(layers=0),
        lambda: ModelConfig(dropout=1.0),
        lambda: TrainConfig(batch=0),
        lambda: TrainConfig(seed=-1),
        lambda: TrainConfig(seed=2**63),
        lambda: TrainConfig(threads=0),
        lambda: TrainConfig(threads=100_000),
        lambda: TrainConfig(beta1=1.0),
        lambda: TrainConfig(beta2=-0.1),
        lambda: TrainConfig(weight_decay=-1.0),
        lambda: TrainConfig(noam_factor=0.0),
        lambda: TrainConfig(learning_rate=0.0),
        lambda: TrainConfig(final_fraction=2.0),
        lambda: TrainConfig(clip=0.0),
        lambda: TrainConfig(sample_length=-1),
        lambda: TrainConfig(steps=10, warmup=11),
        lambda: TrainConfig(decay=-1),
        lambda: TrainConfig(label_smoothing=1.0),
        lambda: TrainConfig(ema=1.0),
        lambda: TrainConfig(patience=0),
        lambda: TrainConfig(batch=6, accumulate=4),
    ],
)
def test_values_out_of_range_are_refused(build):
    with pytest.raises(ConfigError, match="Got"):
        build().check()


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: TrainConfig(steps=True), "`steps` must be a whole number. Got True"),
        (lambda: TrainConfig(steps=1.5), "`steps` must be a whole number. Got 1.5"),
        (lambda: TrainConfig(batch=2**31), "`batch` must be less than 2,147,483,648. Got 2,147,483,648"),
        (lambda: ModelConfig(layers=10**30), "`layers` must be less than 2,147,483,648"),
        (lambda: TrainConfig(steps=10**30), "`steps` must be less than 9,223,372,036,854,775,808"),
        (lambda: TrainConfig(optimizer="sgd"), "`optimizer` must be one of adamw, muon. Got 'sgd'"),
        (lambda: TrainConfig(learning_rate=None), "`learning_rate` must be a finite number. Got None"),
        (lambda: TrainConfig(learning_rate=float("inf")), "`learning_rate` must be a finite number. Got inf"),
        (lambda: TrainConfig(clip=float("inf")), "`clip` must be a finite number. Got inf"),
        (lambda: TrainConfig(weight_decay=float("nan")), "`weight_decay` must be a finite number. Got nan"),
        (lambda: TrainConfig(compile=1), "`compile` must be True or False. Got 1"),
        (lambda: TrainConfig(track=("csv", "csv")), "`track` must be a tuple of csv, tensorboard"),
        (lambda: TrainConfig(prompt="\udcff"), "`prompt` must be text in valid Unicode"),
        (lambda: ModelConfig(kv_heads="2"), "`kv_heads` must be a whole number. Got '2'"),
        (lambda: RunConfig(data="\udcff.txt"), "`data` must be text in valid Unicode"),
        (lambda: RunConfig(model={}), "`model` must be ModelConfig"),
    ],
)
def test_values_of_another_kind_are_refused(build, message):
    with pytest.raises(ConfigError) as caught:
        build().check()
    assert message in str(caught.value)


def test_a_model_that_no_memory_holds_is_refused():
    with pytest.raises(ConfigError, match=r"The weights must fit into memory. Got layers=1, d_model=2097152"):
        build_model(ModelConfig(layers=1, d_model=2**21, heads=1), vocab=10, seed=1)
