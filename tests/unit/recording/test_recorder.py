import pytest
import torch
from torch import nn

import headwise as hw
from headwise.recording.recorder import RecordingWarning
from headwise.recording.tape import RecordingError

ENGINES = ("auto", "sdpa", "blockwise", "reference")
FIRST = "encoder.layers.0.attention"


def layer_names(model):
    return [name for name, module in model.named_modules() if isinstance(module, hw.MultiHeadAttention)]


def with_engine(model, engine):
    for module in model.modules():
        if isinstance(module, hw.MultiHeadAttention):
            module.attend.engine = engine
    return model


@pytest.mark.parametrize("engine", ENGINES)
def test_output_is_bit_equal_with_and_without_recording(model, tokens, engine):
    with_engine(model, engine)
    plain = model(tokens)
    with hw.record(model, keep=("weights", "stats", "lse", "scores", "qk")):
        recorded = model(tokens)
    assert torch.equal(plain, recorded)


@pytest.mark.parametrize("mode", ["train", "eval"])
def test_weights_times_values_are_the_output_in_each_mode(mode):
    """A05: exact maps of each head from any engine. Invariants 2 and 9."""
    layer = hw.MultiHeadAttention(16, 4, kv_heads=2, mask=hw.Window(3), score=hw.Softcap(2.0))
    getattr(layer, mode)()
    seen = {}
    layer.attend.register_forward_hook(lambda module, inputs, output: seen.update(call=inputs[0], output=output))
    with hw.record(layer) as tape:
        layer(torch.randn(2, 9, 16))
    weights = tape[""][0].weights
    value = seen["call"].value.repeat_interleave(2, dim=1)
    assert weights.shape == (2, 4, 9, 9)
    torch.testing.assert_close(weights @ value, seen["output"], atol=1e-6, rtol=0)
    torch.testing.assert_close(weights.sum(-1), torch.ones(2, 4, 9), atol=1e-6, rtol=0)


def test_weights_are_those_before_dropout_in_training():
    """D09: in training the rows of a recorded map sum to 1."""
    layer = hw.MultiHeadAttention(4, 1, dropout=0.5).train()
    with hw.record(layer) as tape:
        layer(torch.randn(1, 4, 4))
    torch.testing.assert_close(tape[""][0].weights.sum(-1), torch.ones(1, 1, 4), atol=1e-6, rtol=0)


def test_recording_leaves_the_dropout_of_a_training_step_as_it_is(model, tokens):
    layer = hw.MultiHeadAttention(8, 2, dropout=0.5).train()
    x = torch.randn(2, 5, 8)
    torch.manual_seed(3)
    plain = layer(x)
    torch.manual_seed(3)
    with hw.record(layer, keep=("weights", "stats")):
        recorded = layer(x)
    assert torch.equal(plain, recorded)


def test_gradients_are_bit_equal_with_and_without_recording(model, tokens):
    model.train()
    grads = []
    for keep in (None, ("weights", "stats", "lse")):
        model.zero_grad()
        if keep is None:
            model(tokens).square().sum().backward()
        else:
            with hw.record(model, keep=keep):
                model(tokens).square().sum().backward()
        grads.append([parameter.grad.clone() for parameter in model.parameters()])
    assert all(torch.equal(one, other) for one, other in zip(*grads, strict=True))


def test_names_are_those_of_named_modules(model, tokens):
    with hw.record(model) as tape:
        model(tokens)
    assert list(tape) == layer_names(model)
    assert next(iter(tape)) == FIRST


def test_nothing_is_computed_for_layers_that_are_not_asked_for(model, tokens):
    """A04: no map unless it is asked for."""
    with hw.record(model, layers=FIRST) as tape:
        model(tokens)
    assert list(tape) == [FIRST]
    assert not any(layer.keep_attention for layer in model.modules() if isinstance(layer, hw.MultiHeadAttention))


@pytest.mark.parametrize(("asked", "count"), [([0, -1], 2), ("*.layers.1.*", 1), (["encoder.*"], 3), (None, 3)])
def test_layers_are_asked_for_by_number_and_pattern(model, tokens, asked, count):
    with hw.record(model, layers=asked) as tape:
        model(tokens)
    assert len(tape) == count


@pytest.mark.parametrize("score", [None, hw.Alibi(4), hw.Softcap(3.0), lambda s, b, h, i, j: s + h * 0.1])
def test_chosen_heads_and_rows_are_parts_of_the_whole_map(score):
    torch.manual_seed(0)
    layer = hw.MultiHeadAttention(16, 4, kv_heads=2, mask=hw.Causal(), score=score, position=hw.Rotary(4))
    keep = ("weights", "scores", "lse", "qk", "entropy", "top_keys")
    with hw.record(layer, keep=keep) as whole, hw.record(layer, heads=[2, -1], rows=[7, 0, 1, -1], keep=keep) as part:
        layer(torch.randn(2, 9, 16))
    all_of, some = whole[""][0], part[""][0]
    assert some.heads == (2, 3)
    assert some.rows == (7, 0, 1, 8)
    for name in ("weights", "scores", "lse", "query"):
        torch.testing.assert_close(getattr(some, name), getattr(all_of, name)[:, [2, 3]][:, :, [7, 0, 1, 8]])
    assert torch.equal(some.key, all_of.key[:, [2, 3]])
    assert torch.equal(some.stats["top_keys"], all_of.stats["top_keys"][:, [2, 3]][:, :, [7, 0, 1, 8]])


def test_every_decoding_step_is_a_record_of_one_query(model, tokens):
    with torch.no_grad():
        with hw.record(model, keep=("weights", "distance")) as whole:
            model(tokens)
        cache = hw.KVCache()
        with hw.record(model, keep=("weights", "distance")) as steps:
            model(tokens[:, :6], cache=cache)
            for index in range(6, 11):
                model(tokens[:, index : index + 1], cache=cache)
    for name in whole:
        assert [len(record.rows) for record in steps[name]] == [6, 1, 1, 1, 1, 1]
        last = steps[name][-1]
        torch.testing.assert_close(last.weights[:, :, 0], whole[name][0].weights[:, :, -1])
        torch.testing.assert_close(last.stats["distance"][:, :, 0], whole[name][0].stats["distance"][:, :, -1])


def test_keyless_rows_are_zero():
    layer = hw.MultiHeadAttention(8, 2, mask=hw.Causal())
    with hw.record(layer, keep=("weights", "lse", "stats")) as tape:
        layer(torch.randn(1, 5, 8), torch.randn(1, 3, 8))
    record = tape[""][0]
    assert torch.equal(record.weights[:, :, :2], torch.zeros(1, 2, 2, 3))
    assert torch.equal(record.lse[:, :, :2], torch.full((1, 2, 2), -torch.inf))
    for name in ("entropy", "max", "distance", "first", "self", "effective_keys"):
        assert torch.equal(record.stats[name][:, :, :2], torch.zeros(1, 2, 2)), name
    assert (record.stats["top_keys"][:, :, :2] == -1).all()


def test_a_tied_layer_has_a_record_for_each_call_and_is_found_under_each_name():
    layer = hw.MultiHeadAttention(8, 2)
    model = nn.Sequential(layer, nn.Identity(), layer)
    with hw.record(model) as tape:
        model(torch.randn(1, 3, 8))
    assert list(tape) == ["0"]
    assert len(tape["0"]) == 2
    assert tape["2"] is tape["0"]


def test_an_overridden_get_scores_is_recorded():
    class Distance(hw.MultiHeadAttention):
        def get_scores(self, query, key, query_positions, key_positions):
            return -torch.cdist(query, key)

    layer = Distance(8, 2)
    with hw.record(layer, heads=1, keep=("weights", "qk", "scores")) as tape:
        layer(torch.randn(2, 5, 8))
    record = tape[""][0]
    expected = (-torch.cdist(record.query, record.key) / 2.0).softmax(-1)
    torch.testing.assert_close(record.weights, expected)


def test_rows_and_the_mass_of_a_sink_sum_to_one():
    layer = hw.MultiHeadAttention(8, 2, mask=hw.Causal(), score=hw.Sink(2))
    torch.nn.init.normal_(layer.score.parts[0].logit)
    x = torch.randn(2, 5, 8)
    with hw.record(layer, keep=("weights", "lse", "entropy")) as tape, hw.record(layer, keep="entropy") as alone:
        layer(x)
    record = tape[""][0]
    mass = (layer.score.parts[0].logit.detach()[:, None] - record.lse).exp()
    torch.testing.assert_close(record.weights.sum(-1) + mass, torch.ones(2, 2, 5), atol=1e-6, rtol=0)
    expected = -torch.special.xlogy(record.weights, record.weights).sum(-1)
    torch.testing.assert_close(record.stats["entropy"], expected, atol=1e-5, rtol=0)
    torch.testing.assert_close(alone[""][0].stats["entropy"], expected, atol=1e-5, rtol=0)


def test_a_nan_query_is_recorded_as_nan_and_no_other_row():
    layer = hw.MultiHeadAttention(8, 2, mask=hw.Causal())
    x = torch.randn(1, 5, 8)
    x[0, 4] = torch.nan
    with hw.record(layer) as tape:
        layer(x)
    weights = tape[""][0].weights
    assert weights[:, :, 4].isnan().all()
    assert weights[:, :, :4].isfinite().all()


def test_records_are_detached_and_do_not_follow_the_storage_of_a_cache(model, tokens):
    cache = hw.KVCache()
    with torch.no_grad(), hw.record(model, layers=0, keep=("qk",)) as tape:
        model(tokens[:, :4], cache=cache)
        before = tape[FIRST][0].key.clone()
        model(tokens[:, 4:], cache=cache)
    assert torch.equal(tape[FIRST][0].key, before)
    with hw.record(model, layers=0) as tape:
        model(tokens)
    assert not tape[FIRST][0].weights.requires_grad


def test_a_compiled_model_is_run_as_written_and_says_so(model, tokens):
    compiled = torch.compile(model, backend="eager")
    plain = compiled(tokens)
    with pytest.warns(RecordingWarning, match="as it is written"), hw.record(compiled) as tape:
        recorded = compiled(tokens)
    assert tape.eager
    assert list(tape) == layer_names(model)
    torch.testing.assert_close(recorded, plain, atol=1e-5, rtol=0)


def test_activation_checkpointing_is_recorded_once(model, tokens):
    from torch.utils.checkpoint import checkpoint

    layer = hw.MultiHeadAttention(8, 2)
    with hw.record(layer) as tape:
        checkpoint(layer, torch.randn(1, 3, 8, requires_grad=True), use_reentrant=False).sum().backward()
    assert len(tape[""]) == 1


def test_autocast_does_not_reach_the_recorded_weights():
    layer = hw.MultiHeadAttention(16, 2)
    with torch.autocast("cpu", torch.bfloat16), hw.record(layer) as tape:
        layer(torch.randn(1, 7, 16))
    weights = tape[""][0].weights
    assert weights.dtype == torch.float32
    torch.testing.assert_close(weights.sum(-1), torch.ones(1, 2, 7), atol=1e-6, rtol=0)


def test_hooks_are_gone_after_the_block_and_after_an_error(model, tokens):
    with pytest.raises(hw.HeadwiseError, match="rows must be among"), hw.record(model, rows=40):
        model(tokens)
    assert not any(module._forward_hooks for module in model.modules())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"layers": "decoder"}, "layers must name attention layers"),
        ({"layers": 3}, "layers must name attention layers"),
        ({"layers": []}, "at least one layer"),
        ({"heads": []}, "heads must be whole numbers"),
        ({"heads": [4]}, "heads must be among those of the call, 0 to 3"),
        ({"rows": "x"}, "rows must be whole numbers"),
        ({"rows": slice(90, 99)}, "rows must choose at least one"),
        ({"keep": ()}, "got nothing"),
        ({"keep": "attn"}, "keep must name what to record"),
        ({"top": 0}, "top must be a whole number"),
    ],
)
def test_what_cannot_be_recorded_is_refused(model, tokens, arguments, message):
    with pytest.raises(RecordingError, match=message), hw.record(model, **arguments):
        model(tokens)


def test_a_model_without_attention_is_refused():
    with pytest.raises(RecordingError, match="Linear has none"), hw.record(nn.Linear(2, 2)):
        pass


def test_the_tape_says_what_it_does_not_hold(model, tokens):
    """A05 and C03: never an empty tuple, never None."""
    with hw.record(model, layers=0, keep="lse") as tape:
        with pytest.raises(KeyError, match="was not called"):
            tape[FIRST]
        model(tokens)
    with pytest.raises(KeyError, match="holds the layers that it was asked for"):
        tape["encoder.layers.1.attention"]
    for name in ("weights", "scores", "query", "key", "stats"):
        with pytest.raises(hw.HeadwiseError, match="asked for before the call"):
            getattr(tape[FIRST][0], name)
    assert "nowhere" not in tape
