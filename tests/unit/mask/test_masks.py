"""What each mask sees, drawn by hand or by a loop over pairs of Python numbers."""

import pytest
import torch
from torch import tensor

import headwise as hw


def seen(mask, queries, keys, **sizes):
    """For each query the keys that it sees, with batch and head 0."""
    return [row.nonzero().flatten().tolist() for row in mask.table(queries, keys, **sizes).visible[0, 0]]


def probe(mask, queries, keys, engine="reference"):
    """The visibility probe: the output times the number of visible keys is the bit set of the keys."""
    query, key = torch.zeros(1, 1, queries, 4), torch.zeros(1, 1, keys, 4)
    value = (2.0 ** torch.arange(keys)).view(1, 1, keys, 1)
    return hw.attention(query, key, value, mask=mask, engine=engine)[0, 0, :, 0].tolist()


def test_causal_stands_at_the_lower_right():
    """M03, M04."""
    assert seen(hw.Causal(), 1, 3) == [[0, 1, 2]]
    assert seen(hw.Causal(), 3, 2) == [[], [0], [0, 1]]
    assert probe(hw.Causal(), 3, 2) == [0.0, 1.0, 1.5]


def test_full_sees_everything():
    """M18: nothing is causal unless asked for."""
    assert seen(hw.Full(), 2, 3) == [[0, 1, 2], [0, 1, 2]]
    assert probe(None, 2, 3) == pytest.approx([7 / 3, 7 / 3])


@pytest.mark.parametrize(("size", "output"), [(1, 128.0), (2, 96.0), (4, 60.0)])
def test_window_counts_the_own_key(size, output):
    """M19."""
    assert len(seen(hw.Window(size), 8, 8)[7]) == size
    assert probe(hw.Window(size), 8, 8)[7] == output


def test_window_looks_ahead_only_if_told():
    assert seen(hw.Window(2, ahead=1), 4, 4) == [[0, 1], [0, 1, 2], [1, 2, 3], [2, 3]]


@pytest.mark.parametrize(
    ("left", "right", "row"),
    [(2, 0, [1, 2, 3]), (1, 1, [2, 3, 4]), (-1, 0, [0, 1, 2, 3]), (0, -1, [3, 4, 5]), (-1, -1, [0, 1, 2, 3, 4, 5])],
)
def test_window_from_flash_counts_the_keys_beside_the_query(left, right, row):
    assert seen(hw.Window.from_flash(left, right), 6, 6)[3] == row


def test_window_from_flash_0_0_is_the_own_key_alone():
    assert hw.Window.from_flash(0, 0) == hw.Window(1)


def test_prefix_sees_the_first_positions():
    assert seen(hw.Prefix(2), 2, 5) == [[0, 1], [0, 1]]
    assert seen(hw.Prefix(0), 2, 3) == [[], []]
    assert seen(hw.Prefix(9), 1, 3) == [[0, 1, 2]]


def test_prefix_has_a_length_for_each_sequence():
    visible = hw.Prefix(tensor([0, 2])).table(1, 3, batch=2).visible
    assert visible[:, 0, 0].tolist() == [[False, False, False], [True, True, False]]


def test_prefix_language_model_reads_the_prompt_both_ways():
    assert seen(hw.Causal() | hw.Prefix(2), 4, 4) == [[0, 1], [0, 1], [0, 1, 2], [0, 1, 2, 3]]


def test_prefix_is_about_positions_not_slots():
    # A cache whose first slots were evicted: the keys left stand at the positions 3 to 5.
    query, key = torch.zeros(1, 1, 1, 2), torch.zeros(1, 1, 3, 2)
    value = torch.tensor([1.0, 2.0, 4.0]).view(1, 1, 3, 1)
    output = hw.attention(query, key, value, mask=hw.Prefix(4), query_positions=6, key_positions=3)
    assert output.item() == 1.0


@pytest.mark.parametrize(("size", "step"), [(1, 1), (3, 1), (2, 3), (3, 2), (1, 4)])
def test_dilated_sees_every_step_th_key_itself_included(size, step):
    rows = seen(hw.Dilated(size, step), 9, 9)
    assert rows == [sorted(i - n * step for n in range(size) if i - n * step >= 0) for i in range(9)]


def test_dilated_without_gaps_is_a_window():
    assert seen(hw.Dilated(3, 1), 7, 7) == seen(hw.Window(3), 7, 7)


def test_documents_see_themselves():
    mask = hw.Documents(tensor([[0, 0, 0, 1, 1]]))
    assert seen(mask, 2, 5) == [[3, 4], [3, 4]]
    assert seen(mask & hw.Causal(), 5, 5) == [[0], [0, 1], [0, 1, 2], [3], [3, 4]]


@pytest.mark.parametrize("lengths", [[3, 0, 2], tensor([3, 0, 2]), [[3, 0, 2]], ((3, 0, 2),)])
def test_documents_from_lengths_stand_in_a_row(lengths):
    assert hw.Documents.from_lengths(lengths).ids.tolist() == [[0, 0, 0, 2, 2]]


def test_documents_from_lengths_of_a_batch_may_differ_in_number():
    assert hw.Documents.from_lengths([[3, 2], [1, 1, 3]]).ids.tolist() == [[0, 0, 0, 1, 1], [0, 1, 2, 2, 2]]


def test_documents_from_lengths_pair_queries_and_keys_by_number():
    mask = hw.Documents.from_lengths([2, 1], query_lengths=[1, 2])
    assert seen(mask, 3, 3) == [[0, 1], [2], [2]]


@pytest.mark.parametrize("engine", ["reference", "blockwise", "sdpa"])
def test_packed_documents_equal_a_loop_over_sequences(engine):
    """A14: seven tokens with offsets 0, 3, 7."""
    query, key, value = (torch.randn(1, 2, 7, 4) for _ in range(3))
    packed = hw.attention(query, key, value, mask=hw.Causal() & hw.Documents.from_lengths([3, 4]), engine=engine)
    apart = [
        hw.attention(*(x[:, :, rows] for x in (query, key, value)), mask=hw.Causal(), engine="reference")
        for rows in (slice(0, 3), slice(3, 7))
    ]
    torch.testing.assert_close(packed, torch.cat(apart, dim=2))


def test_padding_hides_slots_for_every_query():
    keep = tensor([[True, True, False], [False, False, False]])
    visible = hw.Padding(keep).table(2, 3, batch=2).visible
    assert torch.equal(visible, keep[:, None, None].expand(2, 1, 2, 3))


def test_tensors_are_read_by_their_number_of_axes():
    table = torch.rand(2, 3, 2, 4) > 0.5
    for part in (table[0, 0], table[:, 0], table, table[:, :, :1], table[..., :1], table[:1]):
        four = part if part.dim() == 4 else part[:, None] if part.dim() == 3 else part
        visible = hw.Dense(part).table(2, 4, batch=2, heads=3).visible
        assert torch.equal(visible, four.expand(2, 3, 2, 4))


def test_dense_from_mha_turns_the_polarity():
    """M09."""
    hidden = torch.triu(torch.ones(4, 4, dtype=torch.bool), 1)
    assert seen(hw.Dense.from_mha(hidden), 4, 4) == seen(hw.Causal(), 4, 4)


def test_masks_combine_as_statements():
    """M20: batch 0 keeps its causal order, whatever the precedence of Python's operators."""
    mask = hw.Causal() & (lambda b, h, i, j: b % 2 == 0)
    visible = mask.table(4, 4, batch=2).visible
    assert torch.equal(visible[0, 0], torch.ones(4, 4).tril().bool()) and not visible[1].any()
    assert seen(~hw.Causal(), 2, 2) == [[1], []]
    assert seen((lambda b, h, i, j: j == 0) | hw.Window(1), 3, 3) == [[0], [0, 1], [0, 2]]
    assert seen(torch.eye(2, dtype=torch.bool) | hw.Full(), 2, 2) == [[0, 1], [0, 1]]


def test_causal_and_a_wrong_tensor_is_their_and():
    """M06, M07."""
    hides_key_1 = torch.ones(4, 4, dtype=torch.bool)
    hides_key_1[:, 1] = False
    for engine in ("reference", "sdpa", "blockwise"):
        assert probe(hw.Causal() & hides_key_1, 4, 4, engine) == pytest.approx([1.0, 1.0, 2.5, 13 / 3])


def test_table_draws_slots():
    assert str(hw.Causal().table(2, 5)) == "  j  0 1 2 3 4\ni=3  ■ ■ ■ ■ ·\ni=4  ■ ■ ■ ■ ■"


def test_parts_are_values():
    assert hw.Window(3) == hw.Window(3) and hash(hw.Dilated(2, 3)) == hash(hw.Dilated(2, 3))
    with pytest.raises(AttributeError):
        hw.Window(3).size = 4
