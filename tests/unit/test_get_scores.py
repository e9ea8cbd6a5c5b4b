"""Another kind of attention is a subclass with its own get_scores; everything else goes on working."""

import types

import pytest
import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

import headwise as hw


class Relative(hw.MultiHeadAttention):
    """A learned key for each distance, as in relative attention."""

    def __init__(self, *sizes, reach=20, **options):
        super().__init__(*sizes, **options)
        self.reach = reach
        self.distance_keys = nn.Parameter(0.3 * torch.randn(2 * reach + 1, self.head_dim))

    def get_scores(self, query, key, query_positions, key_positions):
        distance = query_positions[:, :, None] - key_positions[:, None, :]
        relative = self.distance_keys[distance.clamp(-self.reach, self.reach) + self.reach]
        return super().get_scores(query, key, query_positions, key_positions) + torch.einsum(
            "bhid,bijd->bhij", query, relative
        )


class Distance(hw.MultiHeadAttention):
    """Near vectors match: minus the squared distance, with a learned sharpness a head."""

    def __init__(self, *sizes, **options):
        super().__init__(*sizes, **options)
        self.sharpness = nn.Parameter(torch.linspace(0.5, 1.5, self.heads))

    def get_scores(self, query, key, query_positions, key_positions):
        squares = (query[:, :, :, None] - key[:, :, None]).square().sum(-1)
        return -self.sharpness[:, None, None] * squares


class Additive(hw.MultiHeadAttention):
    """A small network on the sum of query and key."""

    def __init__(self, *sizes, **options):
        super().__init__(*sizes, **options)
        self.judge = nn.Linear(self.head_dim, 1, bias=False)

    def get_scores(self, query, key, query_positions, key_positions):
        return self.judge(torch.tanh(query[:, :, :, None] + key[:, :, None])).squeeze(-1)


KINDS = [Relative, Distance, Additive]


@pytest.fixture(params=KINDS, ids=lambda kind: kind.__name__)
def kind(request):
    return request.param


def tokens(length=7, batch=2, width=12):
    return torch.randn(batch, length, width, dtype=torch.float64)


def close(found, wanted, atol=1e-11):
    torch.testing.assert_close(found, wanted, atol=atol, rtol=0)


def by_hand(layer, x, visible):
    """The layer's own scores for all pairs at once, then mask, softmax and values."""
    q, k, v = (part(x).transpose(1, 2) for part in (layer.query, layer.key, layer.value))
    k, v = (part.repeat_interleave(layer.heads // layer.kv_heads, dim=1) for part in (k, v))
    places = torch.arange(x.shape[1]).expand(x.shape[0], -1)
    scores = layer.get_scores(q, k, places, places) / layer.head_dim**0.5
    weights = scores.masked_fill(~visible, -torch.inf).softmax(-1)
    return layer.output((weights @ v).transpose(1, 2).flatten(-2))


@pytest.mark.parametrize("engine", ["auto", "reference", "blockwise"])
@pytest.mark.parametrize("kv_heads", [3, 1])
def test_overridden_scores_are_scaled_masked_and_mixed(kind, kv_heads, engine):
    layer, x = kind(12, 3, kv_heads=kv_heads, mask=hw.Causal(), engine=engine).double(), tokens()
    close(layer(x), by_hand(layer, x, torch.ones(7, 7, dtype=torch.bool).tril()))


def test_gradients_reach_inputs_projections_and_the_parameters_of_the_subclass(kind):
    layers = [kind(12, 3, mask=hw.Causal(), engine=engine).double() for engine in ("reference", "blockwise")]
    layers[1].load_state_dict(layers[0].state_dict())
    x = tokens().requires_grad_()
    found = [torch.autograd.grad(layer(x).square().sum(), [x, *layer.parameters()]) for layer in layers]
    names = ["x", *(name for name, _ in layers[0].named_parameters())]
    for name, one, other in zip(names, *found, strict=True):
        close(one, other)
        # A shift of all keys changes no softmax of dot products; every other gradient is there.
        assert name == "key.linear.bias" or one.abs().max() > 1e-8, name


def test_an_overridden_layer_trains(kind):
    """Each query is to copy the token before it: the loss falls to a third."""
    layer = kind(12, 3, mask=hw.Causal(), bias=False)
    x = torch.randn(8, 9, 12)
    target = x.roll(1, dims=1)
    optimizer = torch.optim.Adam(layer.parameters(), lr=0.02)
    losses = []
    for _ in range(80):
        optimizer.zero_grad()
        loss = (layer(x)[:, 1:] - target[:, 1:]).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0] / 3


def test_an_overridden_layer_hides_padding(kind):
    keep = torch.tensor([[True] * 7, [True] * 4 + [False] * 3])
    layer, x = kind(12, 3).double(), tokens()
    output = layer(x, mask=hw.Padding(keep))
    close(output[1:, :4], layer(x[1:, :4]))
    spoiled = x.clone()
    spoiled[1, 4:] = torch.nan
    close(layer(spoiled, mask=hw.Padding(keep))[1:, :4], output[1:, :4])


def test_an_overridden_layer_caches(kind):
    layer, x = kind(12, 3, kv_heads=1, mask=hw.Causal()).double(), tokens()
    cache = hw.KVCache()
    close(torch.cat([layer(chunk, cache=cache) for chunk in x.split([3, 1, 2, 1], dim=1)], dim=1), layer(x))


def test_an_overridden_layer_keeps_its_weights(kind):
    layer, x = kind(12, 3, kv_heads=1, mask=hw.Causal(), engine="blockwise").double(), tokens()
    layer.keep_attention = True
    output = layer(x)
    close(layer.output((layer.attn @ layer.value(x).transpose(1, 2)).transpose(1, 2).flatten(-2)), output)


def test_an_overridden_layer_is_recorded(kind):
    layer, x = kind(12, 3, mask=hw.Causal()).double(), tokens()
    layer.keep_attention = True
    with hw.record(layer, keep=("weights",)) as tape:
        layer(x)
    close(tape[""][0].weights, layer.attn)


def test_positions_score_parts_and_turns_go_on_working(kind):
    """Rotary turns queries and keys before the method sees them, and a cap comes after it and before the mask."""
    layer = kind(12, 3, position=hw.Rotary(4), score=hw.Softcap(0.5), mask=hw.Causal()).double()
    x, places = tokens(), torch.arange(7) * 3
    layer.keep_attention = True
    layer(x, positions=places)
    q, k = (layer.position(part(x).transpose(1, 2), places) for part in (layer.query, layer.key))
    scores = layer.get_scores(q, k, places.expand(2, -1), places.expand(2, -1)) / 2
    capped = 0.5 * torch.tanh(scores / 0.5)
    visible = torch.ones(7, 7, dtype=torch.bool).tril()
    close(layer.attn, capped.masked_fill(~visible, -torch.inf).softmax(-1))


def test_the_method_gets_positions_as_rows_of_whole_numbers():
    shapes = []

    class Looking(hw.MultiHeadAttention):
        def get_scores(self, query, key, query_positions, key_positions):
            shapes.append((query.shape, key.shape, query_positions.tolist(), key_positions.tolist()))
            return super().get_scores(query, key, query_positions, key_positions)

    layer = Looking(12, 6, kv_heads=2, engine="reference").double()
    layer(tokens(2), positions=torch.tensor([[5, 6], [0, 1]]))
    layer(tokens(2), tokens(3))
    assert shapes == [
        ((2, 6, 2, 2), (2, 6, 2, 2), [[5, 6], [0, 1]], [[5, 6], [0, 1]]),
        ((2, 6, 2, 2), (2, 6, 3, 2), [[1, 2], [1, 2]], [[0, 1, 2], [0, 1, 2]]),
    ]


class Largest(TorchDispatchMode):
    """The number of elements of the largest tensor that any operator returns."""

    def __init__(self):
        super().__init__()
        self.numel = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        for tensor in result if isinstance(result, tuple | list) else (result,):
            if isinstance(tensor, torch.Tensor) and tensor.untyped_storage().nbytes():
                self.numel = max(self.numel, tensor.untyped_storage().nbytes() // tensor.element_size())
        return result


def test_an_overridden_layer_runs_in_linear_memory():
    """Forward and backward: the largest tensor grows with the sequence, not with its square."""
    layer = Relative(8, 2, mask=hw.Causal(), engine="blockwise")
    largest = []
    for length in (2048, 4096):
        with Largest() as seen:
            layer(torch.randn(1, length, 8)).sum().backward()
        largest.append(seen.numel)
    assert largest[1] <= 2.2 * largest[0]
    assert largest[1] < 2 * 4096 * 4096


def test_auto_takes_linear_memory_for_a_long_sequence():
    layer = Relative(8, 2, mask=hw.Causal())
    q = torch.randn(1, 2, 4096, 4)
    explained = hw.explain(q, q, q, mask=hw.Causal(), scores=layer.get_scores)
    assert explained.engine == "blockwise"
    assert "get_scores is overridden" in explained.refused["sdpa"][0]
    assert "quadratic" in explained.considered["reference"]


def test_a_patched_instance_counts_as_an_override():
    layer, x = hw.MultiHeadAttention(12, 3).double(), tokens()
    plain = layer(x)
    layer.get_scores = types.MethodType(lambda self, q, k, i, j: 0 * torch.einsum("bhid,bhjd->bhij", q, k), layer)
    close(layer(x), layer.output(layer.value(x).mean(1, keepdim=True).flatten(-2)).expand_as(plain))
    layer.get_scores = lambda q, k, i, j: torch.einsum("bhid,bhjd->bhij", q, k)
    close(layer(x), plain)
    del layer.get_scores
    close(layer(x), plain)


@pytest.mark.parametrize("how", ["class", "patch", "function of the patch"])
def test_scores_of_the_whole_matrix_run_on_reference(how):
    """An entry that depends on other pairs may not be computed in blocks."""

    def centred(self, query, key, query_positions, key_positions):
        scores = torch.einsum("bhid,bhjd->bhij", query, key)
        return scores - scores.mean(dim=(-1, -2), keepdim=True) * scores

    class Whole(hw.MultiHeadAttention):
        whole_matrix = True
        get_scores = centred

    layer = Whole(12, 3)
    if how != "class":
        layer.get_scores = types.MethodType(centred, layer) if how == "patch" else lambda *given: centred(layer, *given)
    x = torch.randn(1, 7, 12)
    calls = []
    layer.attend.register_forward_pre_hook(lambda module, given: calls.append(given[0]))
    layer(x)
    assert calls[0].whole_matrix
    layer.attend.engine = "blockwise"
    with pytest.raises(hw.EngineRefused, match="the score method needs the whole matrix"):
        layer(x)


def test_a_functional_caller_passes_the_same_as_scores(kind):
    layer = kind(12, 3).double()
    q, k, v = torch.randn(3, 2, 3, 7, 4, dtype=torch.float64)
    places = torch.arange(7).expand(2, -1)
    wanted = (layer.get_scores(q, k, places, places) / 2).softmax(-1) @ v
    for engine in ("auto", "reference", "blockwise"):
        close(hw.attention(q, k, v, scores=layer.get_scores, engine=engine), wanted)
    with pytest.raises(hw.EngineRefused, match="get_scores is overridden, the kernel knows dot products only"):
        hw.attention(q, k, v, scores=layer.get_scores, engine="sdpa")
