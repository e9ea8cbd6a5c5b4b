import pytest
import torch

import headwise as hw
from headwise.recording.maps import Maps, maps_of, pooled
from headwise.recording.tape import RecordingError
from headwise.recording.tokens import visible


def test_maps_of_a_model_are_the_recorded_weights(model, tokens):
    with torch.no_grad(), hw.record(model) as tape:
        model(tokens[:1])
    maps = maps_of(model, tokens[0], [str(number) for number in tokens[0].tolist()])
    assert list(maps.layers) == list(tape)
    for name, records in tape.items():
        torch.testing.assert_close(torch.from_numpy(maps.layers[name]), records[0].weights[0])
    assert maps.note == ""


def test_long_maps_are_pooled_and_say_so(model):
    tokens = torch.randint(17, (300,))
    texts = [chr(97 + number) for number in tokens.tolist()]
    maps = maps_of(model, tokens, texts)
    with torch.no_grad(), hw.record(model) as tape:
        model(tokens[None])
    assert maps.pool == 2
    assert len(maps.queries) == 150
    assert maps.queries[0] == texts[0] + texts[1]
    assert "2 neighbouring tokens" in maps.note
    for name, records in tape.items():
        whole = records[0].weights[0]
        expected = whole.view(4, 150, 2, 150, 2).sum(-1).mean(2)
        torch.testing.assert_close(torch.from_numpy(maps.layers[name]), expected)
        torch.testing.assert_close(pooled(whole, 2), expected)


def test_rows_of_pooled_maps_sum_to_one_where_the_last_place_is_smaller():
    weights = torch.rand(2, 7, 7).softmax(-1)
    torch.testing.assert_close(pooled(weights, 3).sum(-1), torch.ones(2, 3))


def test_maps_from_a_tape_take_one_sequence_and_refuse_tokens_of_another_length():
    layer = hw.MultiHeadAttention(8, 2)
    with hw.record(layer) as tape:
        layer(torch.randn(2, 3, 8), torch.randn(2, 4, 8))
    maps = Maps.from_tape(tape, ["a", " ", "b"], ["w", "x", "y", "\n"], batch=1)
    assert maps.queries == ["a", "␣", "b"]
    assert maps.keys == ["w", "x", "y", "↵"]
    torch.testing.assert_close(torch.from_numpy(maps.layers[""]), tape[""][0].weights[1])
    with pytest.raises(RecordingError, match="as many as the queries and keys"):
        Maps.from_tape(tape, ["a", "b", "c"])


@pytest.mark.parametrize(
    ("token", "shown"),
    [
        (" the", "␣the"),
        ("\t", "⇥"),
        ("\r\n", "␍↵"),
        ("\x00", "␀"),
        ("", "∅"),
        ("\u200b", "‹200B›"),
        ("\u202e", "‹202E›"),
        ("שלום", "שלום"),
    ],
)
def test_blanks_and_controls_are_made_visible(token, shown):
    assert visible(token) == shown
