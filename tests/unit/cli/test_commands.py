"""The commands, from the flags to what they leave behind."""

import json
import os
import shutil
import signal
import subprocess
import sys

import pytest
import torch

from headwise.cli import main
from headwise.train.build import load_run

SMALL = ["--steps", "12", "--layers", "1", "--d-model", "16", "--heads", "2", "--context", "16", "--batch", "4"]
SMALL += ["--report-every", "5", "--sample-every", "10", "--sample-length", "20", "--threads", "1"]


@pytest.fixture
def text(tmp_path):
    path = tmp_path / "fox.txt"
    path.write_text("the quick brown fox jumps over the lazy dog\n" * 60)
    return path


@pytest.fixture
def run(text, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["train", "--data", str(text), *SMALL]) == 0
    capsys.readouterr()
    return tmp_path / "runs" / "fox"


def last_document(capsys):
    return json.loads(capsys.readouterr().out.splitlines()[-1])


def test_train_writes_a_run_folder(text, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["train", "--data", str(text), *SMALL, "--json"]) == 0
    printed = capsys.readouterr().out
    document = json.loads(printed.splitlines()[-1])
    names = {each.name for each in (tmp_path / "runs" / "fox").iterdir()}
    assert names == {"config.toml", "tokenizer.json", "model.safetensors", "log.jsonl", "samples.txt", "state"}
    assert (document["step"], document["threads"], document["stopped_by"]) == (12, 1, None)
    assert document["bits_per_character"] == pytest.approx(document["validation_loss"] * 1.442695)
    for words in ("unigram", "bigram", "untrained", "The model at step 10 writes:", "headwise sample"):
        assert words in printed
    # A pipe gets no colours and no moving bar.
    assert "\x1b" not in printed


def test_a_second_run_has_a_folder_of_its_own(run, text):
    assert main(["train", "--data", str(text), *SMALL]) == 0
    assert (run.parent / "fox-2" / "model.safetensors").is_file()


def test_a_run_folder_that_exists_is_refused_and_untouched(run, text, capsys):
    before = {each.name: each.stat().st_mtime_ns for each in run.iterdir()}
    assert main(["train", "--data", str(text), *SMALL, "--run", str(run)]) == 2
    assert "exists already" in capsys.readouterr().err
    assert before == {each.name: each.stat().st_mtime_ns for each in run.iterdir()}


def test_the_settings_of_the_run_are_stored_with_the_threads(run):
    config = load_run(run)[2]
    assert (config.train.steps, config.train.threads, config.model.context) == (12, 1, 16)


def test_sample_writes_the_same_text_with_and_without_the_cache(run, capsys):
    """Case K02: the prompt and 40 tokens leave the context of 16 several times."""
    texts = []
    for cache in ("--cache", "--no-cache"):
        assert main(["sample", str(run), "--prompt", "the ", "--tokens", "40", "--seed", "3", "--json", cache]) == 0
        texts.append(last_document(capsys)["text"])
    assert texts[0] == texts[1]
    assert len(texts[0]) == 40


def test_sample_prints_the_prompt_and_the_text(run, capsys):
    assert main(["sample", str(run), "--prompt", "the quick", "--tokens", "5", "--temperature", "0"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("the quick")
    assert len(printed) == len("the quick") + 5 + 1


def test_sample_names_an_unknown_character(run, capsys):
    """Case T10: a "?" in the prompt."""
    assert main(["sample", str(run), "--prompt", "the ?"]) == 2
    assert "Got '?' (U+003F, QUESTION MARK) at index 4" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--tokens", "-1"], "tokens"),
        (["--top-k", "0"], "top_k"),
        (["--top-p", "2"], "top_p"),
        (["--temperature", "-1"], "temperature"),
        (["--prompt", ""], "prompt"),
        (["--seed", str(2**64)], "seed"),
    ],
)
def test_sample_refuses_values_out_of_range(run, capsys, arguments, message):
    assert main(["sample", str(run), *arguments]) == 2
    assert f"`{message}`" in capsys.readouterr().err


def test_debug_attention_logs_statistics_for_each_layer_and_head(text, tmp_path):
    assert main(["train", "--data", str(text), "--run", str(tmp_path / "r"), *SMALL, "--debug", "attention"]) == 0
    entries = [json.loads(line) for line in (tmp_path / "r" / "log.jsonl").read_text().splitlines()]
    statistics = [entry["attention"] for entry in entries if "attention" in entry]
    assert len(statistics) == 4
    for layers in statistics:
        assert len(layers) == 1
        (heads,) = layers.values()
        assert set(heads) == {"entropy", "max", "distance", "first", "self"}
        assert all(len(numbers) == 2 for numbers in heads.values())
        assert all(0 < number <= 1 for number in heads["max"])


def test_explain_names_an_engine_and_a_reason_for_each_other_one(capsys):
    assert (
        main(
            [
                "explain",
                "--keys",
                "64",
                "--mask",
                "Causal() & Window(8) | ~Documents(2)",
                "--score",
                "Softcap(30), Alibi()",
                "--grad",
                "--json",
            ]
        )
        == 0
    )
    document = last_document(capsys)
    others = document["refused"].keys() | document["considered"].keys()
    assert document["engine"] not in others
    assert {document["engine"], *others} >= {"reference", "sdpa", "blockwise"}


def test_explain_refuses_an_engine_that_cannot(capsys):
    assert main(["explain", "--engine", "sdpa", "--score", "Softcap(30)"]) == 2
    assert "sdpa" in capsys.readouterr().err


def test_env_prints_versions_threads_and_engines(capsys):
    assert main(["env", "--json"]) == 0
    document = last_document(capsys)
    assert document["versions"]["torch"] == torch.__version__
    assert document["threads"]["torch"] == torch.get_num_threads()
    assert document["engines"]["reference"] == "available"


def test_env_says_why_an_engine_cannot_run_on_this_machine(capsys):
    assert main(["env", "--json"]) == 0
    engines = last_document(capsys)["engines"]
    if not torch.cuda.is_available():
        assert "GPU" in engines["flash"]
        assert "GPU" in engines["flex"]


def test_explain_reads_every_part_that_numbers_describe(capsys):
    parts = ["--mask", "Prefix(4) | Dilated(8, 2) & Padding()", "--score", "T5Bias(), Sink(), T5Bias(8, buckets=16)"]
    assert main(["explain", "--keys", "32", *parts, "--json"]) == 0
    assert last_document(capsys)["engine"] in ("blockwise", "reference", "sdpa")


def test_ctrl_c_saves_and_exits_with_130(text, tmp_path):
    command = [
        sys.executable,
        "-m",
        "headwise.cli",
        "train",
        "--data",
        str(text),
        "--run",
        str(tmp_path / "r"),
        *SMALL,
        "--steps",
        "1000000",
        "--json",
    ]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONUNBUFFERED": "1"}
    ) as process:
        assert process.stdout is not None
        while not process.stdout.readline().strip().startswith("5 "):
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        rest = process.stdout.read()
    assert process.returncode == 130
    document = json.loads(rest.splitlines()[-1])
    assert document["stopped_by"] == signal.SIGINT
    assert "Stopped on request" in rest
    assert (tmp_path / "r" / "state" / f"step-{document['step']:08d}" / "state.json").is_file()
    assert load_run(tmp_path / "r")[2].train.steps == 1000000
    assert not list((tmp_path / "r").rglob("*.part"))


def test_a_stopped_run_resumes_and_ends_as_one_that_was_not(text, tmp_path, capsys):
    """Case T04: the command line goes on with the settings of the folder."""
    whole, stopped = tmp_path / "whole", tmp_path / "stopped"
    assert main(["train", "--data", str(text), *SMALL, "--run", str(whole)]) == 0
    send = signal.raise_signal
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "headwise.train.experiment.Narrator.updated",
            lambda self, step, loss: send(signal.SIGTERM) if step == 7 else None,
        )
        assert main(["train", "--data", str(text), *SMALL, "--run", str(stopped)]) == 128 + signal.SIGTERM
    assert "--resume" in capsys.readouterr().out
    assert main(["train", "--run", str(stopped), "--resume"]) == 0
    assert "resumed     after step 7" in capsys.readouterr().out
    for name in ("model.safetensors", "samples.txt", "config.toml", "tokenizer.json"):
        assert (whole / name).read_bytes() == (stopped / name).read_bytes(), name
    logs = [[json.loads(line) for line in (run / "log.jsonl").read_text().splitlines()] for run in (whole, stopped)]
    for entry in (*logs[0], *logs[1]):
        del entry["seconds"]
    assert logs[0] == logs[1]


def test_a_finished_run_stays_as_it_is(run, capsys):
    before = {each: each.stat().st_mtime_ns for each in run.rglob("*")}
    assert main(["train", "--run", str(run), "--resume", "--json"]) == 0
    assert last_document(capsys) == {"run": str(run), "step": 12, "finished": True}
    assert before == {each: each.stat().st_mtime_ns for each in run.rglob("*")}


@pytest.mark.parametrize(
    "flags", [["--steps", "13"], ["--threads", "2"], ["--layers", "2", "--seed", "9"], ["--data", "manual"]]
)
def test_a_flag_that_differs_from_the_run_is_refused(run, flags, capsys):
    assert main(["train", "--run", str(run), "--resume", *flags]) == 2
    assert f"Got {', '.join(flags[::2])} with other values" in capsys.readouterr().err


def test_a_flag_that_agrees_with_the_run_is_no_fault(run):
    assert main(["train", "--run", str(run), "--resume", "--steps", "12"]) == 0


def test_a_text_that_has_changed_is_refused(run, text, capsys):
    # Without its last checkpoint the run is not finished.
    shutil.rmtree(run / "state" / "step-00000012")
    text.write_text(text.read_text() + "more")
    assert main(["train", "--run", str(run), "--resume"]) == 2
    assert "must learn from the text it began with" in capsys.readouterr().err


def test_an_edited_settings_file_is_refused(run, capsys):
    config = run / "config.toml"
    config.write_text(config.read_text().replace("steps = 12", "steps = 20"))
    assert main(["train", "--run", str(run), "--resume"]) == 2
    assert "must have the settings it began with. Got steps=20 in place of 12" in capsys.readouterr().err


def test_resume_needs_the_folder_of_a_run(tmp_path, capsys):
    assert main(["train", "--resume"]) == 2
    assert "Got no `--run DIR`" in capsys.readouterr().err
    assert main(["train", "--resume", "--run", str(tmp_path)]) == 2
    assert "config.toml" in capsys.readouterr().err


@pytest.mark.parametrize("kind", ["bytes", "bpe"])
def test_other_tokenizers_train_and_sample(kind, text, tmp_path, capsys):
    text.write_text(text.read_text().replace("lazy", "l\u00e4zy"))
    assert (
        main(
            [
                "train",
                "--data",
                str(text),
                "--run",
                str(tmp_path / "r"),
                *SMALL,
                "--tokenizer",
                kind,
                "--vocab",
                "280",
                "--json",
            ]
        )
        == 0
    )
    document = last_document(capsys)
    assert 0 < document["bits_per_character"] < (document["validation_loss"] * 1.45 if kind == "bpe" else 100)
    assert main(["sample", str(tmp_path / "r"), "--prompt", "the l\u00e4zy", "--tokens", "30", "--json"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("the l\u00e4zy")
    assert json.loads(printed.splitlines()[-1])["tokens"] == 30
