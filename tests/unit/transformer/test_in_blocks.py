"""A network in blocks of tokens: the numbers of the plain one, gradients of both orders, and the plain way where it must be taken."""

from functools import partial

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from headwise.norm import RMSNorm
from headwise.position.rotary import Rotary
from headwise.train.lean_parts import LeanRMSNorm, LeanRotary
from headwise.transformer import in_blocks
from headwise.transformer.block_norm import NormKind
from headwise.transformer.feed_forward import FeedForward, GatedFeedForward, make_feed_forward
from headwise.transformer.in_blocks import How, gated_in_blocks, plain_in_blocks, squared_relu

ACTIVATIONS = [F.relu, F.gelu, F.silu, squared_relu]


@pytest.fixture
def small_blocks(monkeypatch):
    """Two tokens a block: five tokens are two blocks and a half."""
    monkeypatch.setattr(in_blocks, "BLOCK", 1)
    monkeypatch.setattr(in_blocks, "FEWEST_TOKENS", 2)


def numbers(*shape):
    return torch.randn(*shape, dtype=torch.float64, requires_grad=True)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize(
    ("norm", "bias"),
    [(None, True), (NormKind(centred=True, eps=1e-5), True), (NormKind(centred=False, eps=1e-5), False)],
)
def test_gradients_of_first_and_second_order_are_right(activation, norm, bias):
    torch.manual_seed(0)

    def maybe(size, wanted=bias):
        return numbers(size) if wanted else None

    # The RMS norm has no bias.
    affine = () if norm is None else (numbers(3), maybe(3, wanted=bias and norm.centred))
    ends = (numbers(4, 3), maybe(4), numbers(3, 4), maybe(3))
    for function, given in (
        (plain_in_blocks, (*affine, *ends)),
        (gated_in_blocks, (*affine, numbers(4, 3), maybe(4), *ends)),
    ):

        def run(x, *tensors, function=function):
            parts = zip(tensors[::2], tensors[1::2], strict=True)
            return function(x, How(activation, norm), *parts)

        x = numbers(1, 5, 3)
        assert torch.autograd.gradcheck(run, (x, *given))
        assert torch.autograd.gradgradcheck(run, (x, *given))


def networks(kind, **parts):
    torch.manual_seed(0)
    network = make_feed_forward(kind, 6, **parts)
    lean = make_feed_forward(kind, 6, **parts)
    lean.load_state_dict(network.state_dict())
    lean.lean = True
    return network, lean


def outcome(network, x):
    x = x.clone().requires_grad_()
    output = network(x)
    output.square().sum().backward()
    return output.detach(), x.grad, *(each.grad for each in network.parameters())


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("kind", ["relu", "gelu", "squared_relu", "swiglu", "geglu", "reglu"])
@pytest.mark.parametrize("tokens", [(2, 5), (1, 1), (3,), (0, 4)])
def test_the_numbers_are_those_of_the_plain_network(kind, bias, tokens):
    network, lean = networks(kind, bias=bias)
    x = torch.randn(*tokens, 6)
    for left, right in zip(outcome(network, x), outcome(lean, x), strict=True):
        torch.testing.assert_close(left, right)


def test_the_middle_is_not_kept():
    kept = []
    network = networks("gelu")[1]
    with torch.autograd.graph.saved_tensors_hooks(lambda t: kept.append(t) or t, lambda t: t):
        network(torch.randn(50, 6, requires_grad=True))
    assert sum(each.numel() for each in kept if each.shape == (50, 24)) == 50 * 24


@pytest.mark.parametrize("kind", [FeedForward, GatedFeedForward])
def test_the_plain_way_is_taken_where_the_parts_must_be_called(kind, monkeypatch):
    monkeypatch.setattr("headwise.transformer.feed_forward.plain_in_blocks", None)
    monkeypatch.setattr("headwise.transformer.feed_forward.gated_in_blocks", None)
    x = torch.randn(4, 6, requires_grad=True)

    def lean():
        network = kind(6)
        network.lean = True
        return network

    with pytest.raises(TypeError):
        lean()(x)
    seen = []
    hooked = lean()
    hooked.up.register_forward_hook(lambda *given: seen.append(1))
    hooked(x)
    assert seen == [1]
    replaced = lean()
    replaced.down = nn.Sequential(replaced.down)
    replaced(x)
    frozen = lean()
    frozen.up.weight.requires_grad_(False)
    frozen(x).sum().backward()
    lean().eval()(x)
    lean().half()(x.half())
    with torch.no_grad():
        lean()(x)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert lean()(x).dtype == torch.bfloat16
    torch.func.vmap(lean())(x)
    with nn.modules.module.register_module_forward_hook(lambda *given: None):
        lean()(x)


def test_lean_parts_have_the_numbers_of_the_ordinary_ones():
    torch.manual_seed(0)
    x = torch.randn(2, 3, 5, 8, dtype=torch.float64)
    plain, lean = RMSNorm(8).double(), LeanRMSNorm(8).double()
    with torch.no_grad():
        lean.weight.copy_(plain.weight.copy_(torch.randn(8)))
    pairs = [(plain, lean)]
    for positions in (3, torch.arange(5) * 2, torch.arange(10).view(2, 5)):
        for made in ({"dim": 8}, {"dim": 4}, {"dim": 8, "interleaved": True}):
            pairs.append([partial(part(**made), positions=positions) for part in (Rotary, LeanRotary)])
    weight = torch.randn_like(x)
    for left, right in pairs:
        found = []
        for part in (left, right):
            given = x.clone().requires_grad_()
            output = part(given)
            (output * weight).sum().backward()
            found.append((output.detach(), given.grad))
        assert torch.equal(found[0][0], found[1][0])
        torch.testing.assert_close(found[0][1], found[1][1])
    torch.testing.assert_close(plain.weight.grad, lean.weight.grad)


def test_lean_parts_have_gradients_of_first_and_second_order():
    torch.manual_seed(0)
    norm, rotary = LeanRMSNorm(4).double(), LeanRotary(4)
    for part in (norm, lambda x: rotary(x, 1)):
        assert torch.autograd.gradcheck(part, numbers(2, 3, 4))
        assert torch.autograd.gradgradcheck(part, numbers(2, 3, 4))


def test_lean_parts_serve_other_precisions_and_transformations():
    half = torch.randn(2, 3, 4).half()
    assert LeanRMSNorm(4)(half).dtype == torch.float16
    assert LeanRotary(4)(half, 0).dtype == torch.float16
    x = torch.randn(2, 3, 4)
    torch.testing.assert_close(torch.func.vmap(LeanRMSNorm(4))(x), LeanRMSNorm(4)(x))
