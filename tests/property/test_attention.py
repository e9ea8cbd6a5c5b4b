"""Laws of attention that hold for any numbers and sizes, on every engine."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import headwise as hw
from support.engines import ENGINES

SIZES = st.tuples(
    st.integers(1, 3), st.sampled_from([(1, 1), (4, 4), (4, 2), (6, 1)]), st.integers(1, 9), st.integers(1, 9)
)
engines = pytest.mark.parametrize("engine", ENGINES)


def operands(sizes, features=4):
    batch, (heads, groups), queries, keys = sizes
    shapes = ((batch, heads, queries, features), (batch, groups, keys, features), (batch, groups, keys, features))
    return tuple(torch.randn(shape, dtype=torch.float64) for shape in shapes)


def close(found, wanted, atol=1e-11):
    torch.testing.assert_close(found, wanted, atol=atol, rtol=0)


@engines
@given(sizes=SIZES)
def test_output_lies_among_the_values(engine, sizes):
    """A mixture: no output is larger than the largest value, none smaller than the smallest."""
    query, key, value = operands(sizes)
    output = hw.attention(query, key, value, engine=engine)
    assert output.max() <= value.max() + 1e-12
    assert output.min() >= value.min() - 1e-12


@engines
@given(sizes=SIZES, data=st.data())
def test_the_order_of_the_keys_does_not_matter(engine, sizes, data):
    query, key, value = operands(sizes)
    order = torch.tensor(data.draw(st.permutations(range(sizes[3]))))
    close(
        hw.attention(query, key[:, :, order], value[:, :, order], engine=engine),
        hw.attention(query, key, value, engine=engine),
    )


@engines
@given(sizes=SIZES, data=st.data())
def test_sequences_of_a_batch_do_not_meet(engine, sizes, data):
    """Permuting the batch permutes the output, and a sequence alone has the same numbers."""
    query, key, value = operands(sizes)
    order = torch.tensor(data.draw(st.permutations(range(sizes[0]))))
    whole = hw.attention(query, key, value, mask=hw.Causal(), engine=engine)
    close(hw.attention(query[order], key[order], value[order], mask=hw.Causal(), engine=engine), whole[order])
    close(hw.attention(query[:1], key[:1], value[:1], mask=hw.Causal(), engine=engine), whole[:1])


@engines
@given(sizes=SIZES)
def test_a_constant_added_to_all_scores_of_a_row_changes_only_the_lse(engine, sizes):
    query, key, value = operands(sizes)
    _, (heads, _), queries, _ = sizes
    shift = torch.randn(1, heads, queries, 1, dtype=torch.float64)
    output, lse = hw.attention(query, key, value, engine=engine, return_lse=True)
    moved, moved_lse = hw.attention(query, key, value, score=hw.Bias(shift), engine=engine, return_lse=True)
    close(moved, output)
    close(moved_lse, lse + shift[..., 0])


@engines
@given(sizes=SIZES)
def test_attention_is_linear_in_the_values(engine, sizes):
    query, key, value = operands(sizes)
    other = torch.randn_like(value)
    close(
        hw.attention(query, key, 2 * value - other, mask=hw.Causal(), engine=engine),
        2 * hw.attention(query, key, value, mask=hw.Causal(), engine=engine)
        - hw.attention(query, key, other, mask=hw.Causal(), engine=engine),
    )


@engines
@given(sizes=SIZES, cut=st.integers(0, 9))
def test_parts_of_the_keys_are_joined_by_their_lse(engine, sizes, cut):
    """Two halves of the keys, each with its lse, give the whole: what a split over devices rests on."""
    query, key, value = operands(sizes)
    cut = min(cut, sizes[3])
    if cut in (0, sizes[3]):
        return
    halves = [
        hw.attention(query, key[:, :, part], value[:, :, part], engine=engine, return_lse=True)
        for part in (slice(0, cut), slice(cut, None))
    ]
    output, lse = hw.attention(query, key, value, engine=engine, return_lse=True)
    close(torch.logaddexp(halves[0][1], halves[1][1]), lse)
    close(sum(half * (part - lse).exp()[..., None] for half, part in halves), output)


@engines
@given(sizes=SIZES)
def test_the_future_does_not_change_the_past(engine, sizes):
    """Under a causal mask, a change of the last key reaches the last query only."""
    query, key, value = operands(sizes)
    whole = hw.attention(query, key, value, mask=hw.Causal(), engine=engine)
    key[:, :, -1] += 1
    value[:, :, -1] -= 1
    changed = hw.attention(query, key, value, mask=hw.Causal(), engine=engine)
    close(changed[:, :, :-1], whole[:, :, :-1])
