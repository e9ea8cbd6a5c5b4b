"""Chunk invariance for any split, any scheme and any padding."""

import torch
from hypothesis import given
from hypothesis import strategies as st

import headwise as hw
from support.cache import SCHEMES, chunked, make, tokens


@st.composite
def splits(draw, length):
    """The sizes of the chunks of a sequence."""
    cuts = sorted(draw(st.sets(st.integers(1, length - 1)))) if length > 1 else []
    return [stop - start for start, stop in zip([0, *cuts], [*cuts, length], strict=True)]


@given(data=st.data(), scheme=st.sampled_from(sorted(SCHEMES)), length=st.integers(1, 11), batch=st.integers(1, 3))
def test_any_split_equals_one_pass(data, scheme, length, batch):
    layer, x = make(scheme), tokens(length, batch)
    chunks = data.draw(splits(length))
    with torch.no_grad():
        torch.testing.assert_close(chunked(layer, x, chunks), layer(x), atol=1e-12, rtol=0)


@given(data=st.data(), scheme=st.sampled_from(sorted(SCHEMES)), length=st.integers(2, 9))
def test_any_split_of_a_padded_batch_equals_one_pass(data, scheme, length):
    """Any slots may be padding, not only those of an end."""
    layer, x = make(scheme), tokens(length, batch=2)
    flags = data.draw(st.lists(st.booleans(), min_size=2 * length, max_size=2 * length))
    keep = torch.tensor(flags).view(2, length)
    positions = (keep.cumsum(1) - 1).clamp(min=0)
    cache, start, steps = hw.KVCache(), 0, []
    with torch.no_grad():
        for size in data.draw(splits(length)):
            stop = start + size
            options = {"mask": hw.Padding(keep[:, :stop]), "positions": positions[:, start:stop], "cache": cache}
            steps.append(layer(x[:, start:stop], **options))
            start = stop
        whole = layer(x, mask=hw.Padding(keep), positions=positions)
    torch.testing.assert_close(torch.cat(steps, 1)[keep], whole[keep], atol=1e-12, rtol=0)
