"""The cache: any split of a sequence into chunks equals one pass; a step that fails leaves no trace."""

import copy

import pytest
import torch

import headwise as hw
from headwise.position.scaling import DynamicNTK, Yarn
from support.cache import SCHEMES, chunked, make, tokens


def close(found, wanted, atol=1e-12):
    torch.testing.assert_close(found, wanted, atol=atol, rtol=0)


@pytest.mark.parametrize("chunks", [[9], [1] * 9, [4, 1, 1, 3], [2, 7]], ids=str)
@pytest.mark.parametrize("scheme", SCHEMES)
def test_chunks_equal_one_pass(scheme, chunks):
    """K02: outputs agree at every step, for every position scheme, score and mask."""
    layer, x = make(scheme), tokens(9)
    with torch.no_grad():
        close(chunked(layer, x, chunks), layer(x))


@pytest.mark.parametrize("scheme", ["plain", "rotary", "t5", "grouped"])
def test_chunks_without_tokens_change_nothing(scheme):
    layer, x = make(scheme), tokens(9)
    with torch.no_grad():
        close(chunked(layer, x, [0, 5, 0, 4, 0]), layer(x))


@pytest.mark.parametrize("scheme", ["plain", "rotary", "alibi", "window"])
def test_gradients_through_chunks_equal_those_of_one_pass(scheme):
    layer, x = make(scheme), tokens(6).requires_grad_()
    found, wanted = (
        torch.autograd.grad(output.square().sum(), [x, *layer.parameters()])
        for output in (chunked(layer, x, [3, 1, 2]), layer(x))
    )
    for one, right in zip(found, wanted, strict=True):
        close(one, right)


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("scheme", SCHEMES)
def test_padded_batches_equal_one_pass_and_each_sequence_alone(scheme, side):
    """Padding has a column for every key, cached and new; positions count the real tokens."""
    layer, x, lengths = make(scheme), tokens(9, batch=3), torch.tensor([9, 4, 6])
    places = torch.arange(9)
    keep = places < lengths[:, None] if side == "right" else places >= 9 - lengths[:, None]
    positions = (keep.cumsum(1) - 1).clamp(min=0)
    cache, steps, start = hw.KVCache(), [], 0
    with torch.no_grad():
        for size in (4, 2, 3):
            stop = start + size
            steps.append(
                layer(
                    x[:, start:stop],
                    mask=hw.Padding(keep[:, :stop]),
                    positions=positions[:, start:stop],
                    cache=cache,
                )
            )
            start = stop
        found = torch.cat(steps, dim=1)
        whole = layer(x, mask=hw.Padding(keep), positions=positions)
        close(found[keep], whole[keep])
        if scheme == "function of slots":
            return
        for row, length in enumerate(lengths):
            close(found[row, keep[row]], layer(x[row : row + 1, keep[row]])[0, :length])


def test_flags_of_padding_are_remembered():
    """Later steps may leave the mask away: what was padding stays hidden, and new tokens count as real."""
    layer, x = make("rotary"), tokens(6)
    keep = torch.ones(2, 6, dtype=torch.bool)
    keep[1, :2] = False
    cache = hw.KVCache()
    with torch.no_grad():
        layer(x[:, :3], mask=hw.Padding(keep[:, :3]), cache=cache)
        found = layer(x[:, 3:], cache=cache)
        close(found, layer(x, mask=hw.Padding(keep))[:, 3:])
    assert torch.equal(cache.keep, keep)


def test_flags_are_a_copy():
    layer, x, keep = make("plain"), tokens(3), torch.ones(2, 3, dtype=torch.bool)
    cache = hw.KVCache()
    layer(x, mask=hw.Padding(keep), cache=cache)
    keep[:] = False
    assert cache.keep.all()


def test_padding_that_covers_the_new_tokens_only_is_refused_with_the_rule():
    layer, cache = make("plain"), hw.KVCache()
    layer(tokens(3), cache=cache)
    with pytest.raises(hw.ShapeError, match=r"Padding\(keep\) must be \[B J\] with B=2, J=5.*cached ones included"):
        layer(tokens(2), mask=hw.Padding(torch.ones(2, 2, dtype=torch.bool)), cache=cache)


@pytest.mark.parametrize("scaling", [DynamicNTK(2.0, 4), Yarn(2.0, 4)], ids=lambda scaling: type(scaling).__name__)
def test_recipes_that_depend_on_the_length_equal_recomputing_at_the_length_of_the_step(scaling):
    layer = hw.MultiHeadAttention(16, 2, mask=hw.Causal(), position=hw.Rotary(8, scaling=scaling)).double()
    x, cache = tokens(9, width=16), hw.KVCache()
    with torch.no_grad():
        for stop in range(1, 10):
            close(layer(x[:, stop - 1 : stop], cache=cache)[:, 0], layer(x[:, :stop])[:, -1])


def test_tokens_follow_given_positions():
    layer, x = make("rotary"), tokens(6)
    cache = hw.KVCache()
    with torch.no_grad():
        first = layer(x[:, :2], positions=10, cache=cache)
        rest = layer(x[:, 2:], cache=cache)
        close(torch.cat([first, rest], 1), layer(x, positions=10))
        assert cache.following(3) == 16
        # A jump: the tokens of the third step stand far behind.
        jump = layer(x, positions=torch.tensor([50, 51, 52, 60, 61, 62]), cache=cache)
        places = torch.tensor([*range(10, 16), 50, 51, 52, 60, 61, 62])
        close(jump, layer(torch.cat([x, x], 1), positions=places)[:, 6:])


def test_length_is_a_whole_number_that_does_not_change_after_it_was_read():
    """K04: no alias of a counter."""
    layer, cache = make("rotary"), hw.KVCache()
    assert cache.length == 0
    layer(tokens(3), cache=cache)
    before, following = cache.length, cache.following(1)
    layer(tokens(2), cache=cache)
    assert (before, following, cache.length) == (3, 3, 5)
    assert type(before) is int


def test_memory_of_cross_attention_is_projected_once():
    """K06: three steps over a memory of five keep five keys, and the projections run in the first step only."""
    layer, memory, x, calls = make("no mask"), tokens(5), tokens(3), []
    for name in ("key", "value"):
        getattr(layer, name).register_forward_hook(lambda *_, name=name: calls.append(name))
    cache = hw.KVCache()
    steps = [layer(x[:, step : step + 1], memory, cache=cache) for step in range(3)]
    assert calls == ["key", "value"]
    assert cache.length == 5
    close(torch.cat(steps, dim=1), layer(x, memory))


def test_another_memory_needs_another_cache():
    layer, cache = make("no mask"), hw.KVCache()
    layer(tokens(1), tokens(5), cache=cache)
    with pytest.raises(hw.CacheError, match="keeps the keys of its first call, 2 sequences of 5"):
        layer(tokens(1), tokens(6), cache=cache)


FAILURES = {
    "a mask of wrong size": lambda layer, cache: layer(tokens(2), mask=torch.ones(2, 2, dtype=torch.bool), cache=cache),
    "another batch": lambda layer, cache: layer(tokens(2, batch=3), cache=cache),
    "another type": lambda layer, cache: layer.float()(tokens(2).float(), cache=cache),
    "wrong positions": lambda layer, cache: layer(tokens(2), positions=torch.arange(3), cache=cache),
    "another width": lambda layer, cache: layer(tokens(2, width=5), cache=cache),
}


@pytest.mark.parametrize("failure", FAILURES)
@pytest.mark.parametrize("gradients", [True, False])
def test_a_step_that_fails_leaves_the_cache_as_it_was(failure, gradients):
    layer, x = make("rotary"), tokens(7)
    cache = hw.KVCache()
    with torch.set_grad_enabled(gradients):
        layer(x[:, :4], cache=cache)
        row = cache.row(layer)
        before = (row.length, row.positions, row.key.clone(), row.value.clone(), row.keep)
        with pytest.raises(hw.HeadwiseError):
            FAILURES[failure](layer, cache)
        layer.double()
        assert (row.length, row.positions, row.keep) == (before[0], before[1], before[4])
        assert torch.equal(row.key, before[2])
        assert torch.equal(row.value, before[3])
        close(layer(x[:, 4:], cache=cache), layer(x)[:, 4:], 1e-6)


def test_a_step_interrupted_inside_attention_leaves_the_cache_as_it_was():
    layer, x, cache = make("rotary"), tokens(5), hw.KVCache()
    layer(x[:, :3], cache=cache)
    hook = layer.attend.register_forward_pre_hook(lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        layer(x[:, 3:], cache=cache)
    hook.remove()
    assert cache.length == 3
    close(layer(x[:, 3:], cache=cache), layer(x)[:, 3:])


def test_a_failing_first_step_leaves_an_empty_cache():
    layer, cache = make("rotary"), hw.KVCache()
    with pytest.raises(hw.ShapeError):
        layer(tokens(2), mask=torch.ones(3, 3, dtype=torch.bool), cache=cache)
    assert cache.length == 0
    x = tokens(2)
    close(layer(x, cache=cache), layer(x))


def test_a_copy_of_a_cache_goes_its_own_way():
    """Two continuations of one prompt: the copy serves the same layers, and neither writes into the other."""
    layer, x = make("rotary"), tokens(6)
    with torch.no_grad():
        cache = hw.KVCache()
        layer(x[:, :3], cache=cache)
        layer(x[:, 3:4], cache=cache)
        fork = copy.deepcopy(cache)
        other = tokens(2)
        close(layer(other, cache=fork), layer(torch.cat([x[:, :4], other], 1))[:, 4:])
        close(layer(x[:, 4:], cache=cache), layer(x)[:, 4:])
        assert (fork.length, cache.length) == (6, 6)


def test_a_prompt_read_in_inference_mode_may_go_on_outside():
    layer, x, cache = make("rotary"), tokens(6), hw.KVCache()
    with torch.inference_mode():
        layer(x[:, :3], cache=cache)
        layer(x[:, 3:4], cache=cache)
    with torch.no_grad():
        found = layer(x[:, 4:], cache=cache)
    close(found, layer(x)[:, 4:].detach())


def test_storage_is_copied_a_bounded_number_of_times():
    """It doubles when full: eighty steps need no more than eight storages."""
    layer, x, cache, storages = make("plain"), tokens(80), hw.KVCache(), set()
    with torch.no_grad():
        for step in range(80):
            layer(x[:, step : step + 1], cache=cache)
            storages.add(cache.row(layer).key.untyped_storage().data_ptr())
    assert len(storages) <= 8
    assert cache.length == 80


def test_one_layer_at_two_depths_has_a_row_for_each():
    layer, x, cache = make("rotary"), tokens(5), hw.KVCache()

    def model(y):
        return layer(layer(y, cache=cache.row("first")), cache=cache.row("second"))

    with torch.no_grad():
        found = torch.cat([model(chunk) for chunk in x.split(2, dim=1)], dim=1)
        close(found, layer(layer(x)))
