"""The definition: four named steps, each as a hand-written einsum has it."""

import math

import pytest
import torch

import headwise as hw
from headwise.call import Call
from headwise.reference import attention_steps
from support.probe import probe


def operands(queries=4, keys=6, heads=2, groups=2, features=3):
    shapes = ((2, heads, queries, features), (2, groups, keys, features), (2, groups, keys, 5))
    return [torch.randn(shape, dtype=torch.float64) for shape in shapes]


def steps(*given, **arguments):
    return attention_steps(Call.of(*given, **arguments))


def close(found, wanted):
    torch.testing.assert_close(found, wanted, atol=1e-13, rtol=0)


def test_each_step_is_returned_and_equals_a_hand_written_one():
    query, key, value = operands()
    found = steps(query, key, value, mask=hw.Causal(), return_lse=True)
    scores = torch.einsum("bhid,bhjd->bhij", query, key) / math.sqrt(3)
    visible = torch.arange(6) <= torch.arange(2, 6)[:, None]
    exponentials = scores.exp() * visible
    close(found.scores, scores)
    assert torch.equal(found.visible, visible.expand_as(scores))
    close(found.weights, exponentials / exponentials.sum(-1, keepdim=True))
    close(found.lse, exponentials.sum(-1).log())
    close(found.output, torch.einsum("bhij,bhje->bhie", found.weights, value))


def test_attention_by_loops_over_single_numbers():
    """No einsum, no softmax: the sentence of the formula, pair by pair."""
    query, key, value = operands(2, 3)
    output = hw.attention(query, key, value, engine="reference")
    for b, h, i in [(0, 0, 0), (1, 1, 1), (0, 1, 0)]:
        likes = [math.exp(sum(query[b, h, i, d] * key[b, h, j, d] for d in range(3)) / math.sqrt(3)) for j in range(3)]
        for e in range(5):
            mixed = sum(like * value[b, h, j, e] for j, like in enumerate(likes)) / sum(likes)
            assert output[b, h, i, e].item() == pytest.approx(mixed.item(), abs=1e-13)


def test_the_order_of_things_is_scale_parts_mask():
    """D12: the scale first, then the parts in order, then the mask: a cap never lifts what is hidden."""
    query, key, value = operands()
    bias = torch.randn(4, 6, dtype=torch.float64)
    mask = torch.rand(4, 6) > 0.3
    found = steps(query, key, value, mask=mask, score=(hw.Bias(bias), hw.Softcap(0.5)), scale=0.3)
    scores = 0.5 * torch.tanh((0.3 * query @ key.transpose(2, 3) + bias) / 0.5)
    close(found.scores, scores)
    other = steps(query, key, value, mask=mask, score=(hw.Softcap(0.5), hw.Bias(bias)), scale=0.3)
    close(other.scores, 0.5 * torch.tanh(0.3 * query @ key.transpose(2, 3) / 0.5) + bias)
    assert not found.weights[~found.visible].any()


def test_a_cap_comes_before_the_mask():
    """D12: logits 4, 0 and a hidden one, cap 5."""
    query = torch.ones(1, 1, 1, 1, dtype=torch.float64)
    key = torch.tensor([4.0, 0.0, 9.0], dtype=torch.float64).view(1, 1, 3, 1)
    mask = torch.tensor([[True, True, False]])
    found = steps(query, key, key, mask=mask, score=hw.Softcap(5.0), scale=1.0)
    torch.testing.assert_close(found.weights.flatten().tolist(), [0.965115, 0.034885, 0.0], atol=1e-6, rtol=0)


def test_weights_of_a_query_sum_to_1_and_those_of_a_keyless_one_to_0():
    found = steps(*operands(6, 4), mask=hw.Causal())
    close(found.weights.sum(-1), (torch.arange(6) >= 2).double().expand(2, 2, -1))
    assert found.lse[..., :2].eq(-math.inf).all()
    assert found.output[..., :2, :].eq(0).all()


def test_causal_is_aligned_at_the_last_key():
    """M03 and M04: a step of one query sees all three keys; with more queries than keys the first see none."""
    for engine in ("reference", "sdpa", "blockwise"):
        one = hw.attention(*probe(1, 3), mask=hw.Causal(), engine=engine)
        assert one[0, 0, :, 0].tolist() == pytest.approx([7 / 3])
        more = hw.attention(*probe(3, 2), mask=hw.Causal(), engine=engine)
        assert more[0, 0, :, 0].tolist() == pytest.approx([0.0, 1.0, 1.5])


def test_attention_to_equal_scores_falls_with_the_distance_under_alibi():
    """P10: the sign of the published formula."""
    query, key, _ = probe(1, 5)
    weights = steps(query, key, key, score=hw.Alibi(1, slopes=(0.5,))).weights.flatten()
    assert (weights.diff() > 0).all()
    close(weights, torch.softmax(-0.5 * torch.arange(4.0, -1, -1, dtype=torch.float64), 0))


@pytest.mark.parametrize(
    ("heads", "slopes"),
    [
        (1, [2**-8]),
        (3, [2**-4, 2**-8, 2**-2]),
        (6, [0.25, 0.0625, 0.015625, 0.00390625, 0.5, 0.125]),
        (12, [*(2.0**-power for power in range(1, 9)), 0.70710678, 0.35355339, 0.17677670, 0.08838835]),
    ],
)
def test_slopes_of_alibi_are_the_published_ones(heads, slopes):
    """P08: for numbers of heads that are no power of two as well."""
    assert hw.Alibi(heads).slopes == pytest.approx(slopes, abs=1e-8)


@pytest.mark.parametrize(("size", "bits"), [(1, 128), (2, 192 / 2), (4, 240 / 4)])
def test_a_window_counts_the_own_position(size, bits):
    """M19: W keys, itself among them."""
    for engine in ("reference", "sdpa", "blockwise"):
        output = hw.attention(*probe(8, 8), mask=hw.Window(size), engine=engine)
        assert output[0, 0, 7, 0].item() == pytest.approx(bits)


def test_masks_bind_as_a_reader_expects():
    """M20: for batch 0 alone the mask is lower triangular, whatever binds stronger in Python."""
    mask = hw.Causal() & (lambda b, h, i, j: b % 2 == 0)
    table = mask.table(4, 4, batch=2).visible
    assert torch.equal(table[0, 0], torch.ones(4, 4, dtype=torch.bool).tril())
    assert not table[1].any()


def test_the_weight_of_a_padded_key_is_exactly_0():
    """M10."""
    keep = torch.tensor([[True, True, True, False]])
    assert steps(*[tensor[:1] for tensor in operands(4, 4)], mask=hw.Padding(keep)).weights[..., 3].eq(0).all()


def test_documents_equal_a_loop_over_the_sequences():
    """A14: seven tokens with the offsets 0, 3 and 7, on every engine, forward and backward."""
    query, key, value = (torch.randn(1, 2, 7, 4, dtype=torch.float64, requires_grad=True) for _ in range(3))
    ids = torch.tensor([[0, 0, 0, 1, 1, 1, 1]])
    parts = [slice(0, 3), slice(3, 7)]
    for mask, packed in ((None, hw.Documents(ids)), (hw.Causal(), hw.Causal() & hw.Documents(ids))):
        loop = torch.cat(
            [hw.attention(query[:, :, p], key[:, :, p], value[:, :, p], mask=mask, engine="reference") for p in parts],
            2,
        )
        wanted = torch.autograd.grad(loop.square().sum(), (query, key, value))
        for engine in ("reference", "sdpa", "blockwise"):
            found = hw.attention(query, key, value, mask=packed, engine=engine)
            close(found, loop)
            grads = torch.autograd.grad(found.square().sum(), (query, key, value))
            for one, right in zip(grads, wanted, strict=True):
                torch.testing.assert_close(one, right, atol=1e-12, rtol=0)
