import pytest
import torch
from torch import nn

import headwise as hw
from headwise.recording.heads import ablate
from headwise.recording.tape import RecordingError

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


def test_ablation_of_a_torch_layer_is_refused():
    with pytest.raises(RecordingError, match="needs a layer of headwise"), ablate(nn.MultiheadAttention(8, 2), 0, 1):
        pass
