"""headwise train --plan, eval, sweep and data info."""

import json
import math
import signal

import pytest

from headwise.cli import main
from headwise.train.build import load_run
from headwise.train.loss import mean_loss

SMALL = ["--layers", "1", "--d-model", "16", "--heads", "2", "--context", "16", "--batch", "4", "--steps", "6"]
SMALL += ["--report-every", "3", "--sample-length", "0", "--threads", "1"]


@pytest.fixture
def text(tmp_path):
    path = tmp_path / "fox.txt"
    path.write_text("the quick brown fox jumps over the l\u00e4zy dog\n" * 60)
    return path


@pytest.fixture
def run(text, tmp_path, capsys):
    assert main(["train", "--data", str(text), *SMALL, "--run", str(tmp_path / "r")]) == 0
    capsys.readouterr()
    return tmp_path / "r"


def document(capsys):
    return json.loads(capsys.readouterr().out.splitlines()[-1])


def test_the_plan_trains_nothing(text, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["train", "--plan", "--data", str(text), *SMALL, "--json"]) == 0
    printed = capsys.readouterr().out
    found = json.loads(printed.splitlines()[-1])
    assert found["tokens"] == 6 * 4 * 16
    assert found["engine"] == "sdpa"
    assert all(word in printed for word in ("parameters", "memory", "FLOPs", "tokens", "engine", "time"))
    assert [each.name for each in tmp_path.iterdir()] == ["fox.txt"]


def test_eval_measures_the_whole_validation_text(run, capsys):
    assert main(["eval", str(run), "--json"]) == 0
    found = document(capsys)
    assert found["tokens"] > 200
    assert found["perplexity"] == pytest.approx(math.exp(found["loss"]))
    # An umlaut is one character and two bytes.
    assert 0.9 < found["bits_per_byte"] / (found["loss_per_character"] / math.log(2)) < 1


def test_eval_of_the_measured_rows_is_the_loss_of_the_last_report(run, capsys):
    entry = json.loads((run / "log.jsonl").read_text().splitlines()[-1])
    assert main(["eval", str(run), "--rows", "128", "--json"]) == 0
    assert document(capsys)["loss"] == pytest.approx(entry["validation_loss"], rel=1e-6)


def test_eval_measures_another_text(run, tmp_path, capsys):
    other = tmp_path / "other.txt"
    other.write_text("the dog jumps over the fox\n" * 9)
    assert main(["eval", str(run), "--data", str(other), "--json"]) == 0
    found = document(capsys)
    model, tokenizer, config = load_run(run)
    from headwise.train.data import TextData

    tokens = tokenizer.encode(other.read_text())
    batches = TextData(tokens, tokens, config.model.context).validation_batches(rows=4, limit=999)
    assert found["loss"] == pytest.approx(mean_loss(model, batches), rel=1e-6)
    other.write_text("?" * 99)
    assert main(["eval", str(run), "--data", str(other)]) == 2
    assert "QUESTION MARK" in capsys.readouterr().err


def test_eval_refuses_a_text_that_has_changed(run, text, capsys):
    text.write_text(text.read_text() + "x")
    assert main(["eval", str(run)]) == 2
    assert "has changed since" in capsys.readouterr().err
    assert main(["eval", str(run), "--rows", "0"]) == 2
    assert "`rows` must be at least 1" in capsys.readouterr().err


def test_a_sweep_trains_each_combination_and_compares_them(text, tmp_path, capsys):
    folder = tmp_path / "s"
    command = [
        "sweep",
        "--data",
        str(text),
        *SMALL,
        "--run",
        str(folder),
        "--over",
        "learning-rate=1e-3,1e-2",
        "layers=1,2",
    ]
    assert main([*command, "--json"]) == 0
    printed = capsys.readouterr().out
    rows = json.loads(printed.splitlines()[-1])["rows"]
    assert len(rows) == 4
    assert [row["loss"] for row in rows] == sorted(row["loss"] for row in rows)
    assert {(row["settings"]["learning-rate"], row["settings"]["layers"]) for row in rows} == {
        ("1e-3", "1"),
        ("1e-3", "2"),
        ("1e-2", "1"),
        ("1e-2", "2"),
    }
    for row in rows:
        config = load_run(folder / row["run"].rpartition("/")[2])[2]
        assert config.train.learning_rate == float(row["settings"]["learning-rate"])
        assert config.model.layers == int(row["settings"]["layers"])
    before = {each: each.stat().st_mtime_ns for each in folder.rglob("model.safetensors")}
    assert main([*command, "--json"]) == 0
    assert document(capsys)["rows"] == rows
    assert before == {each: each.stat().st_mtime_ns for each in folder.rglob("model.safetensors")}


def test_a_stopped_sweep_goes_on_in_the_middle_of_a_run(text, tmp_path, capsys):
    command = ["sweep", "--data", str(text), *SMALL, "--run", str(tmp_path / "s"), "--over", "layers=1,2"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "headwise.train.experiment.Narrator.updated",
            lambda self, step, loss: signal.raise_signal(signal.SIGTERM) if step == 2 else None,
        )
        assert main(command) == 128 + signal.SIGTERM
    assert not (tmp_path / "s" / "layers=2").exists()
    assert main([*command, "--json"]) == 0
    assert len(document(capsys)["rows"]) == 2
    assert main(["sweep", "--data", str(text), *SMALL, "--run", str(tmp_path / "t"), "--over", "layers=1,2"]) == 0
    stopped, whole = ((tmp_path / name / "layers=1" / "model.safetensors").read_bytes() for name in "st")
    assert stopped == whole


def test_a_run_that_fails_does_not_end_the_sweep(text, tmp_path, capsys):
    over = ["--over", "context=16,99999"]
    assert main(["sweep", "--data", str(text), *SMALL, "--run", str(tmp_path / "s"), *over, "--json"]) == 0
    rows = document(capsys)["rows"]
    assert (rows[0]["failed"], rows[1]["loss"]) == (None, None)
    assert "context + 1" in rows[1]["failed"]


@pytest.mark.parametrize(
    ("over", "message"),
    [
        ([], "must name at least one list"),
        (["--over", "layers"], "Got 'layers'"),
        (["--over", "stepz=1"], "Got 'stepz'"),
        (["--over", "heads=3"], "`heads` must divide"),
    ],
)
def test_a_wrong_list_is_refused_before_the_first_run(text, tmp_path, capsys, over, message):
    assert main(["sweep", "--data", str(text), *SMALL, "--run", str(tmp_path / "s"), *over]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "s").exists()


def test_data_info_says_what_a_text_holds(text, capsys):
    assert main(["data", "info", str(text), "--json"]) == 0
    found = document(capsys)
    content = text.read_text()
    assert (found["documents"], found["characters"], found["longest"]) == (1, len(content), len(content))
    assert found["training"]["tokens"] + found["validation"]["tokens"] == len(content)
    assert found["training"]["bytes"] > found["training"]["characters"]
    assert found["alphabet"] == "".join(sorted(set(content)))
    assert not found["reused"]
    assert main(["data", "info", str(text), "--tokenizer", "bpe", "--vocab", "280"]) == 0
    printed = capsys.readouterr().out
    assert "bpe, 280 different ones" in printed
    assert "is new" in printed
    assert main(["data", "info", str(text), "--json"]) == 0
    assert document(capsys)["reused"]


def test_packed_documents_are_trained_from_the_command_line(tmp_path, capsys):
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps({"text": f"the fox number {n} jumps"}) + "\n" for n in range(60)))
    settings = ["--documents", "apart", "--position", "learned", "--accumulate", "2", "--ema", "0.9"]
    given = ["train", "--data", f"{path}[text]", *SMALL, *settings, "--run", str(tmp_path / "r"), "--json"]
    assert main(given) == 0
    assert 0 < document(capsys)["validation_loss"] < 4


def test_a_sweep_does_not_show_the_rows_of_other_settings(text, tmp_path, capsys):
    command = ["sweep", "--data", str(text), *SMALL, "--run", str(tmp_path / "s"), "--over", "layers=1"]
    assert main(command) == 0
    assert main([*command, "--seed", "5"]) == 2
    assert "has other values of --seed" in capsys.readouterr().err


@pytest.mark.parametrize("content", ['{"run": "a', "[]\n", "{}\n", "5\n", '{"run": "x"}\n'])
def test_damaged_rows_of_a_sweep_are_told(text, tmp_path, capsys, content):
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / "sweep.jsonl").write_text(content)
    assert main(["sweep", "--data", str(text), *SMALL, "--run", str(tmp_path / "s"), "--over", "layers=1"]) == 2
    assert "sweep.jsonl is damaged; without that file" in capsys.readouterr().err
    assert (tmp_path / "s" / "sweep.jsonl").read_text() == content


def test_a_sweep_needs_a_folder_and_one_list_for_each_setting(text, tmp_path, capsys):
    command = ["sweep", "--data", str(text), *SMALL]
    assert main([*command, "--run", str(text), "--over", "layers=1"]) == 2
    assert "folder of a sweep must be writable" in capsys.readouterr().err
    assert main([*command, "--run", str(tmp_path / "s"), "--over", "layers=1", "layers=2"]) == 2
    assert "Got two lists of 'layers'" in capsys.readouterr().err


def test_a_text_too_short_to_measure_is_told(run, tmp_path, capsys):
    (tmp_path / "short.txt").write_text("the")
    assert main(["eval", str(run), "--data", str(tmp_path / "short.txt")]) == 2
    assert "The text to measure must have at least context + 1 = 17 tokens" in capsys.readouterr().err


def test_a_model_of_a_text_in_one_line_writes_without_a_prompt(text, tmp_path, capsys):
    text.write_text("the quick brown fox. " * 60)
    assert main(["train", "--data", str(text), *SMALL, "--run", str(tmp_path / "r")]) == 0
    capsys.readouterr()
    assert main(["sample", str(tmp_path / "r"), "--tokens", "5", "--json"]) == 0
    found = document(capsys)
    assert found["prompt"] == " "
    assert len(found["text"]) == 5
    assert main(["sample", str(tmp_path / "r"), "--prompt", "\n"]) == 2
    assert "must belong to the alphabet" in capsys.readouterr().err


def test_data_info_refuses_a_seed_below_0(text, capsys):
    assert main(["data", "info", str(text), "--seed", "-1"]) == 2
    assert "`seed` must be at least 0" in capsys.readouterr().err
