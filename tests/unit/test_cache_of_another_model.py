"""A cache serves the model that filled it. Rows that open late, lag behind or change their kind would silently stand for an empty past."""

import copy

import pytest
import torch

import headwise as hw

TOKENS = torch.tensor([[1, 2, 3, 4]])


def model(layers=2, **options):
    torch.manual_seed(0)
    return hw.AutoregressiveTransformer(vocab=9, d_model=12, heads=3, layers=layers, **options).eval()


def filled(by, tokens=TOKENS):
    cache = hw.KVCache()
    with torch.no_grad():
        by(tokens, cache=cache)
    return cache


@pytest.mark.parametrize("tokens", [TOKENS, TOKENS[:, :1]], ids=["the same text", "the next token"])
@pytest.mark.parametrize("other", [model, lambda: copy.deepcopy(model()), lambda: model(layers=3)])
@pytest.mark.parametrize("position", [hw.Rotary, hw.Sinusoidal])
def test_another_model_is_refused(tokens, other, position):
    cache = filled(model(position=position))
    with pytest.raises(
        hw.CacheError, match=r"holds 4 tokens, and a layer .* stored nothing\. Usual fix: a KVCache\(\)"
    ):
        other()(tokens, cache=cache)
    assert cache.length == 4
    assert repr(cache).startswith("KVCache(layers=2, batch=1, length=4,")


def test_a_model_that_has_grown_since_is_refused():
    one = model()
    cache = filled(one)
    one.encoder.layers.append(copy.deepcopy(one.encoder.layers[0]))
    with pytest.raises(hw.CacheError, match="a layer that now asks for it has stored nothing"):
        one(TOKENS[:, :1], cache=cache)


@pytest.mark.parametrize("stack", [lambda: hw.Encoder(12, 3, 2), lambda: hw.MultiHeadAttention(12, 3)])
def test_another_stack_or_layer_is_refused_when_it_lacks_the_past(stack):
    """Of the same text it may make rows of its own: its keys are all there."""
    one, other, x, cache = stack(), stack(), torch.randn(1, 4, 12), hw.KVCache()
    one(x, cache=cache)
    with pytest.raises(hw.CacheError, match=r"holds 4 tokens, and a layer .* has stored 0 of them"):
        other(x[:, :1], cache=cache)
    other(x, cache=cache)
    one(x[:, :1], cache=cache)
    other(x[:, :1], cache=cache)
    assert cache.length == 5


def test_a_layer_that_was_left_out_of_a_step_is_refused():
    layers, x, cache = [hw.MultiHeadAttention(12, 3) for _ in range(2)], torch.randn(1, 4, 12), hw.KVCache()
    for layer in layers:
        layer(x, cache=cache)
    layers[0](x[:, :1], cache=cache)
    layers[0](x[:, :1], cache=cache)
    with pytest.raises(hw.CacheError, match=r"holds 6 tokens, and a layer .* has stored 4 of them"):
        layers[1](x[:, :1], cache=cache)


def test_layers_that_forget_at_their_own_pace_are_served():
    """A layer with a window needs fewer keys than one without."""
    layers, x, cache = [hw.MultiHeadAttention(12, 3) for _ in range(2)], torch.randn(1, 4, 12), hw.KVCache()
    for layer in layers:
        layer(x, cache=cache)
    cache.row(layers[1]).evict(3)
    for layer in layers:
        layer(x[:, :1], cache=cache)
    assert [cache.row(layer).length for layer in layers] == [5, 2]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda layer: layer.double(), r"torch\.float32 on cpu, this call brings \[1, 3, 1, 4\] torch\.float64 on cpu"),
        (
            lambda layer: layer.to("meta"),
            r"torch\.float32 on cpu, this call brings \[1, 3, 1, 4\] torch\.float32 on meta",
        ),
    ],
    ids=["dtype", "device"],
)
def test_a_layer_that_has_moved_is_refused(change, words):
    layer, x, cache = hw.MultiHeadAttention(12, 3), torch.randn(1, 4, 12), hw.KVCache()
    layer(x, cache=cache)
    weight = change(layer).output.weight
    with pytest.raises(hw.CacheError, match=words):
        layer(x[:, :1].to(weight.device, weight.dtype), cache=cache)


def test_a_row_with_other_heads_is_refused():
    cache, x = hw.KVCache(), torch.randn(1, 4, 12)
    hw.MultiHeadAttention(12, 3)(x, cache=cache.row(0))
    with pytest.raises(hw.CacheError, match=r"holds keys \[1, 3, 4, 4\].*brings \[1, 2, 4, 6\].*or another model"):
        hw.MultiHeadAttention(12, 2)(x, cache=cache.row(0))


def test_a_row_serves_one_kind_of_attention():
    layer, x, cache = hw.MultiHeadAttention(12, 3), torch.randn(1, 4, 12), hw.KVCache()
    layer(x, cache=cache)
    with pytest.raises(hw.CacheError, match=r"holds 4 tokens of self-attention, and the call passes key=\."):
        layer(x[:, :1], torch.randn(1, 4, 12), cache=cache)
    cache = hw.KVCache()
    layer(x, torch.randn(1, 4, 12), cache=cache)
    with pytest.raises(hw.CacheError, match=r"holds a memory of 4 tokens, and the call passes no key=\."):
        layer(x, cache=cache)
    assert cache.length == 4


@pytest.mark.parametrize("cache", [{}, hw.KVCache().row(0), (1, 2)], ids=lambda cache: type(cache).__name__)
def test_what_is_no_cache_of_a_whole_model_is_refused_by_name(cache):
    words = f"the cache of a whole model must be a KVCache or None; got {type(cache).__name__}"
    memory = torch.randn(1, 4, 12)
    pair = hw.EncoderDecoder(9, 12, 3, 1)
    for call in (
        lambda: model()(TOKENS, cache=cache),
        lambda: hw.Encoder(12, 3, 1)(memory, cache=cache),
        lambda: hw.Decoder(12, 3, 1)(memory, memory, cache=cache),
        lambda: pair.decode(TOKENS, memory, cache=cache),
    ):
        with pytest.raises(hw.CacheError, match=words):
            call()


def test_a_cache_says_what_it_holds():
    cache = filled(model())
    with torch.no_grad():
        assert repr(hw.KVCache()) == "KVCache(empty)"
        assert repr(cache) == (
            "KVCache(layers=2, batch=1, length=4, capacity=4, dtype=torch.float32, device=cpu, bytes=768)"
        )
        pair, memory = hw.EncoderDecoder(9, 12, 3, 2).eval(), torch.randn(1, 7, 12)
        cache = hw.KVCache()
        for step in range(5):
            pair.decode(TOKENS[:, :1], memory, cache=cache)
            assert cache.length == step + 1
    assert "layers=2, memories=2, batch=1, length=5, capacity=8, dtype=torch.float32" in repr(cache)
    rows = [repr(cache.row((pair.decoder, 0))), repr(cache.row((pair.decoder, 0, "memory"))), repr(cache.row("new"))]
    assert rows == [
        "CacheRow(length=5, capacity=8, batch=1, heads=3, dtype=torch.float32, device=cpu, bytes=768)",
        "CacheRow(length=7, capacity=7, batch=1, heads=3, dtype=torch.float32, device=cpu, bytes=672, fixed)",
        "CacheRow(empty)",
    ]


def test_another_layer_is_refused_after_two_steps_of_any_length():
    one, other, x, cache = (
        hw.MultiHeadAttention(12, 3),
        hw.MultiHeadAttention(12, 3),
        torch.randn(1, 4, 12),
        hw.KVCache(),
    )
    one(x[:, :2], cache=cache)
    one(x[:, 2:], cache=cache)
    for part in (x, x[:, :2]):
        with pytest.raises(hw.CacheError, match=r"holds 4 tokens, and a layer .* has stored 0 of them"):
            other(part, cache=cache)


@pytest.mark.parametrize("kind", [lambda: hw.Encoder(12, 3, 2, mask=hw.Causal()), lambda: hw.MultiHeadAttention(12, 3)])
def test_a_model_and_its_cache_copied_together_go_on_together(kind):
    one, x, cache = kind(), torch.randn(1, 6, 12), hw.KVCache()
    one(x[:, :3], cache=cache)
    twin, fork = copy.deepcopy((one, cache))
    torch.testing.assert_close(twin(x[:, 3:], cache=fork), one(x[:, 3:], cache=cache))


@pytest.mark.parametrize("grad", [True, False])
def test_a_row_is_copied_alone(grad):
    layer, x, cache = hw.MultiHeadAttention(12, 3, mask=hw.Causal()), torch.randn(1, 6, 12), hw.KVCache()
    with torch.set_grad_enabled(grad):
        layer(x[:, :3], cache=cache)
        row = copy.deepcopy(cache.row(layer))
        layer(torch.randn(1, 1, 12), cache=row)
        torch.testing.assert_close(layer(x[:, 3:], cache=cache), layer(x)[:, 3:])


@pytest.mark.parametrize("count", [1.5, "1", None, True])
def test_a_count_to_forget_is_a_whole_number(count):
    with pytest.raises(hw.CacheError, match=r"evict\(count\) must be a whole number of tokens; got "):
        filled(model()).evict(count)


def test_padding_of_a_memory_is_remembered():
    """A step that leaves the mask away sees what the first step saw."""
    layer, x, memory = hw.MultiHeadAttention(12, 3), torch.randn(2, 4, 12), torch.randn(2, 6, 12)
    mask = hw.Padding(torch.arange(6) < torch.tensor([[6], [3]]))
    cache = hw.KVCache()
    first = layer(x[:, :2], memory, mask=mask, cache=cache)
    second = layer(x[:, 2:], memory, cache=cache)
    torch.testing.assert_close(torch.cat([first, second], dim=1), layer(x, memory, mask=mask))
