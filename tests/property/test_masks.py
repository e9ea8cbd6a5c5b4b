"""Laws of masks: an algebra of sets, whatever the parts; engines agree on all of them."""

import torch
from hypothesis import given
from hypothesis import strategies as st

import headwise as hw
from support.compare import able, close
from support.engines import ENGINES
from support.probe import bits, probe, seen


def simple(queries, keys):
    """Masks without operators, for these sizes."""
    pattern = torch.arange(queries * keys).view(queries, keys) * 5 % 7 < 4
    flags = torch.arange(keys)[None] * 3 % 4 < 3
    return st.one_of(
        st.just(hw.Full()),
        st.just(hw.Causal()),
        st.builds(hw.Window, st.integers(1, 6), st.integers(0, 3)),
        st.builds(hw.Dilated, st.integers(1, 4), st.integers(1, 3)),
        st.builds(hw.Prefix, st.integers(0, 6)),
        st.just(hw.Dense(pattern)),
        st.just(hw.Padding(flags)),
        st.integers(1, 3).map(lambda step: hw.Full() & (lambda b, h, i, j: (i + j) % step == 0)),
    )


def masks(queries, keys):
    return st.recursive(
        simple(queries, keys),
        lambda inner: st.one_of(
            st.tuples(inner, inner).map(lambda pair: pair[0] & pair[1]),
            st.tuples(inner, inner).map(lambda pair: pair[0] | pair[1]),
            inner.map(lambda mask: ~mask),
        ),
        max_leaves=4,
    )


SIZES = st.tuples(st.integers(1, 7), st.integers(1, 9))


@given(data=st.data(), sizes=SIZES)
def test_operators_are_those_of_sets(data, sizes):
    one, two = data.draw(masks(*sizes)), data.draw(masks(*sizes))
    a, b = one.table(*sizes).visible, two.table(*sizes).visible
    assert torch.equal((one & two).table(*sizes).visible, a & b)
    assert torch.equal((one | two).table(*sizes).visible, a | b)
    assert torch.equal((~one).table(*sizes).visible, ~a)
    assert torch.equal((~(one & two)).table(*sizes).visible, (~one | ~two).table(*sizes).visible)


@given(data=st.data(), sizes=SIZES)
def test_the_probe_reads_the_table_back_on_every_engine(data, sizes):
    """One number a query proves a mask: the bit set of the keys that it sees."""
    mask = data.draw(masks(*sizes))
    visible = mask.table(*sizes).visible[0, 0]
    operands = probe(*sizes)
    for engine in able(*operands, mask=mask):
        output = hw.attention(*operands, mask=mask, engine=engine)
        assert torch.equal(seen(output, visible.sum(-1))[0, 0], bits(visible)), engine


@given(data=st.data(), sizes=SIZES)
def test_facts_equal_the_definition(data, sizes):
    """Of any combination, whatever part of it the facts restate."""
    from headwise.call import Call

    call = Call.of(*probe(*sizes), mask=data.draw(masks(*sizes)))
    assert torch.equal(
        call.mask.facts().sees(call.grid).expand(1, 1, *sizes), call.mask.sees(call.grid).expand(1, 1, *sizes)
    )


@given(data=st.data(), sizes=SIZES, offset=st.integers(-5, 5))
def test_masks_of_positions_do_not_notice_a_common_shift(data, sizes, offset):
    mask = data.draw(
        st.one_of(
            st.just(hw.Causal()),
            st.builds(hw.Window, st.integers(1, 6), st.integers(0, 3)),
            st.builds(hw.Dilated, st.integers(1, 4), st.integers(1, 3)),
        )
    )
    operands = probe(*sizes)
    queries, keys = sizes
    moved = {"query_positions": keys - queries + offset, "key_positions": offset}
    for engine in ENGINES:
        close(
            hw.attention(*operands, mask=mask, engine=engine, **moved),
            hw.attention(*operands, mask=mask, engine=engine),
            1e-12,
        )
