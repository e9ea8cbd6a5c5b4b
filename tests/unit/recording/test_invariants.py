"""Invariants 2 and 9 on calls drawn at random: whatever engine, mask, score, mode, sizes and choice of heads and rows."""

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import headwise as hw

ENGINES = ("auto", "reference", "blockwise")


def masks(keep, queries, keys):
    return [
        hw.Full(),
        hw.Causal(),
        hw.Window(3, ahead=1),
        hw.Causal() & hw.Padding(keep),
        hw.Padding(keep) | hw.Window(2),
        hw.Dense(torch.rand(queries, keys) > 0.5),
        lambda b, h, i, j: (i + j + h) % 3 != 0,
    ]


def scores(heads, queries, keys):
    return [
        None,
        (hw.Alibi(heads), hw.Softcap(2.0)),
        hw.Bias(torch.randn(1, heads, queries, keys)),
        (hw.Sink(heads), hw.Softcap(3.0)),
        lambda s, b, h, i, j: s * (1 + h),
    ]


@st.composite
def layers(draw):
    """A layer and its inputs, from a seed and drawn sizes."""
    torch.manual_seed(draw(st.integers(0, 2**31)))
    groups, size = draw(st.sampled_from([1, 2])), draw(st.sampled_from([2, 4]))
    heads, batch = groups * draw(st.integers(1, 3)), draw(st.integers(1, 3))
    queries, keys = draw(st.integers(1, 14)), draw(st.integers(1, 14))
    width = heads * size
    layer = hw.MultiHeadAttention(
        width,
        heads,
        kv_heads=groups,
        value_dim=draw(st.sampled_from([None, 3])),
        dropout=draw(st.sampled_from([0.0, 0.4])),
        position=draw(st.sampled_from([None, hw.Rotary(size)])),
        mask=draw(st.sampled_from(masks(torch.rand(batch, keys) > 0.3, queries, keys))),
        score=draw(st.sampled_from(scores(heads, queries, keys))),
        engine=draw(st.sampled_from(ENGINES)),
    )
    inputs = torch.randn(batch, queries, width), torch.randn(batch, keys, width)
    chosen = (
        draw(st.sets(st.integers(0, heads - 1), min_size=1)),
        draw(st.sets(st.integers(0, queries - 1), min_size=1)),
    )
    return layer.train(draw(st.booleans())), inputs, *map(sorted, chosen)


def run(layer, inputs, grad):
    torch.manual_seed(0)
    with torch.set_grad_enabled(grad):
        return layer(*inputs)


@settings(max_examples=60, deadline=None)
@given(layers(), st.booleans())
def test_maps_are_exact_and_recording_changes_nothing(drawn, grad):
    layer, inputs, heads, rows = drawn
    seen = {}

    def watch(module, arguments, result):
        seen.update(call=arguments[0], output=result[0] if isinstance(result, tuple) else result)

    plain = run(layer, inputs, grad)
    handle = layer.attend.register_forward_hook(watch)
    with hw.record(layer, keep=("weights", "lse", "stats")) as whole:
        recorded = run(layer, inputs, grad)
    with hw.record(layer, heads=heads, rows=rows, keep=("weights", "lse")) as some:
        run(layer, inputs, grad)
    with hw.record(layer, keep="entropy") as entropy:
        run(layer, inputs, grad)
    handle.remove()

    assert torch.equal(recorded, plain)
    record, part = whole[""][0], some[""][0]
    call, output = seen["call"], seen["output"].detach()
    value = call.value.detach().repeat_interleave(call.group_size, dim=1)
    if call.dropout == 0:
        torch.testing.assert_close(record.weights @ value, output, atol=3e-6, rtol=1e-5)
    sums, keyless = record.weights.sum(-1), record.lse == -torch.inf
    assert torch.equal(sums[keyless], torch.zeros_like(sums[keyless]))
    if not any(isinstance(each, hw.Sink) for each in call.score):
        torch.testing.assert_close(sums[~keyless], torch.ones_like(sums[~keyless]), atol=1e-6, rtol=0)
    for name in ("weights", "lse"):
        torch.testing.assert_close(getattr(part, name), getattr(record, name)[:, heads][:, :, rows])
    expected = -torch.special.xlogy(record.weights, record.weights).sum(-1)
    for tape in (whole, entropy):
        torch.testing.assert_close(tape[""][0].stats["entropy"], expected, atol=2e-5, rtol=0)


def test_a_score_method_that_needs_the_whole_matrix_is_recorded_for_chosen_rows():
    class Mean(hw.MultiHeadAttention):
        whole_matrix = True

        def get_scores(self, query, key, query_positions, key_positions):
            scores = query @ key.transpose(2, 3)
            return scores - scores.mean((2, 3), keepdim=True) + scores.amax(2, keepdim=True)

    layer = Mean(8, 2)
    x = torch.randn(2, 6, 8)
    with hw.record(layer) as whole, hw.record(layer, rows=[1, -1], heads=0) as part:
        layer(x)
    torch.testing.assert_close(part[""][0].weights, whole[""][0].weights[:, :1, [1, 5]])
