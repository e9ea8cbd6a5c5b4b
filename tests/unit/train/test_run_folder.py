"""A run never writes into the folder of another."""

import json
import os
from pathlib import Path

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


def test_of_two_runs_that_find_a_folder_empty_one_gets_it(tmp_path):
    first, second = (RunFolder.create(tmp_path / "run", name="x") for _ in range(2))
    first.claim()
    with pytest.raises(RunError, match="exists already"):
        second.claim()


def test_one_training_at_a_time_writes_to_a_run(tmp_path):
    run = RunFolder(tmp_path)
    with run.held(new=True), pytest.raises(RunError, match=r"Another one is at work in .*; wait for its end"):
        run.held(new=False).__enter__()
    with run.held(new=False):
        assert not list(tmp_path.iterdir())


def test_a_new_training_does_not_write_behind_the_log_of_another(tmp_path):
    RunFolder(tmp_path).append_log({"step": 0})
    with pytest.raises(RunError, match=r"has a log. Pass `resume=True` to go on"), RunFolder(tmp_path).held(new=True):
        pass


def test_a_folder_that_is_gone_or_closed_is_told(tmp_path, monkeypatch):
    with pytest.raises(
        RunError, match=r"must be writable.*log\.jsonl: No such file or directory; once they are, `--resume`"
    ):
        RunFolder(tmp_path / "gone").append_log({"step": 0})
    with pytest.raises(RunError, match="must be writable"), RunFolder(tmp_path / "gone").held(new=True):
        pass

    def refuse(path):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "is_file", refuse)
    with pytest.raises(RunError, match=r"must be readable.*Permission denied"):
        RunFolder.open(tmp_path)


@pytest.mark.parametrize("name", ["a" * 300, "a\0b"])
def test_a_name_that_no_folder_can_have_is_refused(tmp_path, name):
    with pytest.raises(RunError, match="must be writable"):
        RunFolder.create(tmp_path / name, name="x")


@pytest.mark.parametrize("content", [None, "{", "[]", "{}"])
def test_a_run_that_has_forgotten_its_text_is_told(tmp_path, content):
    run = RunFolder(tmp_path)
    run.write_digest("right")
    run.check_digest("right", "text")
    with pytest.raises(RunError, match="'text' has changed since"):
        run.check_digest("wrong", "text")
    path = tmp_path / "state" / "data.json"
    path.unlink() if content is None else path.write_text(content)
    with pytest.raises(RunError, match=r"data\.json is missing or damaged"):
        run.check_digest("right", "text")


def test_a_log_that_lost_its_end_is_cut_to_whole_lines_and_told(tmp_path):
    run = RunFolder(tmp_path)
    for step in range(3):
        run.append_log({"step": step})
    size = run.sizes_on_disk()[0]
    assert run.cut(size - 1, 0) == ()
    os.truncate(tmp_path / "log.jsonl", size - 5)
    assert run.cut(size, 7) == ("log.jsonl", "samples.txt")
    run.append_log({"step": 3})
    assert [json.loads(line)["step"] for line in (tmp_path / "log.jsonl").read_text().splitlines()] == [0, 1, 3]
