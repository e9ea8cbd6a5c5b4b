"""torch.compile: one graph, any length, no recompilation for each length."""

import pytest
import torch
from torch._dynamo.testing import CompileCounterWithBackend

import headwise as hw

# Dynamo traces through every line, so these are the slowest tests of the core: few, and each for a reason.
MASKS = {
    "none": lambda: None,
    "causal": hw.Causal,
    "window": lambda: hw.Causal() & hw.Window(3),
}


@pytest.fixture(autouse=True)
def fresh():
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


def operands(length, keys=None):
    shapes = ((2, 4, length, 8), (2, 2, keys or length, 8), (2, 2, keys or length, 8))
    return [torch.randn(shape) for shape in shapes]


slow_reference = pytest.param("reference", marks=pytest.mark.slow)


@pytest.mark.parametrize(
    ("engine", "mask"),
    [
        ("sdpa", "none"),
        ("sdpa", "causal"),
        ("sdpa", "window"),
        ("reference", "causal"),
        pytest.param("blockwise", "none", marks=pytest.mark.slow),
        pytest.param("blockwise", "window", marks=pytest.mark.slow),
        pytest.param("reference", "none", marks=pytest.mark.slow),
        pytest.param("reference", "window", marks=pytest.mark.slow),
    ],
)
def test_a_compiled_call_is_one_graph_for_all_lengths(engine, mask):
    counter = CompileCounterWithBackend("eager")

    def call(query, key, value):
        return hw.attention(query, key, value, mask=MASKS[mask](), engine=engine)

    compiled = torch.compile(call, fullgraph=True, dynamic=True, backend=counter)
    for length in (5, 7, 12):
        given = operands(length)
        torch.testing.assert_close(compiled(*given), call(*given))
    assert counter.frame_count == 1


@pytest.mark.parametrize("engine", [slow_reference, "sdpa"])
def test_without_being_told_of_dynamic_lengths_two_graphs_suffice(engine):
    """The first for the length at hand, the second for any."""
    counter = CompileCounterWithBackend("eager")
    layer = hw.MultiHeadAttention(16, 4, kv_heads=2, position=hw.Rotary(4), mask=hw.Causal(), engine=engine)
    compiled = torch.compile(layer, fullgraph=True, backend=counter)
    for length in (5, 7, 12, 9, 6):
        x = torch.randn(2, length, 16)
        torch.testing.assert_close(compiled(x), layer(x))
    assert counter.frame_count <= 2


@pytest.mark.parametrize("engine", [slow_reference, "sdpa"])
def test_a_compiled_layer_trains(engine):
    """Through the joint graph of forward and backward: gradients equal those without compilation."""
    layer = hw.MultiHeadAttention(16, 4, kv_heads=2, position=hw.Rotary(4), mask=hw.Causal(), engine=engine)
    compiled = torch.compile(layer, fullgraph=True, dynamic=True, backend="aot_eager")
    keep = torch.tensor([[True] * 7, [True] * 4 + [False] * 3])
    x = torch.randn(2, 7, 16)
    found, wanted = (
        torch.autograd.grad(module(x, mask=hw.Padding(keep)).square().sum(), list(layer.parameters()))
        for module in (compiled, layer)
    )
    for one, right in zip(found, wanted, strict=True):
        torch.testing.assert_close(one, right, atol=1e-5, rtol=1e-4)


PARTS = {
    "alibi": lambda: {"score": hw.Alibi(4), "mask": hw.Causal()},
    "alibi, padded": lambda: {
        "score": hw.Alibi(4),
        "mask": hw.Causal() & hw.Padding(torch.arange(7) < torch.tensor([[7], [4]])),
    },
    "t5": lambda: {"score": hw.T5Bias(4), "mask": hw.Causal()},
    "bias": lambda: {"score": hw.Bias(torch.randn(7, 7))},
    "documents": lambda: {"mask": hw.Causal() & hw.Documents(torch.arange(7).expand(2, -1) // 3)},
    "dense": lambda: {"mask": torch.rand(2, 1, 7, 7) > 0.3},
    "prefix": lambda: {"mask": hw.Causal() | hw.Prefix(3)},
    "positions": lambda: {
        "mask": hw.Causal(),
        "query_positions": torch.arange(7) * 2,
        "key_positions": torch.arange(7) * 2,
    },
    "sink": lambda: {"score": hw.Sink(4), "mask": hw.Causal()},
    "lse": lambda: {"mask": hw.Causal(), "return_lse": True},
}


# Dynamo makes an instance of an autograd function while it traces one, and warns of it.
@pytest.mark.filterwarnings("ignore:.*should not be instantiated:DeprecationWarning")
@pytest.mark.parametrize(
    "parts", [name if name == "alibi" else pytest.param(name, marks=pytest.mark.slow) for name in PARTS]
)
@pytest.mark.parametrize("engine", [slow_reference, "sdpa"])
def test_every_part_is_traced_without_a_break(engine, parts):
    """Whole, with gradients: a graph that breaks raises."""
    arguments, given = PARTS[parts](), [tensor.requires_grad_() for tensor in operands(7)]

    def call(query, key, value):
        result = hw.attention(query, key, value, engine=engine, **arguments)
        return result[0] + result[1][..., None] if arguments.get("return_lse") else result

    compiled = torch.compile(call, fullgraph=True, backend="aot_eager")
    found, wanted = (torch.autograd.grad(run(*given).square().sum(), given) for run in (compiled, call))
    for one, right in zip(found, wanted, strict=True):
        torch.testing.assert_close(one, right, atol=1e-5, rtol=1e-4)


# The inductor of this PyTorch still scripts a class of its own.
@pytest.mark.filterwarnings("ignore:.torch.jit.script")
@pytest.mark.slow
@pytest.mark.parametrize("engine", ["reference", "sdpa"])
def test_inductor_gives_the_same_numbers(engine):
    layer = hw.MultiHeadAttention(16, 4, position=hw.Rotary(4), mask=hw.Causal(), score=hw.Alibi(4), engine=engine)
    compiled = torch.compile(layer, fullgraph=True, dynamic=True)
    for length in (5, 8):
        x = torch.randn(2, length, 16)
        found, wanted = (
            torch.autograd.grad(module(x).square().sum(), list(layer.parameters())) for module in (compiled, layer)
        )
        for one, right in zip(found, wanted, strict=True):
            torch.testing.assert_close(one, right, atol=1e-4, rtol=1e-3)


def test_a_layer_with_a_cache_is_one_graph():
    layer, filled, expected = hw.MultiHeadAttention(16, 2, mask=hw.Causal()).eval(), hw.KVCache(), hw.KVCache()
    compiled = torch.compile(lambda x, cache: layer(x, cache=cache), fullgraph=True, backend="eager")
    with torch.no_grad():
        for new in (4, 1, 2):
            x = torch.randn(1, new, 16)
            torch.testing.assert_close(compiled(x, filled), layer(x, cache=expected))
