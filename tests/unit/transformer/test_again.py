"""What is made again has the same numbers, for less memory, with gradients of any order."""

import pytest
import torch
from torch import nn

from headwise.bench.measure import peak_memory
from headwise.train.lean import LeanLayer
from headwise.transformer.again import again
from headwise.transformer.autoregressive import AutoregressiveTransformer
from headwise.transformer.layer import TransformerLayer


def model_of(layer, **parts):
    torch.manual_seed(0)
    return AutoregressiveTransformer(11, 32, 4, 2, layer=layer, **parts)


def gradients(model, tokens):
    torch.manual_seed(1)
    model(tokens).square().mean().backward()
    return {name: each.grad for name, each in model.named_parameters()}


@pytest.mark.parametrize("feed_forward", ["swiglu", "gelu", "relu"])
@pytest.mark.parametrize("parts", [{"norm": "layer"}, {"norm": "rms"}, {"dropout": 0.2}, {"pre_norm": False}])
def test_a_lean_layer_has_the_numbers_of_the_ordinary_one(feed_forward, parts):
    tokens = torch.randint(11, (3, 7), generator=torch.Generator().manual_seed(0))
    plain = gradients(model_of(TransformerLayer, feed_forward=feed_forward, **parts), tokens)
    lean = gradients(model_of(LeanLayer, feed_forward=feed_forward, **parts), tokens)
    assert plain.keys() == lean.keys()
    for name, each in plain.items():
        # Gradients through gate and proposal are added up in another order, and round otherwise.
        torch.testing.assert_close(lean[name], each, rtol=1e-5, atol=1e-6 * each.abs().max().item())


@pytest.mark.parametrize("place", ["feed_forward", "feed_forward_norm", "feed_forward.up", "attention_norm"])
def test_a_lean_layer_calls_the_part_that_somebody_waits_for(place):
    tokens = torch.randint(11, (3, 7), generator=torch.Generator().manual_seed(0))
    free, watched = (model_of(LeanLayer, feed_forward="gelu", norm="layer") for _ in range(2))
    shapes = []
    part = watched.encoder.layers[1].get_submodule(place)
    part.register_forward_hook(lambda module, given, output: shapes.append(output.shape[:2]))
    expected = gradients(free, tokens)
    for name, each in gradients(watched, tokens).items():
        torch.testing.assert_close(each, expected[name], rtol=1e-5, atol=1e-6 * each.abs().max().item())
    assert set(shapes) == {(3, 7)}


@pytest.mark.parametrize(
    "norm", [None, lambda width: nn.Identity(), lambda width: nn.LayerNorm(width, elementwise_affine=False)]
)
def test_a_lean_layer_calls_norms_that_it_does_not_know(norm):
    tokens = torch.randint(11, (3, 7), generator=torch.Generator().manual_seed(0))
    found = []
    for layer in (TransformerLayer, LeanLayer):
        model = model_of(layer, norm=norm or "rms")
        if norm is None:
            for each in model.encoder.layers:
                each.feed_forward_norm.weight.requires_grad_(False)
        found.append(gradients(model, tokens))
    for name, each in found[0].items():
        if each is None:
            assert found[1][name] is None
        else:
            torch.testing.assert_close(found[1][name], each, rtol=1e-5, atol=1e-6 * each.abs().max().item())


@pytest.mark.parametrize("feed_forward", ["swiglu", "gelu"])
def test_a_lean_layer_keeps_a_quarter_less(feed_forward):
    tokens = torch.zeros(8, 128, dtype=torch.long)
    peaks = {}
    for layer in (TransformerLayer, LeanLayer):
        model = model_of(layer, feed_forward=feed_forward, norm="layer")
        peaks[layer] = peak_memory(lambda model=model: model(tokens).sum())
    assert peaks[LeanLayer] < 0.8 * peaks[TransformerLayer]


def test_half_precision_makes_the_same_bits_again():
    tokens = torch.randint(11, (3, 7), generator=torch.Generator().manual_seed(0))
    found = []
    for layer in (TransformerLayer, LeanLayer):
        model = model_of(layer)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = model(tokens).float().square().mean()
        loss.backward()
        found.append([each.grad for each in model.parameters()])
    assert all(torch.equal(*pair) for pair in zip(*found, strict=True))


def test_a_graph_can_be_used_twice_and_its_gradient_has_a_gradient():
    x = torch.tensor([0.5, -1.0], dtype=torch.float64, requires_grad=True)
    weight = nn.Parameter(torch.eye(2, dtype=torch.float64) * 2)
    y = again(lambda: x.exp(), lambda made: (made @ weight).square().sum(), when=True)
    first = torch.autograd.grad(y, x, retain_graph=True)[0]
    assert torch.equal(first, torch.autograd.grad(y, x)[0])
    assert torch.autograd.gradgradcheck(
        lambda x: again(lambda: x.exp(), lambda made: (made @ weight.detach()).square().sum(), when=True), x
    )


def test_hooks_around_the_pass_see_what_is_kept():
    seen = []
    x, weight = torch.rand(3, requires_grad=True), torch.rand(3, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: seen.append(t.shape) or t.clone(), lambda t: t):
        loss = again(lambda: x.sigmoid(), lambda made: (made * weight).sum(), when=True)
    # The output of the sigmoid, for its own gradient, and the weight; what the product would keep besides is made again.
    assert len(seen) == 2
    loss.backward()
    torch.testing.assert_close(weight.grad, x.detach().sigmoid())


def test_without_gradients_nothing_is_spared():
    made = []
    with torch.no_grad():
        again(lambda: made.append(1) or torch.ones(2), lambda y: y, when=True)
    assert made == [1]
