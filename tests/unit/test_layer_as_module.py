"""The layer as a module of PyTorch: copied, saved, cast, frozen, moved, wrapped."""

import copy
import io
import pickle

import pytest
import torch
from torch import nn

import headwise as hw


class Scaled(nn.Module):
    """A score function that learns, as a module."""

    def __init__(self, heads):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(heads))

    def forward(self, s, b, h, i, j):
        return s * self.weight[h]


def make(**options):
    """A layer with everything in it: grouped heads, norms, turns, a mask, parts that learn and parts that do not."""
    parts = (hw.Bias(nn.Parameter(torch.randn(5, 5))), hw.Alibi(3), Scaled(3), hw.Softcap(3.0), hw.Sink(3))
    settings = {"kv_heads": 1, "position": hw.Rotary(4), "mask": hw.Causal() & hw.Window(3), "qk_norm": nn.RMSNorm}
    return hw.MultiHeadAttention(12, 3, **settings, score=parts, **options)


def x(dtype=torch.float32):
    return torch.randn(2, 5, 12, dtype=dtype)


def saved(layer):
    buffer = io.BytesIO()
    torch.save(layer, buffer)
    buffer.seek(0)
    return torch.load(buffer, weights_only=False)


def loaded(layer):
    other = make()
    other.load_state_dict(layer.state_dict(), strict=True)
    return other


WAYS = {
    "deepcopy": copy.deepcopy,
    "pickle": lambda layer: pickle.loads(pickle.dumps(layer)),
    "save": saved,
    "state": loaded,
}


@pytest.mark.parametrize("way", WAYS)
def test_a_copy_computes_the_same_and_shares_nothing(way):
    layer, given = make(), x()
    other = WAYS[way](layer)
    assert torch.equal(other(given), layer(given))
    before = layer(given)
    with torch.no_grad():
        for parameter in other.parameters():
            parameter.fill_(torch.nan)
    assert torch.equal(layer(given), before)
    assert other(given).isnan().all()


def test_parts_that_learn_are_registered_by_their_place():
    names = [name for name, _ in make().named_parameters()]
    assert names[-3:] == ["score.0.tensor", "score.2.weight", "score.4.logit"]
    layer = make()
    layer(x()).square().sum().backward()
    assert all(parameter.grad is not None for parameter in layer.parameters())


def test_parameters_are_those_that_the_sizes_say():
    assert sum(parameter.numel() for parameter in hw.MultiHeadAttention(12, 3).parameters()) == 4 * (12 * 12 + 12)
    assert not list(hw.MultiHeadAttention(12, 3, mask=hw.Padding(torch.ones(2, 5, dtype=torch.bool))).buffers())


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.float16], ids=str)
def test_a_cast_layer_stays_close(dtype):
    layer, given = make(), x()
    wanted = layer(given).double()
    found = copy.deepcopy(layer).to(dtype)(given.to(dtype))
    assert found.dtype == dtype
    allowed = 40 * torch.finfo(dtype).eps if dtype != torch.float64 else 1e-5
    assert (found.double() - wanted).abs().max() <= allowed * wanted.abs().max()


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("gradients", [True, False])
def test_autocast_gives_one_type_in_every_mode(training, gradients):
    """D05: training and eval, with and without gradients, and through a cache."""
    layer = hw.MultiHeadAttention(12, 3, position=hw.Rotary(4), mask=hw.Causal()).train(training)
    given, cache = x(), hw.KVCache()
    with torch.autocast("cpu", torch.bfloat16), torch.set_grad_enabled(gradients):
        output = layer(given)
        chunks = torch.cat([layer(chunk, cache=cache) for chunk in given.split(2, dim=1)], dim=1)
    assert output.dtype == chunks.dtype == torch.bfloat16
    assert (output.float() - layer(given)).abs().max() < 0.05
    assert (output - chunks).float().abs().max() < 0.05
    if gradients:
        output.float().square().sum().backward()
        assert all(parameter.grad.isfinite().all() for parameter in layer.parameters())


@pytest.mark.parametrize("frozen", ["query", "key", "value", "output"])
def test_frozen_projections_get_no_gradient_and_change_no_other(frozen):
    layer, given = make(), x()
    layer(given).square().sum().backward()
    wanted = {name: parameter.grad.clone() for name, parameter in layer.named_parameters()}
    layer.zero_grad(set_to_none=True)
    getattr(layer, frozen).requires_grad_(False)
    layer(given).square().sum().backward()
    for name, parameter in layer.named_parameters():
        if name.startswith(f"{frozen}."):
            assert parameter.grad is None
        else:
            torch.testing.assert_close(parameter.grad, wanted[name], atol=1e-6, rtol=1e-5)


def test_gradient_checkpointing_changes_no_gradient():
    layer, given = make(), x()
    plain = torch.autograd.grad(layer(given).square().sum(), list(layer.parameters()))
    output = torch.utils.checkpoint.checkpoint(layer, given, use_reentrant=False)
    again = torch.autograd.grad(output.square().sum(), list(layer.parameters()))
    for one, other in zip(plain, again, strict=True):
        torch.testing.assert_close(one, other, atol=1e-6, rtol=1e-5)


def test_parametrised_projections_work():
    layer, given = hw.MultiHeadAttention(12, 3), x()
    nn.utils.parametrizations.weight_norm(layer.query.linear)
    nn.utils.parametrizations.spectral_norm(layer.output)
    layer(given).sum().backward()
    assert layer.query.linear.parametrizations.weight.original0.grad is not None


def test_shapes_are_known_without_numbers():
    """On the meta device, for whoever asks for the size of a model before it is there."""
    for engine in ("auto", "reference", "sdpa"):
        assert make(engine="auto" if engine == "sdpa" else engine).to("meta")(x().to("meta")).shape == (2, 5, 12)


@pytest.mark.parametrize("sizes", [(0, 5), (2, 0), (0, 0)], ids=str)
def test_nothing_in_gives_nothing_out(sizes):
    layer = hw.MultiHeadAttention(12, 3, position=hw.Rotary(4), mask=hw.Causal())
    layer.keep_attention = True
    batch, length = sizes
    assert layer(torch.randn(batch, length, 12)).shape == (batch, length, 12)
    assert layer.attn.shape == (batch, 3, length, length)


def test_a_memory_without_tokens_gives_the_output_bias():
    layer = hw.MultiHeadAttention(12, 3)
    nn.init.normal_(layer.output.bias)
    output = layer(x(), torch.randn(2, 0, 12))
    torch.testing.assert_close(output, layer.output.bias.expand(2, 5, 12))


def test_exported_programs_take_other_sizes():
    """X02: batch and length are free, and the numbers are the layer's own."""
    layer = hw.MultiHeadAttention(12, 3, position=hw.Rotary(4), mask=hw.Causal(), engine="sdpa").eval()
    sizes = ({0: torch.export.Dim("batch"), 1: torch.export.Dim("length")},)
    program = torch.export.export(layer, (x(),), dynamic_shapes=sizes).module()
    for shape in ((3, 7, 12), (1, 2, 12)):
        given = torch.randn(shape)
        torch.testing.assert_close(program(given), layer(given))


def test_results_do_not_depend_on_earlier_calls():
    """Lengths, modes and types in between leave nothing behind."""
    layer = hw.MultiHeadAttention(12, 3, position=hw.Rotary(4), mask=hw.Causal(), score=hw.Alibi(3)).eval()
    given = torch.randn(2, 12, 12)
    first = layer(given)
    for length in (13, 11, 3):
        layer(torch.randn(1, length, 12), cache=hw.KVCache())
        with torch.no_grad():
            layer(torch.randn(4, length, 12), positions=7)
    assert torch.equal(layer(given), first)


@pytest.mark.parametrize(
    "later", [hw.Alibi(3), hw.T5Bias(3), (hw.Alibi(3), hw.Softcap(2.0)), lambda s, b, h, i, j: s - j]
)
def test_mask_and_score_may_be_set_later(later):
    layer, x = hw.MultiHeadAttention(12, 3, mask=hw.Causal(), score=later), torch.randn(2, 5, 12)
    other = hw.MultiHeadAttention(12, 3)
    other.mask, other.score = torch.ones(5, 5, dtype=torch.bool).tril(), later
    other.load_state_dict(layer.state_dict())
    torch.testing.assert_close(other(x), layer(x))
    plain = hw.MultiHeadAttention(12, 3)
    other.mask = other.score = None
    plain.load_state_dict(other.state_dict())
    torch.testing.assert_close(other(x), plain(x))


def test_a_hook_may_fetch_weights_from_another_device():
    """As offloading does: the weight is elsewhere until the map is called."""
    layer, x = hw.MultiHeadAttention(12, 3), torch.randn(2, 5, 12)
    wanted, kept = layer(x), layer.query.linear.weight

    def fetch(module, inputs):
        module.weight = kept

    layer.query.linear.weight = nn.Parameter(kept.to("meta"))
    layer.query.linear.register_forward_pre_hook(fetch)
    assert torch.equal(layer(x), wanted)
