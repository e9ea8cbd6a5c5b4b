"""BlockMask objects: they keep their own indices and sizes."""

import pytest
import torch
from torch.nn.attention.flex_attention import BlockMask, create_block_mask

import headwise as hw
from headwise.mask.coerce import as_mask


def causal(b, h, i, j):
    return i >= j


def make(function, queries, keys, batch=None, heads=None, size=4):
    return create_block_mask(function, batch, heads, queries, keys, device="cpu", BLOCK_SIZE=size)


def test_full_and_partial_blocks_together_are_the_function():
    visible = as_mask(make(causal, 10, 13)).table(10, 13).visible[0, 0]
    assert torch.equal(visible, torch.ones(10, 13).tril().bool())


def test_rows_are_counted_from_0_where_queries_are_fewer_than_keys():
    assert as_mask(make(causal, 2, 5)).table(2, 5).visible[0, 0].sum(-1).tolist() == [1, 2]
    assert hw.Causal().table(2, 5).visible[0, 0].sum(-1).tolist() == [4, 5]


def test_batch_and_heads_get_blocks_of_their_own():
    def rule(b, h, i, j):
        return (i >= j + b) & (j % 2 == h)

    visible = as_mask(make(rule, 9, 9, 2, 2)).table(9, 9, batch=2, heads=2).visible
    b, h, i, j = (torch.arange(n).view([-1 if a == k else 1 for k in range(4)]) for a, n in enumerate((2, 2, 9, 9)))
    assert torch.equal(visible, rule(b, h, i, j))


def test_blocks_hide_what_they_do_not_list_without_any_function():
    # Two rows of blocks: the first sees block 0, the second blocks 0 and 1.
    lists = BlockMask.from_kv_blocks(
        torch.tensor([[[1, 2]]], dtype=torch.int32), torch.tensor([[[[0, 1], [0, 1]]]], dtype=torch.int32), BLOCK_SIZE=2
    )
    assert as_mask(lists).table(4, 4).visible[0, 0].sum(-1).tolist() == [2, 2, 4, 4]


def test_block_mask_of_another_length_is_an_error():
    """A09."""
    query = torch.randn(1, 2, 8, 4)
    with pytest.raises(hw.ShapeError, match=r"it is for 16 queries and 16 keys, the call has I=8 and J=8"):
        hw.attention(query, query, query, mask=make(causal, 16, 16))


def test_block_mask_of_another_batch_is_an_error():
    query = torch.randn(3, 2, 8, 4)
    with pytest.raises(hw.ShapeError, match="axis B of BlockMask must be 3 or 1, it is 2"):
        hw.attention(query, query, query, mask=make(causal, 8, 8, batch=2))


def test_a_cut_block_mask_is_an_error():
    query = torch.randn(1, 2, 8, 4)
    with pytest.raises(hw.ShapeError, match="must list all 2 rows of blocks of its queries, this one lists 1"):
        hw.attention(query, query, query, mask=make(causal, 8, 8)[:, :, :1])
    with pytest.raises(hw.MaskError, match="function"):
        hw.attention(query, query, query, mask=make(causal, 8, 8)[:, :, :])


def test_block_mask_joins_other_masks():
    visible = (as_mask(make(causal, 4, 4)) & hw.Window(2)).table(4, 4).visible[0, 0]
    assert visible.sum(-1).tolist() == [1, 2, 2, 2]
    assert (hw.Window(2) & make(causal, 4, 4)).table(4, 4).visible[0, 0].sum(-1).tolist() == [1, 2, 2, 2]
