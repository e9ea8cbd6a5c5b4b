import pytest
import torch
from torch import nn

import headwise as hw
from headwise.recording.heads import ablate, ablation_table
from headwise.recording.tape import RecordingError
from headwise.recording.torch_layer import projected

CAUSAL = torch.ones(5, 5).triu(1).bool()
PADDING = torch.tensor([[False] * 5, [False, False, True, False, True]])
MASKS = {
    "none": {},
    "causal": {"attn_mask": CAUSAL, "is_causal": True},
    "float": {"attn_mask": torch.zeros(5, 5).masked_fill(CAUSAL, -torch.inf)},
    "bias": {"attn_mask": torch.randn(5, 5, generator=torch.Generator().manual_seed(0))},
    "per head": {"attn_mask": torch.stack([CAUSAL, CAUSAL.roll(1, 1), CAUSAL, CAUSAL])},
    "padding": {"key_padding_mask": PADDING},
    "float padding": {"key_padding_mask": torch.where(PADDING, -torch.inf, 0.0)},
    "both": {"key_padding_mask": PADDING, "attn_mask": CAUSAL.T & ~torch.eye(5).bool() & CAUSAL},
}
LAYERS = {
    "plain": {},
    "sequence first": {"batch_first": False},
    "added keys": {"add_bias_kv": True, "add_zero_attn": True},
    "other widths": {"kdim": 6, "vdim": 7, "bias": False},
}


@pytest.mark.parametrize("layer", list(LAYERS))
@pytest.mark.parametrize("mask", list(MASKS))
@pytest.mark.parametrize("mode", ["train", "eval"])
def test_recorded_weights_are_those_that_the_layer_itself_returns(mask, layer, mode):
    torch.manual_seed(0)
    arguments = {"batch_first": True} | LAYERS[layer]
    attention = getattr(nn.MultiheadAttention(8, 2, **arguments), mode)()
    for parameter in attention.parameters():
        nn.init.normal_(parameter)
    inputs = [torch.randn(2, 5, size) for size in (8, arguments.get("kdim", 8), arguments.get("vdim", 8))]
    inputs = inputs if arguments["batch_first"] else [x.transpose(0, 1) for x in inputs]
    _, weights = attention(*inputs, average_attn_weights=False, **MASKS[mask])
    plain, _ = attention(*inputs, need_weights=False, **MASKS[mask])
    with hw.record(attention, keep=("weights", "lse")) as tape:
        recorded, none = attention(*inputs, need_weights=False, **MASKS[mask])
    assert none is None
    assert torch.equal(plain, recorded)
    torch.testing.assert_close(tape[""][0].weights, weights, atol=1e-6, rtol=1e-5)


def test_dropout_does_not_reach_recorded_weights_of_torch():
    """D09 and C03, on the layer where they were reported."""
    attention = nn.MultiheadAttention(4, 1, dropout=0.5, batch_first=True).train()
    x = torch.randn(1, 4, 4)
    with hw.record(attention) as tape:
        attention(x, x, x)
    torch.testing.assert_close(tape[""][0].weights.sum(-1), torch.ones(1, 1, 4), atol=1e-6, rtol=0)


def test_the_encoder_of_torch_is_recorded_where_it_would_take_its_fast_path():
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False).eval()
    x = torch.randn(2, 5, 8)
    with torch.no_grad():
        plain = encoder(x, src_key_padding_mask=PADDING)
        with hw.record(encoder, keep="weights") as tape:
            recorded = encoder(x, src_key_padding_mask=PADDING)
    assert list(tape) == ["layers.0.self_attn", "layers.1.self_attn"]
    assert torch.equal(tape["layers.1.self_attn"][0].weights[1, :, :, [2, 4]], torch.zeros(2, 5, 2))
    torch.testing.assert_close(recorded[~PADDING], plain[~PADDING], atol=1e-5, rtol=0)
    assert torch.backends.mha.get_fastpath_enabled()


def test_one_sequence_without_a_batch_is_recorded():
    attention = nn.MultiheadAttention(8, 2)
    x = torch.randn(5, 8)
    with hw.record(attention) as tape:
        _, weights = attention(x, x, x, average_attn_weights=False)
    torch.testing.assert_close(tape[""][0].weights[0], weights)


def without(attention, heads, mean, inputs, **options):
    """The output of the layer as the sum of what its heads give, some of them replaced."""
    with hw.record(attention, keep="weights") as tape:
        attention(*inputs, **options)
    weights = tape[""][0].weights
    value = inputs[2] if attention.batch_first else inputs[2].transpose(0, 1)
    _, _, value = projected(attention, value, value, value)
    each = weights @ value.unflatten(-1, (attention.num_heads, -1)).transpose(1, 2)
    each[:, heads] = each[:, heads].mean(2, keepdim=True) if mean else 0.0
    output = attention.out_proj(each.transpose(1, 2).flatten(-2))
    return output if attention.batch_first else output.transpose(0, 1)


@pytest.mark.parametrize("layer", ["plain", "sequence first", "added keys"])
@pytest.mark.parametrize("mean", [False, True])
@pytest.mark.parametrize("grad", [True, False])
def test_ablation_of_a_torch_layer_replaces_what_the_heads_give(layer, mean, grad):
    attention = nn.MultiheadAttention(8, 4, **({"batch_first": True} | LAYERS[layer])).eval()
    for parameter in attention.parameters():
        nn.init.normal_(parameter)
    inputs = (torch.randn(2, 5, 8) if attention.batch_first else torch.randn(5, 2, 8),) * 3
    with torch.set_grad_enabled(grad):
        wanted = without(attention, [1, 3], mean, inputs, attn_mask=CAUSAL)
        plain, _ = attention(*inputs, attn_mask=CAUSAL)
        with ablate(attention, 0, [1, -1], mean=mean):
            found, _ = attention(*inputs, attn_mask=CAUSAL)
        # One inside of the other, as the outer one ends last.
        with ablate(attention, 0, 3, mean=mean), ablate(attention, 0, 1, mean=mean):
            nested, _ = attention(*inputs, attn_mask=CAUSAL)
        torch.testing.assert_close(found, wanted)
        torch.testing.assert_close(nested, wanted)
        assert torch.equal(attention(*inputs, attn_mask=CAUSAL)[0], plain)


def test_ablation_of_a_torch_layer_takes_a_single_sequence_and_keeps_dropout():
    attention, x = nn.MultiheadAttention(8, 2, dropout=0.5), torch.randn(5, 8)
    with ablate(attention, 0, 0, mean=True):
        assert attention(x, x, x)[0].shape == (5, 8)
    torch.manual_seed(0)
    with ablate(attention, 0, 0):
        found, _ = attention(x, x, x, need_weights=False)
    torch.manual_seed(0)
    with torch.no_grad():
        attention.out_proj.weight[:, :4] = 0
    torch.testing.assert_close(found, attention(x, x, x, need_weights=False)[0])


def test_gradients_do_not_pass_through_an_ablated_head_of_torch():
    attention, x = nn.MultiheadAttention(8, 2, bias=False), torch.randn(5, 1, 8)
    with ablate(attention, 0, 0):
        attention(x, x, x)[0].square().sum().backward()
    query, _, value = attention.in_proj_weight.grad.chunk(3)
    assert not query[:4].any() and not value[:4].any() and value[4:].any()
    assert not attention.out_proj.weight.grad[:, :4].any() and attention.out_proj.weight.grad[:, 4:].any()
    assert list(attention.state_dict()) == ["in_proj_weight", "out_proj.weight"]


def test_a_torch_layer_that_fails_while_a_head_is_ablated_is_put_back():
    attention, x = nn.MultiheadAttention(8, 2), torch.randn(5, 1, 8)
    projection = attention.out_proj
    with ablate(attention, 0, 0), pytest.raises(AssertionError):
        attention(x, x, x[..., :4])
    assert attention.out_proj is projection


def test_the_encoder_of_torch_is_ablated_layer_by_layer():
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    encoder, x = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False).eval(), torch.randn(1, 5, 8)
    with torch.no_grad():
        table = ablation_table(encoder, lambda: encoder(x).square().mean())
    assert {name: len(row) for name, row in table.items()} == {"layers.0.self_attn": 2, "layers.1.self_attn": 2}
    assert all(change != 0 for row in table.values() for change in row)


def test_ablation_of_a_head_that_is_not_there_is_refused():
    with pytest.raises(RecordingError, match="0 to 1 in layer ''; got 2"), ablate(nn.MultiheadAttention(8, 2), 0, 2):
        pass
