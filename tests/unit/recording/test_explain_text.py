import io
import json

import pytest
import torch
from rich.console import Console

from headwise.cli import main
from headwise.generation.stream import Sampling, write
from headwise.generation.window import window_start
from headwise.recording.explain_text import explain_text, print_explained

SMALL = ["--steps", "2", "--layers", "1", "--d-model", "16", "--heads", "2", "--context", "8", "--batch", "2"]
SMALL += ["--sample-length", "0", "--threads", "1"]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("explain")
    text = folder / "fox.txt"
    text.write_text("the quick brown fox jumps over the lazy dog\n" * 60)
    assert main(["train", "--data", str(text), *SMALL, "--run", str(folder / "run")]) == 0
    return folder / "run"


def test_probabilities_are_those_of_the_model_at_the_place_before(model):
    tokens = torch.randint(17, (9,))
    explained = explain_text(model, tokens, str, first=3)
    with torch.no_grad():
        chances = model(tokens[None])[0].softmax(-1)
    for each, place in zip(explained, range(3, 9), strict=True):
        row = chances[place - 1]
        assert each.place == place
        assert each.text == str(int(tokens[place]))
        assert each.probability == pytest.approx(float(row[tokens[place]]), abs=1e-6)
        assert each.entropy == pytest.approx(float(-(row * row.log()).sum()), abs=1e-5)
        others = [int(token) for token in row.argsort(descending=True) if token != tokens[place]][:3]
        assert [choice.text for choice in each.alternatives] == [str(token) for token in others]
        assert all(choice.place < place for choice in each.attended)


def test_attended_tokens_are_the_mean_over_layers_and_heads(model):
    import headwise as hw

    tokens = torch.randint(17, (7,))
    (last,) = explain_text(model, tokens, str, first=6)
    with torch.no_grad(), hw.record(model, rows=-1) as tape:
        model(tokens[None, :6])
    mean = torch.stack([records[0].weights for records in tape.values()]).mean((0, 1, 2, 3))
    assert [choice.place for choice in last.attended] == mean.topk(3).indices.tolist()
    assert last.attended[0].share == pytest.approx(float(mean.max()), abs=1e-6)


def test_a_text_longer_than_the_context_is_explained_in_the_windows_it_was_written_in(model):
    prompt = torch.randint(17, (1, 3))
    tokens = write(model, prompt, count=20, sampling=Sampling(temperature=0.0), context=8)[0]
    explained = explain_text(model, tokens, str, first=3, window=lambda length: window_start(length, 8))
    # With temperature 0 every token was the most likely one of the model, in the window that it saw.
    assert all(each.probability >= max(choice.share for choice in each.alternatives) for each in explained)
    assert len(explained) == 20


def test_the_table_has_a_line_for_each_token_and_no_raw_line_breaks(model):
    stream = io.StringIO()
    explained = explain_text(model, torch.randint(17, (6,)), lambda token: "\n", first=2)
    print_explained(Console(file=stream, width=120), explained)
    lines = stream.getvalue().splitlines()
    assert len(lines) == 5
    assert all("↵" in line for line in lines[1:])


def test_sample_explains_in_json_lines_where_there_is_no_terminal(run, capsys):
    assert main(["sample", str(run), "--prompt", "the", "--tokens", "12", "--explain"]) == 0
    documents = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [document["place"] for document in documents] == list(range(3, 15))
    assert set(documents[0]) == {"place", "text", "probability", "entropy", "alternatives", "attended"}


def test_sample_explains_inside_its_document_when_asked_for_one(run, capsys):
    assert main(["sample", str(run), "--prompt", "the", "--tokens", "5", "--explain", "--json"]) == 0
    document = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert "".join(each["text"] for each in document["explanation"]) == document["text"]
