"""A call and its coordinates: positions and slots, blocks, what follows from what is not given."""

import math

import pytest
import torch

import headwise as hw
from headwise.call import Call


def operands(queries=3, keys=5, batch=2):
    shapes = ((batch, 4, queries, 8), (batch, 2, keys, 8), (batch, 2, keys, 6))
    return [torch.randn(shape) for shape in shapes]


def test_what_is_not_given_follows_from_the_operands():
    call = Call.of(*operands())
    assert call.scale == 1 / math.sqrt(8)
    assert call.group_size == 2
    assert call.dropout == 0.0
    assert call.score == ()
    assert call.scores is None
    assert not call.return_lse
    assert not call.whole_matrix
    grid = call.grid
    assert (grid.batch, grid.heads, grid.queries, grid.keys) == (2, 4, 3, 5)


def test_key_slots_count_from_0_and_the_last_query_stands_at_the_last_key():
    grid = Call.of(*operands(3, 5)).grid
    assert grid.key_slot.flatten().tolist() == [0, 1, 2, 3, 4]
    assert grid.query_slot.flatten().tolist() == [2, 3, 4]
    assert grid.row.flatten().tolist() == [0, 1, 2]


def test_with_more_queries_than_keys_the_first_slots_are_negative():
    assert Call.of(*operands(5, 3)).grid.query_slot.flatten().tolist() == [-2, -1, 0, 1, 2]


def test_positions_are_slots_unless_given():
    grid = Call.of(*operands(3, 5)).grid
    assert torch.equal(grid.query_position, grid.query_slot)
    assert torch.equal(grid.key_position, grid.key_slot)
    assert grid.shift == 2
    assert grid.distance[0, 0].tolist() == [[2, 1, 0, -1, -2], [3, 2, 1, 0, -1], [4, 3, 2, 1, 0]]


@pytest.mark.parametrize(
    "given",
    [7, torch.tensor([7, 8, 9]), torch.tensor([[7, 8, 9]]), torch.tensor([[7, 8, 9], [7, 8, 9]])],
    ids=["int", "I", "1 I", "B I"],
)
def test_positions_may_be_given_in_four_ways(given):
    """An int says where the first one stands; all ways mean the same."""
    query, key, value = operands(3, 5)
    arguments = {"mask": hw.Window(3), "score": hw.Alibi(4), "key_positions": 5}
    wanted = hw.attention(query, key, value, query_positions=7, engine="reference", **arguments)
    for engine in ("auto", "reference", "sdpa", "blockwise"):
        found = hw.attention(query, key, value, query_positions=given, engine=engine, **arguments)
        torch.testing.assert_close(found, wanted)


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int16, torch.int32, torch.int64], ids=str)
def test_positions_of_any_whole_type_may_be_subtracted(dtype):
    """Unsigned numbers have no negative distances; the library's own are signed."""
    query, key, value = operands(5, 5)
    places = torch.arange(5, dtype=dtype)
    arguments = {"mask": hw.Window(2, ahead=1), "score": hw.Alibi(4)}
    for engine in ("reference", "sdpa", "blockwise"):
        found = hw.attention(
            query, key, value, query_positions=places, key_positions=places, engine=engine, **arguments
        )
        torch.testing.assert_close(found, hw.attention(query, key, value, engine="reference", **arguments))


def test_positions_and_slots_are_two_coordinates():
    """Padding speaks of slots and Causal of positions: in a batch padded on the left both are right at once."""
    keep = torch.tensor([[False, False, True, True, True], [True] * 5])
    positions = (keep.cumsum(1) - 1).clamp(min=0)
    query, key, value = operands(5, 5)
    found = hw.attention(
        query,
        key,
        value,
        mask=hw.Causal() & hw.Padding(keep),
        score=hw.Alibi(4),
        query_positions=positions,
        key_positions=positions,
    )
    alone = hw.attention(query[:1, :, 2:], key[:1, :, 2:], value[:1, :, 2:], mask=hw.Causal(), score=hw.Alibi(4))
    torch.testing.assert_close(found[:1, :, 2:], alone)


def test_a_block_of_the_grid_keeps_its_coordinates():
    positions = torch.tensor([[3, 1, 4], [1, 5, 9]])
    grid = Call.of(*operands(3, 5), query_positions=positions).grid
    block = grid.block((1, 3), (2, 5))
    assert torch.equal(block.distance, grid.distance[:, :, 1:3, 2:5])
    assert block.query_slot.flatten().tolist() == [3, 4]
    assert block.key_slot.flatten().tolist() == [2, 3, 4]
    assert (block.queries, block.keys) == (3, 5)
    assert grid.shift is None


def test_far_positions_lose_no_digit():
    """Whole numbers stay whole: position 2**40 minus position 2**40 is 0."""
    query, key, value = operands(5, 5)
    far = {"query_positions": 2**40, "key_positions": 2**40}
    for engine in ("reference", "sdpa", "blockwise"):
        found = hw.attention(query, key, value, mask=hw.Causal(), score=hw.Alibi(4), engine=engine, **far)
        wanted = hw.attention(query, key, value, mask=hw.Causal(), score=hw.Alibi(4), engine="reference")
        torch.testing.assert_close(found, wanted)


def test_a_call_is_a_value_that_can_be_made_again_with_other_operands():
    call = Call.of(*operands(), mask=hw.Causal(), dropout=0.25, return_lse=True)
    other = call.with_operands(*operands())
    assert (other.mask, other.dropout, other.grid, other.return_lse) == (call.mask, 0.25, call.grid, True)
    assert other.query is not call.query
