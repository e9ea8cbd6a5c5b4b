"""Flags, files of settings, and messages."""

import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from headwise.cli import main
from headwise.commands.env import Env
from headwise.commands.explain import Explain
from headwise.commands.parse import parse
from headwise.commands.sample import Sample
from headwise.commands.train import Train
from headwise.version import __version__


def test_flags_fill_the_settings():
    command = parse(
        [
            "train",
            "--steps",
            "7",
            "--seed",
            "3",
            "--data",
            "x.txt",
            "--run",
            "here",
            "--threads",
            "1",
            "--layers",
            "2",
            "--no-tied",
        ]
    )
    assert isinstance(command, Train)
    assert (command.settings.data, command.run, command.settings.model.layers, command.settings.model.tied) == (
        "x.txt",
        Path("here"),
        2,
        False,
    )
    assert (command.settings.train.steps, command.settings.train.seed, command.settings.train.threads) == (7, 3, 1)


def test_flags_overrule_the_file(tmp_path):
    (tmp_path / "a.toml").write_text("[train]\nsteps = 5\nseed = 9\n")
    for spelling in (["--config", str(tmp_path / "a.toml")], [f"--config={tmp_path / 'a.toml'}"]):
        command = parse(["train", *spelling, "--steps", "6"])
        assert (command.settings.train.steps, command.settings.train.seed) == (6, 9)


def test_each_command_has_its_flags():
    assert parse(["sample", "runs/x", "--top-k", "5"]) == Sample(run=Path("runs/x"), top_k=5)
    assert parse(["explain", "--mask", "Causal()"]) == Explain(mask="Causal()")
    assert parse(["train", "--debug", "attention"]).settings.train.debug == ("attention",)


@pytest.mark.parametrize(
    "arguments",
    [["train", "--stps", "3"], ["nothing"], ["train", "--steps", "many"], ["sample"], ["train", "--schedule", "x"]],
)
def test_wrong_flags_end_with_the_code_2(arguments):
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["train", "--steps", "0"], "`steps` must be at least 1. Got 0."),
        (["train", "--data", "absent.txt"], "'absent.txt': No such file or directory."),
        (["train", "--config", "absent.toml"], "absent.toml: No such file or directory."),
        (["train", "--config"], "--config"),
        (["train", "--device", "gpu"], "`device` must be one that PyTorch can use here. Got 'gpu'"),
        (["train", "--device", "meta"], "Got 'meta'"),
        (["sample", "absent"], "absent has no config.toml"),
        (
            ["explain", "--mask", "Casual()"],
            "`mask` must be built from Full, Causal, Window, Prefix, Dilated, Padding, Documents",
        ),
        (["explain", "--mask", "Window()"], "`mask` must give Window its arguments"),
        (["explain", "--mask", "__import__('os')"], "Got \"__import__('os')\""),
        (["explain", "--score", "Softcap("], "`score` must be built from Softcap, Alibi"),
        (["explain", "--keys", "0"], "`keys` must be at least 1. Got 0."),
        (["explain", "--device", "gpu"], "The tensors must be possible on the device. Got 'gpu'"),
        (["explain", "--heads", "3", "--kv-heads", "2"], "3"),
    ],
)
def test_bad_input_is_one_message_and_the_code_2(arguments, message, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    try:
        code = main(arguments)
    except SystemExit as ended:
        code = ended.code
    printed = capsys.readouterr()
    assert code == 2
    assert message in printed.err
    assert "Traceback" not in printed.err
    assert list(tmp_path.iterdir()) == []


def test_with_json_an_error_is_a_document_too(capsys):
    assert main(["sample", "absent", "--json"]) == 2
    assert "config.toml" in json.loads(capsys.readouterr().out.splitlines()[-1])["error"]


def test_a_full_disk_is_one_message_and_other_faults_keep_their_traceback(monkeypatch, capsys):
    def fail(code):
        def call(self):
            raise OSError(code, os.strerror(code), "runs/x/log.jsonl")

        return call

    monkeypatch.setattr(Env, "__call__", fail(errno.ENOSPC))
    assert main(["env", "--json"]) == 2
    assert "No space left on device: 'runs/x/log.jsonl'" in json.loads(capsys.readouterr().out)["error"]
    monkeypatch.setattr(Env, "__call__", fail(errno.EBADF))
    with pytest.raises(OSError, match="Bad file descriptor"):
        main(["env"])


def test_a_character_that_the_output_cannot_show_stops_nothing():
    program = "import sys; from headwise.cli import main; main(['--version']); print('\\u4f60')"
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
    )
    assert done.stdout.splitlines()[-1] == "?"


def test_help_imports_no_torch():
    program = "import sys; from headwise.cli import main\ntry: main(['--help'])\nexcept SystemExit: pass\nassert 'torch' not in sys.modules, 'torch'"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert all(name in done.stdout for name in ("train", "sample", "explain", "env"))


def test_the_version_is_printed(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"headwise {__version__}\n"


def test_without_a_command_the_help_is_printed(capsys):
    with pytest.raises(SystemExit) as caught:
        main([])
    assert caught.value.code == 0
    assert "usage: headwise" in capsys.readouterr().out


def test_of_a_flag_given_twice_the_last_one_counts(tmp_path):
    (tmp_path / "a.toml").write_text("[train]\nsteps = 7\n")
    parsed = parse(
        ["train", "--preset", "tiny", "--preset=nano", "--config", "absent.toml", "--config", str(tmp_path / "a.toml")]
    )
    assert (parsed.settings.model.d_model, parsed.settings.train.steps) == (64, 7)


def test_a_closed_output_and_a_terminal_without_a_width_stop_nothing(tmp_path):
    environment = {**os.environ, "COLUMNS": "0", "PYTHONPATH": os.pathsep.join(sys.path)}
    code = "import os, sys; from headwise.cli import main; code = main(['env']); assert 'COLUMNS' not in os.environ; sys.exit(code)"
    command = [sys.executable, "-c", f"import sys; sys.stdout = None\n{code}"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
