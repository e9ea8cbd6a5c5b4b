"""Types of numbers: autocast, half-precision modules whose rotary tables stay exact, copies and pickles of layers with every part."""

import copy
import pickle

import pytest
import torch

import headwise as hw
from headwise.position import DynamicNTK, Llama3, Yarn
from matrix.schemes import MASKS, SCORES

ROTARY = {
    "plain": lambda: hw.Rotary(64),
    "interleaved": lambda: hw.Rotary(64, interleaved=True),
    "YaRN": lambda: hw.Rotary(64, scaling=Yarn(4.0, 1024)),
    "Llama 3": lambda: hw.Rotary(64, scaling=Llama3()),
    "dynamic NTK": lambda: hw.Rotary(64, scaling=DynamicNTK(4.0, 1024)),
}
MOVES = {
    "half": lambda layer: layer.half(),
    "bfloat16": lambda layer: layer.bfloat16(),
    "to": lambda layer: layer.to("cpu", torch.bfloat16),
    "there and back": lambda layer: layer.half().double().bfloat16(),
}


@pytest.mark.parametrize("move", MOVES)
@pytest.mark.parametrize("scheme", ROTARY)
def test_rotary_tables_stay_exact_whatever_the_type_of_the_module(scheme, move):
    """D01: positions above 256 collide in bfloat16; angles are never in the type of the module."""
    layer = hw.MultiHeadAttention(128, 2, position=ROTARY[scheme]())
    before = layer.position
    positions = torch.tensor([257, 4095, 15962])
    length = 16000 if before.depends_on_length else None
    wanted = before.tables(positions, length)
    moved = MOVES[move](layer)
    x = torch.randn(1, 2, 3, 64).to(moved.query.linear.weight.dtype)
    with torch.autocast("cpu", torch.bfloat16):
        for found, right in zip(moved.position.tables(positions, length), wanted, strict=True):
            assert found.dtype == torch.float64
            assert torch.equal(found, right)
    exact = before(x.double(), positions, length=length)
    # Three roundings: of sine and cosine, of a product, and of the sum.
    largest = x.double().abs().max() * wanted[0].abs().max().clamp(min=1)
    assert (moved.position(x, positions, length=length) - exact).abs().max() <= 3 * torch.finfo(x.dtype).eps * largest


def make(score, mask="causal", **options):
    layer = hw.MultiHeadAttention(
        16, 4, kv_heads=2, position=hw.Rotary(4), mask=MASKS[mask].of_layer, score=SCORES[score].make(4), **options
    )
    for parameter in layer.score.parameters():
        torch.nn.init.normal_(parameter)
    return layer


@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize("engine", ["auto", "sdpa", "blockwise", "reference"])
def test_autocast_gives_one_type_in_every_mode(engine, score):
    """D05: trained and evaluated, with and without gradients, the numbers of the plain run within the roundings of bfloat16."""
    layer, x = make(score, engine=engine), torch.randn(2, 7, 16)
    try:
        wanted = layer(x)
    except hw.EngineRefused:
        pytest.skip("refused, as the matrix shows")
    found = []
    for training in (True, False):
        layer.train(training)
        for learning in (True, False):
            with torch.autocast("cpu", torch.bfloat16), torch.set_grad_enabled(learning):
                found.append(layer(x))
            if learning:
                layer.zero_grad()
                found[-1].float().sum().backward()
                assert all(p.grad.dtype == torch.float32 for p in layer.parameters() if p.grad is not None)
    assert {output.dtype for output in found} == {torch.bfloat16}
    for output in found:
        assert (output.float() - wanted).abs().max() <= 0.03 * wanted.abs().max()


@pytest.mark.parametrize("mask", [name for name in MASKS if name != "function"])
@pytest.mark.parametrize("score", [name for name in SCORES if name != "function"])
def test_layers_are_copied_and_pickled_with_every_part(score, mask):
    """Functions that are written in place cannot be pickled by Python itself; all parts can."""
    layer, x = make(score, mask), torch.randn(2, 7, 16)
    for other in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
        assert torch.equal(other(x), layer(x))
        other.load_state_dict(layer.state_dict())
        with torch.no_grad():
            for parameter in other.parameters():
                parameter.add_(1)
        assert not torch.equal(other(x), layer(x))
