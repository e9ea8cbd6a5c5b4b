"""`headwise inspect`, from the flags to what it prints and writes."""

import json

import pytest

from headwise.cli import main

SMALL = ["--steps", "2", "--layers", "2", "--d-model", "16", "--heads", "2", "--context", "16", "--batch", "2"]
SMALL += ["--sample-length", "0", "--threads", "1"]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("inspect")
    text = folder / "fox.txt"
    text.write_text("the quick brown fox jumps over the lazy dog\n" * 60)
    assert main(["train", "--data", str(text), *SMALL, "--run", str(folder / "run")]) == 0
    return folder / "run"


def test_inspect_prints_scores_of_all_heads_and_the_map_of_one(run, capsys):
    assert main(["inspect", str(run), "--prompt", "the fox", "--json"]) == 0
    lines = capsys.readouterr().out.splitlines()
    document = json.loads(lines[-1])
    assert lines[0].split() == ["layer", "head", "previous", "duplicate", "induction"][: len(lines[0].split())]
    assert [line.split()[:2] for line in lines[1:5]] == [["0", "0"], ["0", "1"], ["1", "0"], ["1", "1"]]
    assert document["tokens"] == list("the fox")
    assert document["scores"]["encoder.layers.1.attention"]["previous"][1] == pytest.approx(
        float(lines[4].split()[2]), abs=1e-3
    )
    assert sum("▪▪" in line for line in lines) >= 1
    assert not any("\x1b" in line for line in lines)


def test_inspect_writes_the_files_that_it_is_asked_for(run, tmp_path, capsys):
    paths = [tmp_path / name for name in ("a.npz", "a.csv", "a.json", "b.html")]
    arguments = ["--prompt", "the lazy dog", "--html", str(tmp_path / "a.html"), "--save", *map(str, paths)]
    assert main(["inspect", str(run), *arguments]) == 0
    assert all(path.stat().st_size > 100 for path in paths)
    assert (tmp_path / "a.html").read_text() == (tmp_path / "b.html").read_text()


def test_inspect_draws_the_head_that_it_is_asked_for(run, capsys):
    assert main(["inspect", str(run), "--prompt", "the fox", "--layer", "1", "--head", "0"]) == 0
    assert "Layer 1, head 0:" in capsys.readouterr().out


def test_checkpoints_are_compared_with_what_the_heads_are_now(run, capsys):
    assert main(["inspect", str(run), "--prompt", "the fox", "--checkpoints", "--json"]) == 0
    document = json.loads(capsys.readouterr().out.splitlines()[-1])
    (newest,) = document["checkpoints"].values()
    # The last checkpoint has the newest weights.
    assert newest == {name: pytest.approx([1.0, 1.0]) for name in document["scores"]}


def test_a_text_longer_than_the_context_or_the_page_says_so(run, capsys):
    assert main(["inspect", str(run), "--prompt", "the lazy dog " * 25, "--json"]) == 0
    out = capsys.readouterr().out
    document = json.loads(out.splitlines()[-1])
    assert document["pool"] == 2
    assert "2 neighbouring tokens" in out
    assert "trained on rows of 16" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--prompt", "the", "--layer", "2"], "`layer` must be one of 0 to 1"),
        (["--prompt", "the", "--head", "-1"], "`head` must be one of 0 to 1"),
        (["--prompt", "t"], "at least two tokens"),
        (["--prompt", "the", "--save", "map.gif"], "must end in one of"),
        (["--prompt", "the", "--html", "/nowhere/map.html"], "must be writable"),
    ],
)
def test_inspect_refuses_what_it_cannot_show(run, arguments, message, capsys):
    assert main(["inspect", str(run), *arguments]) == 2
    assert message in capsys.readouterr().err
