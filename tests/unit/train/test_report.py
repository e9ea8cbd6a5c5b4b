"""The report: one page, whole by itself, true to the files of the runs, and safe whatever a model writes."""

import json
import re
from html.parser import HTMLParser

import pytest
import torch
from safetensors.torch import save_file

from headwise.cli import main
from headwise.train.config import ModelConfig, RunConfig, TrainConfig
from headwise.train.report.chart import Line, chart, powers, thinned, ticks
from headwise.train.report.page import write_report
from headwise.train.report.read import ReportError, read_run
from headwise.train.run_folder import RunError, RunFolder

HEADS = {name: [0.5, 0.25] for name in ("entropy", "max", "distance", "first", "self")}


@pytest.fixture
def make_run(tmp_path):
    def make(name="first", *, steps=40, batch=8, sample="To be", attention=False, tokenizer="characters"):
        path = tmp_path / name
        path.mkdir()
        run = RunFolder(path)
        train = TrainConfig(steps=steps, batch=batch)
        run.write_config(RunConfig(tokenizer=tokenizer, model=ModelConfig(context=16), train=train))
        for step in range(0, steps + 1, 10):
            entry = {
                "step": step,
                "train_loss": 4 - step / 40,
                "gradient_norm": 1.0,
                "learning_rate": 1e-3,
                "seconds": step / 2,
            }
            extra = {"validation_loss": round(4.1 - step / 40, 6)} if step % 20 == 0 else {}
            run.append_log({**entry, **extra, **({"attention": {"layers.0": HEADS}} if attention else {})})
        run.append_sample(steps // 2, "abc")
        run.append_sample(steps, sample)
        save_file({"a": torch.zeros(3, 5), "b": torch.zeros(7)}, path / "model.safetensors")
        return path

    return make


def page_of(tmp_path, *runs):
    write_report(runs, tmp_path / "page.html")
    return (tmp_path / "page.html").read_text()


def test_the_numbers_of_a_run_are_those_of_its_files(make_run, tmp_path):
    run = make_run()
    record = read_run(run)
    assert record.parameters == 22
    assert record.curve("validation_loss") == [(0, 4.1), (20, 3.6), (40, 3.1)]
    assert record.samples == [(20, "abc"), (40, "To be")]
    assert record.speed() == [(step, 10 * 8 * 16 / 5) for step in (10, 20, 30, 40)]
    page = page_of(tmp_path, run)
    for text in ("3.1000 at step 40", "40 of 40", ">22<", "after step 40", "train.learning_rate"):
        assert text in page


def test_several_runs_are_compared_and_differing_settings_stand_first(make_run, tmp_path):
    page = page_of(tmp_path, make_run(), make_run("second", batch=4))
    assert page.index("What differs") < page.index("All settings")
    differing = page[page.index("What differs") : page.index("All settings")]
    assert re.findall(r'scope="row">([^<]*)<', differing) == ["train.batch"]
    # Batches of unequal size are compared over tokens, too.
    assert "Validation loss over tokens" in page
    assert "not comparable" not in page
    assert "not comparable" in page_of(tmp_path, tmp_path / "first", make_run("third", tokenizer="bytes"))


def test_statistics_of_the_heads_are_shown_where_the_log_has_them(make_run, tmp_path):
    assert "What the heads do" not in page_of(tmp_path, make_run())
    page = page_of(tmp_path, make_run("second", attention=True))
    assert "Entropy of the weights" in page
    assert ">0.25<" in page


def test_nothing_is_requested_and_a_sample_is_text(make_run, tmp_path):
    page = page_of(tmp_path, make_run(sample="<script>alert(1)</script><img src=x>\x1b[2J"))
    found = []

    class Reader(HTMLParser):
        def handle_starttag(self, tag, attrs):
            found.append((tag, dict(attrs)))

    Reader().feed(page)
    assert not {tag for tag, _ in found} & {"script", "img", "link", "iframe", "object"}
    assert not [attrs for _, attrs in found if {"src", "href", "xlink:href"} & attrs.keys()]
    assert "&lt;script&gt;alert(1)" in page
    assert "\x1b" not in page


def test_a_torn_line_is_left_out_and_a_resumed_clock_is_added_up(make_run):
    run = make_run()
    with (run / "log.jsonl").open("a") as file:
        file.write(json.dumps({"step": 50, "train_loss": 2.0, "seconds": 3.0}) + "\n")
        file.write('{"step": 60, "tr')
    record = read_run(run)
    assert [entry["step"] for entry in record.entries][-1] == 50
    assert record.seconds == 20 + 3
    assert 50 not in [step for step, _ in record.speed()]


def test_numbers_that_are_not_finite_are_left_out(make_run):
    run = make_run()
    (run / "log.jsonl").write_text('{"step": 0, "train_loss": NaN, "validation_loss": 1.0, "seconds": 0}\n')
    assert read_run(run).curve("train_loss") == []


def test_what_cannot_be_reported_is_refused_in_words(make_run, tmp_path):
    with pytest.raises(RunError, match="has no config"):
        write_report([tmp_path], tmp_path / "page.html")
    run = make_run()
    with pytest.raises(ReportError, match="choose another `--out`"):
        write_report([run], tmp_path / "none" / "page.html")
    (run / "log.jsonl").unlink()
    with pytest.raises(ReportError, match="no finished line; wait"):
        write_report([run], tmp_path / "page.html")
    with pytest.raises(ReportError, match="Got none"):
        write_report([], tmp_path / "page.html")


def test_the_command_writes_into_the_run_or_beside_several(make_run, tmp_path, capsys):
    first, second = make_run(), make_run("second")
    assert main(["report", str(first)]) == 0
    assert (first / "report.html").is_file()
    assert main(["report", str(first), str(second), "--json"]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["report"] == str(tmp_path / "report.html")
    assert main(["report", "--json"]) == 2


def test_ticks_are_round_and_lie_inside():
    assert ticks(0.0013, 0.0049) == pytest.approx([0.002, 0.003, 0.004])
    assert ticks(3, 3) == [3]
    assert powers(0.02, 3) == [0.01, 0.1, 1, 10]


def test_a_chart_keeps_the_last_of_many_points_and_draws_a_single_one_as_a_dot():
    many = [(float(step), 1.0) for step in range(100_000)]
    assert len(thinned(many)) <= 602
    assert thinned(many)[-1] == many[-1]
    assert "<circle" in chart("One", [Line("a", [(1.0, 2.0)], 0)])
    assert chart("None", [Line("a", [], 0)]) == ""


@pytest.mark.parametrize(
    "line", ["[]", "5", "null", "{}", '{"step": 1}', '{"step": "a", "seconds": 1}', "\ufffd", "[" * 100_000]
)
def test_lines_that_are_of_no_training_are_left_out(make_run, tmp_path, line):
    run = make_run()
    log = run / "log.jsonl"
    whole = page_of(tmp_path, run)
    first, *others = log.read_text().splitlines()
    log.write_text("\n".join([first, line, *others]) + "\n")
    assert page_of(tmp_path, run) == whole
    log.write_text(line)
    with pytest.raises(ReportError, match="has no finished line"):
        page_of(tmp_path, run)


def test_a_log_that_is_no_file_is_told(make_run, tmp_path):
    run = make_run()
    (run / "log.jsonl").unlink()
    (run / "log.jsonl").mkdir()
    with pytest.raises(ReportError, match=r"must be readable.*log\.jsonl: Is a directory"):
        page_of(tmp_path, run)
