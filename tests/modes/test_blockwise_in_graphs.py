"""The engine blockwise under torch.compile with fullgraph=True: one node of the graph, and never the numbers of another rule."""

import pytest
import torch
from torch._dynamo.testing import CompileCounterWithBackend

import headwise as hw
from headwise.engines import base
from headwise.engines.blockwise import not_written
from support.compare import close, gradients, operands
from support.parts import Sizes

SIZES = Sizes(2, 4, 7, 7)


@pytest.fixture(autouse=True)
def fresh():
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


def documents():
    return hw.Causal() & hw.Documents(torch.arange(7).expand(2, -1) // 3)


def prefix():
    return hw.Causal() | hw.Prefix(torch.tensor([1, 4]))


def ragged():
    return hw.Causal() & hw.Padding(torch.arange(7) < torch.tensor([[7], [3]]))


def positions():
    return {"query_positions": torch.arange(7) * 2, "key_positions": torch.arange(7) * 2}


RULES = {
    "t5, documents": lambda: {"score": hw.T5Bias(4, buckets=4, max_distance=4), "mask": documents()},
    "window": lambda: {"mask": hw.Window(3)},
    "padding, alibi": lambda: {"mask": ragged(), "score": hw.Alibi(4)},
    "prefix, softcap": lambda: {"mask": prefix(), "score": hw.Softcap(1.5)},
    "dense, learned bias": lambda: {
        "mask": torch.rand(2, 4, 7, 7) > 0.3,
        "score": hw.Bias(torch.nn.Parameter(torch.randn(1, 4, 7, 7))),
    },
    "sink, body": lambda: {"mask": hw.Causal(), "score": (hw.T5Bias(4), hw.Softcap(1.5), hw.Sink(4))},
    "positions": lambda: {"mask": hw.Window(5), "score": hw.Alibi(4), **positions()},
    "nothing": dict,
}


def learned(rule):
    """The parameters of a rule, in float64 and with numbers that matter."""
    score = rule.get("score")
    modules = [part for part in (score if isinstance(score, tuple) else (score,)) if isinstance(part, torch.nn.Module)]
    parameters = [parameter for module in modules for parameter in module.double().parameters()]
    for parameter in parameters:
        torch.nn.init.normal_(parameter)
    return parameters


@pytest.mark.parametrize(
    ("name", "dynamic"),
    [
        pytest.param(name, dynamic, marks=() if (name, dynamic) == ("t5, documents", None) else pytest.mark.slow)
        for name in RULES
        for dynamic in (None, True)
    ],
)
def test_one_graph_has_the_numbers_and_the_gradients_of_the_definition(name, dynamic):
    given, rule = operands(SIZES, 2, value_features=5), RULES[name]()
    tensors = (*given, *learned(rule))

    def call(query, key, value, engine="blockwise"):
        return hw.attention(query, key, value, engine=engine, return_lse=True, **rule)

    compiled = torch.compile(call, fullgraph=True, dynamic=dynamic, backend="aot_eager")
    # Twice, with other numbers in all that learns.
    for _ in range(2):
        found, wanted = compiled(*given), call(*given, engine="reference")
        for one, right in zip(found, wanted, strict=True):
            close(one, right, 1e-11)
        for one, right in zip(gradients(tensors, *found), gradients(tensors, *wanted), strict=True):
            close(one, right, 1e-10)
        with torch.no_grad():
            for tensor in tensors:
                tensor.mul_(-0.5)


def test_a_graph_serves_every_mask_of_one_kind_with_the_numbers_of_each():
    """Another mask of the same shape, the same mask written to, another window: none gets what was computed for one before it."""
    given = operands(SIZES, 2, requires_grad=False)
    counter = CompileCounterWithBackend("eager")

    def call(query, key, value, keep, size, engine):
        return hw.attention(query, key, value, mask=hw.Window(size) & hw.Padding(keep), engine=engine)

    compiled = torch.compile(call, fullgraph=True, backend=counter)
    keep = torch.arange(7) < torch.tensor([[7], [3]])

    def check(keep, size):
        close(compiled(*given, keep, size, "blockwise"), call(*given, keep, size, "reference"), 1e-11)

    check(keep, 4)
    check(~keep, 4)
    keep.logical_not_()
    check(keep, 4)
    assert counter.frame_count == 1
    for size in (2, 5, 6):
        check(keep, size)
    # Of sizes the first has a graph of its own, and all others share one.
    assert counter.frame_count == 2


@pytest.mark.slow
def test_parts_of_one_class_with_other_values_are_told_apart():
    given = operands(SIZES, 4, requires_grad=False)

    def call(query, key, value, score, engine):
        return hw.attention(query, key, value, mask=hw.Causal(), score=score, engine=engine)

    compiled = torch.compile(call, fullgraph=True, backend="eager")
    tables = [hw.T5Bias(4, bidirectional=both).double() for both in (False, True, False)]
    sharper = hw.Alibi(4, slopes=(1.0, 0.5, 0.25, 2.0))
    for score in (hw.Softcap(0.5), hw.Softcap(2.5), hw.Alibi(4), sharper, *tables, (hw.Alibi(4), hw.Softcap(0.5))):
        for part in learned({"score": score}):
            part.requires_grad_(False)
        close(compiled(*given, score, "blockwise"), call(*given, score, "reference"), 1e-11)


@pytest.mark.slow
def test_a_layer_on_blockwise_is_one_graph_for_all_lengths_and_trains():
    layer = hw.MultiHeadAttention(
        16, 4, kv_heads=2, position=hw.Rotary(4), mask=hw.Window(4), score=hw.T5Bias(4), engine="blockwise"
    )
    counter = CompileCounterWithBackend("aot_eager")
    compiled, counts = torch.compile(layer, fullgraph=True, dynamic=True, backend=counter), []
    for length in (5, 9, 12):
        x = torch.randn(2, length, 16)
        found, wanted = (
            torch.autograd.grad(module(x).square().sum(), list(layer.parameters())) for module in (compiled, layer)
        )
        for one, right in zip(found, wanted, strict=True):
            torch.testing.assert_close(one, right, atol=1e-4, rtol=1e-3)
        counts.append(counter.frame_count)
    assert len(set(counts)) == 1


@pytest.mark.slow
def test_the_layers_of_a_model_share_a_graph_that_is_compiled_layer_by_layer():
    """Each layer has a table of its own; the graph takes it as an input."""
    layers = [
        hw.MultiHeadAttention(16, 4, mask=hw.Causal(), score=hw.T5Bias(4), engine="blockwise").eval() for _ in range(4)
    ]
    counter = CompileCounterWithBackend("eager")

    def step(layer, x):
        return layer(x)

    compiled, x = torch.compile(step, fullgraph=True, backend=counter), torch.randn(2, 7, 16)
    with torch.no_grad():
        for layer in layers:
            torch.nn.init.normal_(next(layer.score.parameters()))
            torch.testing.assert_close(compiled(layer, x), layer(x))
    assert counter.frame_count <= 2


@pytest.mark.slow
def test_dropout_in_a_graph_drops_by_the_seed_and_alike_in_both_passes():
    query, key, _ = operands(SIZES, 4)
    value = torch.eye(7, dtype=torch.float64).expand(2, 4, 7, 7).clone().requires_grad_()

    def call(query, key, value):
        return hw.attention(query, key, value, mask=hw.Causal(), dropout=0.4, engine="blockwise")

    compiled = torch.compile(call, fullgraph=True, backend="aot_eager")
    torch.manual_seed(5)
    weights = compiled(query, key, value)
    torch.manual_seed(5)
    assert torch.equal(compiled(query, key, value), weights)
    assert not torch.equal(compiled(query, key, value), weights)
    by_value = torch.randn_like(weights)
    (found,) = torch.autograd.grad((weights * by_value).sum(), value)
    close(found, weights.mT @ by_value, 1e-12)


# The inductor of this PyTorch still scripts a class of its own.
@pytest.mark.filterwarnings("ignore:.torch.jit.script")
@pytest.mark.slow
def test_masks_that_the_graph_itself_computes_are_told_apart_by_inductor():
    """The inductor writes one after the other into the same memory."""
    given = [tensor.detach() for tensor in operands(SIZES, 4)]

    def call(query, key, value, engine):
        for limit in (0.1, 0.5, 0.9):
            keep = query.mean((1, 3)).sigmoid() < limit
            query = query + hw.attention(query, key, value, mask=hw.Causal() & hw.Padding(keep), engine=engine)
        return query

    compiled = torch.compile(call, fullgraph=True)
    for _ in range(2):
        close(compiled(*given, "blockwise"), call(*given, "reference"), 1e-10)
        given[0].mul_(-2.0)


class Odd(hw.mask.base.Mask):
    def sees(self, grid):
        return grid.distance % 2 == 0


def test_what_cannot_be_written_ends_the_graph_and_is_refused_in_words_where_one_graph_is_asked_for():
    query = torch.randn(2, 4, 7, 16)

    def call(query):
        return hw.attention(query, query, query, mask=Odd(), engine="blockwise")

    torch.testing.assert_close(torch.compile(call, backend="eager")(query), call(query))
    torch._dynamo.reset()
    with pytest.raises(Exception, match=r"one node of a graph .* this call holds Odd\. Usual fix: fullgraph=False"):
        torch.compile(call, backend="eager", fullgraph=True)(query)


def test_what_is_not_written_is_named():
    assert "holds a function, Odd." in not_written(["FunctionScore", "Odd"])
    assert "holds a function." in not_written(["method"])


def test_auto_takes_blockwise_in_a_graph_where_the_others_would_store_all_pairs(monkeypatch):
    """A dense mask on sdpa does, so strict() notices it; where nothing else is left, the call is refused in words."""
    query, graphs = torch.randn(1, 4, 200, 8), []
    # Here every matrix of pairs counts as large.
    monkeypatch.setattr(base, "SMALL", 0)

    def call(query, score=None):
        return hw.attention(query, query, query, mask=hw.Window(5), score=score)

    def keep_graph(module, _):
        graphs.append(str(module.graph))
        return module.forward

    compiled = torch.compile(call, fullgraph=True, backend=keep_graph)
    with hw.strict():
        torch.testing.assert_close(compiled(query), call(query))
        assert "headwise.blockwise" in graphs[0]
        # Dynamo wraps what is raised while it traces, and keeps the sentence.
        named = torch.compile(
            lambda query: hw.attention(query, query, query, mask=hw.Window(5), engine="sdpa"), backend="eager"
        )
        with pytest.raises(Exception, match="quadratic in the sequence, which strict"):
            named(query)
        with pytest.raises(Exception, match="while compiling, this call can be run by reference only"):
            compiled(query, lambda s, b, h, i, j: 2 * s)
