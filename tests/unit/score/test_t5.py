"""T5's buckets are those of the published code, with and without a cache."""

import copy

import pytest
import torch
from torch import arange, tensor

import headwise as hw
from headwise.call import Call


def test_small_distances_have_a_bucket_each():
    """P14: query 4 of 5, causal."""
    part = hw.T5Bias(1)
    assert part.bucket(4 - arange(5)).tolist() == [4, 3, 2, 1, 0]


def test_buckets_grow_with_the_logarithm():
    # Bucket 16 + n begins where 16 * 8 ** (n / 16) is passed.
    part, distances = hw.T5Bias(1), arange(1000)
    first = {bucket: (part.bucket(distances) == bucket).nonzero()[0].item() for bucket in range(16, 32)}
    bounds = [16 * 8 ** (n / 16) for n in range(16)]
    assert [first[16 + n] for n in range(16)] == [
        int(bound) if bound == int(bound) else int(bound) + 1 for bound in bounds
    ]
    assert part.bucket(tensor([128, 10**6])).tolist() == [31, 31]


def test_keys_ahead_share_bucket_0_in_a_decoder():
    assert hw.T5Bias(1).bucket(tensor([-1, -50])).tolist() == [0, 0]


def test_keys_ahead_have_half_of_the_buckets_in_an_encoder():
    part = hw.T5Bias(1, bidirectional=True)
    assert part.bucket(tensor([0, 1, 7, 8, 16, 32, 64, 127, 500])).tolist() == [0, 1, 7, 8, 10, 12, 14, 15, 15]
    assert part.bucket(-tensor([1, 7, 8, 16, 32, 64, 127, 500])).tolist() == [17, 23, 24, 26, 28, 30, 31, 31]


@pytest.mark.parametrize("bidirectional", [False, True])
def test_bias_is_the_number_of_the_bucket_and_its_gradient_counts_the_pairs(bidirectional):
    part = hw.T5Bias(2, buckets=8, max_distance=20, bidirectional=bidirectional)
    query, key = torch.randn(1, 2, 5, 4), torch.randn(1, 2, 5, 4)
    distance = arange(5)[:, None] - arange(5)
    table = part.table.detach().clone().requires_grad_()
    bias = table[part.bucket(distance)].permute(2, 0, 1)
    expected = torch.softmax(query @ key.mT / 2 + bias, -1) @ key
    for engine in ("reference", "blockwise", "sdpa"):
        part.zero_grad()
        found = hw.attention(query, key, key, score=part, engine=engine)
        torch.testing.assert_close(found, expected)
        found.square().sum().backward()
        (wanted,) = torch.autograd.grad(expected.square().sum(), table, retain_graph=True)
        torch.testing.assert_close(part.table.grad, wanted)


def test_a_cache_changes_nothing():
    """P14."""
    layer = hw.MultiHeadAttention(16, 2, mask=hw.Causal(), score=hw.T5Bias(2, buckets=8, max_distance=20)).eval()
    torch.nn.init.normal_(layer.score.get_submodule("0").table)
    x = torch.randn(2, 9, 16)
    cache = hw.KVCache()
    chunks = [layer(part, cache=cache) for part in x.split([4, 1, 3, 1], dim=1)]
    torch.testing.assert_close(torch.cat(chunks, dim=1), layer(x))


def test_copies_and_half_precision_keep_the_table():
    part = hw.T5Bias(2)
    assert torch.equal(copy.deepcopy(part).table, part.table)
    assert part.bfloat16().table.dtype == torch.bfloat16
    query = torch.randn(1, 2, 5, 4, dtype=torch.bfloat16)
    assert hw.attention(query, query, query, score=part).dtype == torch.bfloat16


def test_results_do_not_depend_on_earlier_lengths():
    """P12."""
    part, query = hw.T5Bias(2), torch.randn(1, 2, 13, 4)
    first = hw.attention(query[:, :, :11], query[:, :, :11], query[:, :, :11], score=part)
    hw.attention(query, query, query, score=part)
    assert torch.equal(hw.attention(query[:, :, :11], query[:, :, :11], query[:, :, :11], score=part), first)


@pytest.mark.parametrize("bidirectional", [False, True])
def test_diagonals_of_every_block_equal_a_look_up_of_each_pair(bidirectional):
    part = hw.T5Bias(3, buckets=8, max_distance=20, bidirectional=bidirectional)
    query, key = torch.zeros(1, 3, 30, 2), torch.zeros(1, 3, 41, 2)
    for offset in (0, 5, 100):
        grid = Call.of(query, key, key, query_positions=offset).grid
        for rows, columns in (((0, 30), (0, 41)), ((7, 8), (3, 40)), ((11, 30), (20, 21)), ((3, 3), (0, 41))):
            block = grid.block(rows, columns)
            wanted = part.table[part.bucket(block.distance[:, 0])].permute(0, 3, 1, 2)
            assert torch.equal(part.bias(block), wanted)
