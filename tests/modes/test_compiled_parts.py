"""torch.compile over every kind of score: one graph for all lengths, on the engines that promise it and on "auto"."""

import pytest
import torch
from torch._dynamo.testing import CompileCounterWithBackend

import headwise as hw

# Dynamo itself makes an object of autograd's base class for each autograd function it traces, such as the one that gives the lse
# its gradient.
pytestmark = pytest.mark.filterwarnings("ignore:.*autograd.function.Function.* should not be instantiated")

SCORES = {
    "none": lambda: None,
    "alibi": lambda: hw.Alibi(4),
    "t5": lambda: hw.T5Bias(4, buckets=8, max_distance=16),
    "softcap": lambda: hw.Softcap(2.0),
    "sink": lambda: hw.Sink(4),
    "bias": lambda: hw.Bias(torch.linspace(-1, 1, 4).view(1, 4, 1, 1)),
    "function": lambda: lambda s, b, h, i, j: s - 0.125 * (i - j) * h,
}
ALL = [
    (engine, score)
    for engine in ("reference", "sdpa", "auto")
    for score in SCORES
    if engine != "sdpa" or score not in ("softcap", "function")
]


@pytest.fixture(autouse=True)
def fresh():
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


def make(engine, score):
    layer = hw.MultiHeadAttention(
        16, 4, kv_heads=2, position=hw.Rotary(4), mask=hw.Causal(), score=SCORES[score](), engine=engine
    )
    for parameter in layer.score.parameters():
        torch.nn.init.normal_(parameter)
    return layer


@pytest.mark.parametrize(
    ("engine", "score"),
    [
        pytest.param(*pair, marks=() if pair in (("auto", "alibi"), ("sdpa", "t5")) else pytest.mark.slow)
        for pair in ALL
    ],
)
def test_a_layer_with_any_score_is_one_graph_for_all_lengths(engine, score):
    layer, counter = make(engine, score), CompileCounterWithBackend("eager")
    compiled = torch.compile(layer, fullgraph=True, dynamic=True, backend=counter)
    with torch.no_grad():
        for length in (5, 9):
            x = torch.randn(2, length, 16)
            torch.testing.assert_close(compiled(x), layer(x))
    assert counter.frame_count == 1


@pytest.mark.slow
@pytest.mark.parametrize(("engine", "score"), ALL)
def test_a_compiled_layer_with_any_score_has_its_gradients(engine, score):
    layer = make(engine, score)
    compiled = torch.compile(layer, fullgraph=True, dynamic=True, backend="aot_eager")
    x = torch.randn(2, 7, 16)
    found, wanted = (
        torch.autograd.grad(module(x).square().sum(), list(layer.parameters())) for module in (compiled, layer)
    )
    for one, right in zip(found, wanted, strict=True):
        torch.testing.assert_close(one, right, atol=1e-4, rtol=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("score", [hw.Alibi, hw.T5Bias, hw.Softcap(3.0), hw.Sink], ids=str)
def test_a_model_with_any_score_is_one_graph(score):
    model = hw.AutoregressiveTransformer(11, 16, 4, 2, score=score).eval()
    counter = CompileCounterWithBackend("eager")
    compiled = torch.compile(model, fullgraph=True, dynamic=True, backend=counter)
    with torch.no_grad():
        for batch, length in ((2, 7), (3, 12)):
            tokens = torch.randint(0, 11, (batch, length))
            torch.testing.assert_close(compiled(tokens), model(tokens))
    assert counter.frame_count == 1
