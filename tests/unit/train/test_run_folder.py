"""A run never writes into the folder of another."""

import json

import pytest

from headwise.train.config import RunConfig, TrainConfig
from headwise.train.run_folder import RunError, RunFolder
from headwise.train.tokenizer import CharacterTokenizer


def test_a_default_name_takes_the_next_free_number(tmp_path):
    names = [RunFolder.create(None, name="manual", below=tmp_path / "runs").path.name for _ in range(3)]
    assert names == ["manual", "manual-2", "manual-3"]


def test_a_folder_with_content_is_refused(tmp_path):
    (tmp_path / "work.txt").write_text("precious")
    with pytest.raises(RunError, match=r"exists already\. Choose another name, or remove it first"):
        RunFolder.create(tmp_path, name="x")
    assert [each.name for each in tmp_path.iterdir()] == ["work.txt"]


def test_an_empty_folder_serves(tmp_path):
    assert RunFolder.create(tmp_path / "a" / "b", name="x").path == tmp_path / "a" / "b"
    assert RunFolder.create(tmp_path / "a" / "b", name="x").path == tmp_path / "a" / "b"


def test_a_file_in_the_place_of_the_folder_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(RunError, match="exists already"):
        RunFolder.create(tmp_path / "file", name="x")
    with pytest.raises(RunError, match="must be writable"):
        RunFolder.create(tmp_path / "file" / "below", name="x")


def test_a_folder_without_settings_is_no_run(tmp_path):
    with pytest.raises(RunError, match=r"has no config\.toml"):
        RunFolder.open(tmp_path)


def test_settings_tokenizer_log_and_samples_are_kept(tmp_path):
    run = RunFolder(tmp_path)
    config = RunConfig(train=TrainConfig(steps=7))
    run.write_config(config)
    run.write_tokenizer(CharacterTokenizer("ab"))
    run.append_log({"step": 1})
    run.append_log({"step": 2})
    run.append_sample(2, "text")
    assert RunFolder.open(tmp_path).read_config() == config
    assert run.read_tokenizer().alphabet == "ab"
    assert [json.loads(line)["step"] for line in (tmp_path / "log.jsonl").read_text().splitlines()] == [1, 2]
    assert (tmp_path / "samples.txt").read_text() == "=== step 2\ntext\n\n"
