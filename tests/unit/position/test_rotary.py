"""Rotary positions: the numbers of the published formula, and what must not change them."""

import copy
import pickle

import pytest
import torch

from headwise.errors import HeadwiseError, PositionError, ShapeError
from headwise.position import DynamicNTK, Rotary

BOTH = pytest.mark.parametrize("interleaved", [False, True])


def turn_by_hand(x, positions, base=10000.0, interleaved=False):
    """Turn each pair by its angle, one number after the other, in float64."""
    out = x.double().clone()
    dim = x.shape[-1]
    for row, position in enumerate(positions):
        for pair in range(dim // 2):
            one, two = (2 * pair, 2 * pair + 1) if interleaved else (pair, pair + dim // 2)
            angle = torch.tensor(float(position) * base ** (-2 * pair / dim), dtype=torch.float64)
            a, b = x[..., row, one].double(), x[..., row, two].double()
            out[..., row, one] = a * angle.cos() - b * angle.sin()
            out[..., row, two] = b * angle.cos() + a * angle.sin()
    return out


def test_published_numbers_of_both_conventions():
    """P01."""
    x = torch.tensor([[1.0, 2.0, 3.0, 4.0]])
    half = torch.tensor([[-1.9841, 1.9599, 2.4624, 4.0198]])
    neighbours = torch.tensor([[-1.1426, 1.9221, 2.9599, 4.0298]])
    torch.testing.assert_close(Rotary(4)(x, 1), half, atol=5e-5, rtol=0)
    torch.testing.assert_close(Rotary(4, interleaved=True)(x, 1), neighbours, atol=5e-5, rtol=0)


def test_one_convention_becomes_the_other_by_permuting_features():
    """P01: evens first, then odds; permuting the rows of the two projections makes the scores equal."""
    x = torch.randn(2, 5, 8, dtype=torch.float64)
    perm = torch.cat([torch.arange(0, 8, 2), torch.arange(1, 8, 2)])
    torch.testing.assert_close(
        Rotary(8)(x[..., perm], 3), Rotary(8, interleaved=True)(x, 3)[..., perm], atol=1e-12, rtol=0
    )

    q, k = torch.randn(2, 5, 8, dtype=torch.float64)
    plain, other = Rotary(8), Rotary(8, interleaved=True)
    wanted = other(q, 0) @ other(k, 0).T
    permuted = plain(q[:, perm], 0) @ plain(k[:, perm], 0).T
    torch.testing.assert_close(permuted, wanted, atol=4e-15, rtol=1e-14)
    assert (plain(q, 0) @ plain(k, 0).T - wanted).abs().max() > 0.1


@BOTH
def test_values_equal_a_hand_computation(interleaved):
    x = torch.randn(2, 3, 5, 8, dtype=torch.float64)
    positions = torch.tensor([0, 3, 1, 100, 7])
    out = Rotary(8, 500.0, interleaved=interleaved)(x, positions)
    torch.testing.assert_close(out, turn_by_hand(x, positions, 500.0, interleaved), atol=1e-12, rtol=0)


@BOTH
def test_turning_keeps_lengths(interleaved):
    """P02."""
    x = torch.randn(1, 8, dtype=torch.float64)
    turned = Rotary(8, interleaved=interleaved)(x, 3)
    torch.testing.assert_close(turned.norm(), x.norm(), atol=1e-14, rtol=0)
    assert (turned - x).abs().max() > 0.01


@BOTH
def test_scores_depend_on_the_distance_only(interleaved):
    """P02, P04: a shift of both positions changes nothing, up to 100000 tokens away."""
    rotary = Rotary(16, interleaved=interleaved)
    q, k = torch.randn(2, 1, 16, dtype=torch.float64)
    scores = [(rotary(q, i) * rotary(k, j)).sum().item() for i, j in [(3, 1), (103, 101), (100003, 100001)]]
    assert scores == pytest.approx([scores[0]] * 3, abs=1e-9)
    assert abs((rotary(q, 4) * rotary(k, 1)).sum().item() - scores[0]) > 1e-3


def test_a_later_call_of_the_same_length_has_its_own_offset():
    """P04."""
    rotary, x = Rotary(8), torch.randn(1, 3, 8, dtype=torch.float64)
    first, later, again = rotary(x, 0), rotary(x, 5), rotary(x, 0)
    torch.testing.assert_close(later, turn_by_hand(x, [5, 6, 7]), atol=1e-12, rtol=0)
    assert torch.equal(first, again)


def test_a_chunk_with_its_positions_equals_the_whole():
    """P04: token 5 of 6 alone."""
    rotary, x = Rotary(8), torch.randn(2, 3, 6, 8)
    whole = rotary(x, 0)
    assert torch.equal(rotary(x[:, :, 5:], 5), whole[:, :, 5:])
    assert torch.equal(rotary(x[:, :, 2:5], torch.arange(2, 5)), whole[:, :, 2:5])


def test_rotation_runs_along_the_sequence_and_is_equal_across_heads():
    """P05: `[B, H, L, D]`, rows are the axis before the last."""
    out = Rotary(4)(torch.ones(1, 2, 5, 4), 0)
    assert torch.equal(out[:, 0], out[:, 1])
    assert torch.equal(out[0, :, 0], torch.ones(2, 4))
    for row in range(1, 5):
        assert not torch.equal(out[0, 0, row], out[0, 0, row - 1])


def test_each_sequence_of_a_batch_has_its_positions():
    rotary, x = Rotary(4), torch.randn(2, 3, 2, 4)
    out = rotary(x, torch.tensor([[0, 1], [7, 9]]))
    assert torch.equal(out[0], rotary(x[0], 0))
    assert torch.equal(out[1], rotary(x[1], torch.tensor([7, 9])))


@BOTH
def test_only_the_first_features_turn(interleaved):
    rotary, x = Rotary(4, interleaved=interleaved), torch.randn(2, 3, 5, 10)
    out = rotary(x, 2)
    assert torch.equal(out[..., :4], rotary(x[..., :4], 2))
    assert torch.equal(out[..., 4:], x[..., 4:])


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32])
@pytest.mark.parametrize("position", [257, 4095, 15962])
def test_tables_are_exact_in_every_type(dtype, position):
    """D01: angles in float64; only the finished sine and cosine are rounded, once."""
    # A row of ones in the first half and zeros in the second reads the cosines and sines off the result.
    x = torch.cat([torch.ones(1, 32), torch.zeros(1, 32)], dim=-1)
    exact = turn_by_hand(x, [position])
    assert torch.equal(Rotary(64)(x.to(dtype), position), exact.to(dtype))
    assert (Rotary(64)(x, position) - exact).abs().max() <= 2e-4


def test_neighbours_beyond_256_differ_in_bfloat16():
    """D01: 256 and 257 are the same number in bfloat16."""
    x = torch.ones(1, 8, dtype=torch.bfloat16)
    assert not torch.equal(Rotary(8)(x, 256), Rotary(8)(x, 257))


def test_results_do_not_depend_on_earlier_calls():
    """P12: other lengths, types and head counts before and after change nothing."""
    rotary = Rotary(8)
    inputs = [torch.randn(1, heads, length, 8) for heads, length in [(2, 12), (4, 13), (2, 11)]]
    before = [rotary(x, 0) for x in inputs]
    rotary(torch.randn(1, 2, 40, 8).bfloat16(), 0)
    rotary(torch.randn(1, 2, 12, 8), 30)
    for x, out in zip(inputs, before, strict=True):
        assert torch.equal(rotary(x, 0), out)
        assert torch.equal(Rotary(8)(x, 0), out)


def test_rotary_runs_on_the_meta_device():
    out = Rotary(8)(torch.empty(2, 3, 5, 8, device="meta", dtype=torch.float16), torch.arange(5))
    assert out.shape == (2, 3, 5, 8)
    assert out.device.type == "meta"
    assert out.dtype == torch.float16


def test_autocast_leaves_the_type_of_the_input():
    """D01: under autocast the queries of a layer arrive in bfloat16, and the tables stay exact."""
    x = torch.randn(2, 3, 5, 8)
    wanted = Rotary(8)(x.bfloat16(), 4000)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert torch.equal(Rotary(8)(x, 4000), Rotary(8)(x.clone(), 4000))
        assert Rotary(8)(x, 4000).dtype == torch.float32
        assert torch.equal(Rotary(8)(x.bfloat16(), 4000), wanted)


@BOTH
def test_gradients_are_exact(interleaved):
    x = torch.randn(2, 3, 6, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda t: Rotary(4, interleaved=interleaved)(t, 3), x)


def test_a_rotary_is_a_value():
    assert Rotary(8) == Rotary(8) != Rotary(8, interleaved=True)
    rotary = Rotary(8, scaling=DynamicNTK(2.0, 16))
    assert copy.deepcopy(rotary) == rotary == pickle.loads(pickle.dumps(rotary))


def test_rotary_refuses_odd_and_wide_sizes():
    with pytest.raises(HeadwiseError, match=r"Rotary\(dim\) must be an even number.*got 5"):
        Rotary(5)
    with pytest.raises(HeadwiseError, match=r"Rotary\(base\) must be a number above 1; got -1"):
        Rotary(4, -1)
    with pytest.raises(ShapeError, match=r"real numbers \(torch.int64\)"):
        Rotary(4)(torch.ones(3, 4).long(), 0)
    with pytest.raises(ShapeError, match=r"at least dim=8 features.*\[2, 4\]"):
        Rotary(8)(torch.zeros(2, 4), 0)


def test_positions_must_fit_the_rows():
    x = torch.zeros(2, 3, 5, 4)
    with pytest.raises(ShapeError, match=r"positions must be \[L\] or \[B, L\] with B=2, L=5"):
        Rotary(4)(x, torch.arange(4))
    with pytest.raises(ShapeError, match=r"positions must hold whole numbers"):
        Rotary(4)(x, torch.linspace(0, 1, 5))


def test_a_recipe_that_needs_the_length_says_so():
    rotary = Rotary(8, scaling=DynamicNTK(2.0, 16))
    assert rotary.depends_on_length and not Rotary(8).depends_on_length
    with pytest.raises(PositionError, match="DynamicNTK needs the number of tokens"):
        rotary(torch.zeros(1, 8), 0)
