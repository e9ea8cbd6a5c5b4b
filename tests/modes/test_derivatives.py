"""torch.func on the definition: vmap, grad and jvp of a layer, alone and on top of each other."""

import pytest
import torch
from torch.func import functional_call, grad, jacrev, jvp, vmap

import headwise as hw

SCORES = {
    "none": lambda: None,
    "alibi, softcap": lambda: (hw.Alibi(2), hw.Softcap(1.0)),
    "t5": lambda: hw.T5Bias(2, buckets=4, max_distance=4),
    "sink": lambda: hw.Sink(2),
    "function": lambda: lambda s, b, h, i, j: s - 0.125 * (i - j) * h,
}
EACH = pytest.mark.parametrize("score", SCORES)
# PyTorch scripts its own formulas on the first forward derivative, and warns of itself.
forward_derivatives = pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated")


def make(score, mask=None):
    layer = hw.MultiHeadAttention(
        8,
        2,
        position=hw.Rotary(4),
        mask=hw.Causal() if mask is None else mask,
        score=SCORES[score](),
        engine="reference",
    )
    layer = layer.double()
    weights = {name: parameter.detach() for name, parameter in layer.named_parameters()}

    def loss(weights, x):
        return functional_call(layer, weights, (x,)).square().sum()

    return layer, weights, loss


# PyTorch's own operators that it runs sample after sample.
@pytest.mark.filterwarnings("ignore:There is a performance drop")
@EACH
def test_gradients_of_each_sample_are_those_of_the_samples_alone(score):
    """vmap over grad: what private training and influence functions ask for."""
    layer, weights, loss = make(score)
    x = torch.randn(3, 1, 5, 8, dtype=torch.float64)
    each = vmap(grad(loss), in_dims=(None, 0))(weights, x)
    for place in range(3):
        layer.zero_grad()
        layer(x[place]).square().sum().backward()
        for name, parameter in layer.named_parameters():
            torch.testing.assert_close(each[name][place], parameter.grad, atol=1e-12, rtol=1e-10)


@forward_derivatives
@EACH
def test_forward_derivatives_equal_reverse_ones(score):
    _, weights, loss = make(score)
    x, step = torch.randn(2, 1, 5, 8, dtype=torch.float64)
    _, along = jvp(lambda given: loss(weights, given), (x,), (step,))
    (reverse,) = (grad(loss, argnums=1)(weights, x),)
    torch.testing.assert_close(along, (reverse * step).sum(), atol=1e-11, rtol=1e-10)


def test_models_of_an_ensemble_run_as_one():
    """vmap over weights."""
    layer, weights, _ = make("none")
    stacked = {name: torch.stack([weight, 2 * weight]) for name, weight in weights.items()}
    x = torch.randn(1, 5, 8, dtype=torch.float64)
    both = vmap(lambda given: functional_call(layer, given, (x,)))(stacked)
    for place in range(2):
        alone = functional_call(layer, {name: weight[place] for name, weight in stacked.items()}, (x,))
        torch.testing.assert_close(both[place], alone, atol=1e-12, rtol=0)


@forward_derivatives
def test_a_hessian_times_a_vector_equals_differences_of_gradients():
    _, weights, loss = make("none", hw.Window(2))
    x, step = torch.randn(2, 1, 5, 8, dtype=torch.float64)
    first = grad(loss, argnums=1)
    _, product = jvp(lambda given: first(weights, given), (x,), (step,))
    difference = (first(weights, x + 1e-5 * step) - first(weights, x - 1e-5 * step)) / 2e-5
    torch.testing.assert_close(product, difference, atol=1e-6, rtol=1e-6)


@pytest.mark.parametrize("engine", ["sdpa", "blockwise"])
def test_engines_without_a_rule_for_vmap_refuse_it_in_words(engine):
    layer = hw.MultiHeadAttention(8, 2, mask=hw.Causal(), engine=engine)
    x = torch.randn(3, 1, 5, 8)
    with pytest.raises(
        hw.EngineRefused,
        match=r"torch.vmap is at work.*put the mapped axis into the batch, or take 'reference'.*engine='auto'",
    ):
        vmap(layer)(x)
    assert vmap(torch.nn.Linear(8, 2))(x).shape == (3, 1, 5, 2)
    assert layer(x[0]).shape == (1, 5, 8)


def test_auto_takes_the_definition_inside_of_vmap():
    layer = hw.MultiHeadAttention(8, 2, mask=hw.Causal())
    x = torch.randn(3, 1, 5, 8)
    torch.testing.assert_close(vmap(layer)(x), torch.stack([layer(one) for one in x]))


@pytest.mark.filterwarnings("ignore:There is a performance drop")
@pytest.mark.parametrize("engine", ["auto", "sdpa"])
def test_a_jacobian_is_that_of_the_definition(engine):
    x = torch.randn(1, 2, 3, 4, dtype=torch.float64)

    def attend(x, engine=engine):
        return hw.attention(x, x, x, mask=hw.Causal(), engine=engine)

    wanted = jacrev(lambda x: attend(x, "reference"))(x)
    torch.testing.assert_close(jacrev(attend)(x), wanted, atol=1e-12, rtol=0)
    vectorized = torch.autograd.functional.jacobian(attend, x, vectorize=True)
    torch.testing.assert_close(vectorized, wanted, atol=1e-12, rtol=0)
