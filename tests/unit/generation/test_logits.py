"""From logits to a token, with the numbers of the cases."""

import pytest
import torch

from headwise.generation.logits import SamplingError, draw, keep_top_k, keep_top_p, temper

FOUR = torch.tensor([0.5, 0.3, 0.15, 0.05]).log()


def kept(logits):
    return int((logits > -torch.inf).sum())


@pytest.mark.parametrize(("p", "count"), [(0.6, 2), (0.85, 3), (0.4, 1), (0.0, 1), (1.0, 4)])
def test_top_p_keeps_the_smallest_set_that_reaches_p(p, count):
    """Case S01: [.5, .3, .15, .05] keeps 2, 3, 1, 1 and all."""
    assert kept(keep_top_p(FOUR, p)) == count


def test_top_p_is_the_mass_that_is_kept():
    """Case S07: 0.9 keeps three of [.5, .3, .15, .05], and top_k counts."""
    assert kept(keep_top_p(FOUR, 0.9)) == 3
    assert kept(keep_top_k(FOUR, 2)) == 2


def test_top_p_finds_the_likely_tokens_in_any_order():
    logits = torch.tensor([[0.05, 0.5, 0.15, 0.3], [0.3, 0.05, 0.5, 0.15]]).log()
    assert (keep_top_p(logits, 0.6) > -torch.inf).tolist() == [[False, True, False, True], [True, False, True, False]]


@pytest.mark.parametrize("p", [-0.1, 1.1, float("nan")])
def test_top_p_out_of_range_is_refused(p):
    with pytest.raises(SamplingError, match="between 0 and 1"):
        keep_top_p(FOUR, p)


def test_k_beyond_the_vocabulary_keeps_all():
    """Case S03: 5 logits, k 9."""
    logits = torch.randn(5)
    assert torch.equal(keep_top_k(logits, 9), logits)


@pytest.mark.parametrize("k", [0, -1])
def test_k_below_one_is_refused(k):
    """Case S03: k <= 0 raises."""
    with pytest.raises(SamplingError, match=f"`top_k` counts the tokens to keep and must be at least 1. Got {k}"):
        keep_top_k(FOUR, k)


def test_top_k_keeps_exactly_k_among_equals():
    assert kept(keep_top_k(torch.zeros(6), 4)) == 4


def test_temperature_zero_takes_the_most_likely():
    """Case S04: logits [1, 3, 2], T = 0."""
    logits = torch.tensor([[1.0, 3.0, 2.0]])
    assert temper(logits, 0).softmax(-1).tolist() == [[0.0, 1.0, 0.0]]
    assert draw(logits, temperature=0).tolist() == [1]


@pytest.mark.parametrize(
    ("temperature", "dtype"),
    [(1e-40, torch.float32), (5e-324, torch.float32), (1e-5, torch.float16), (1e-5, torch.bfloat16)],
)
def test_a_tiny_temperature_gives_probabilities(temperature, dtype):
    """Case S04: 1e-40 in single and 1e-5 in half precision."""
    logits = torch.tensor([[1.0, 3.0, 2.0]], dtype=dtype)
    assert temper(logits, temperature).softmax(-1).tolist() == [[0.0, 1.0, 0.0]]


@pytest.mark.parametrize("temperature", [-1.0, float("inf"), float("nan")])
def test_a_temperature_that_is_none_is_refused(temperature):
    """Case S04: negative T raises."""
    with pytest.raises(SamplingError, match="`temperature` must be a finite number"):
        temper(FOUR, temperature)


def test_temperature_one_changes_no_probability():
    logits = torch.randn(3, 7)
    torch.testing.assert_close(temper(logits, 1.0).softmax(-1), logits.softmax(-1))


def test_a_higher_temperature_makes_tokens_more_alike():
    assert temper(FOUR, 2.0).softmax(-1)[0] < 0.5 < temper(FOUR, 0.5).softmax(-1)[0]


def test_draws_follow_the_seed_and_the_limits():
    logits = FOUR.expand(200, 4)
    first = draw(logits, top_k=3, top_p=0.8, generator=torch.Generator().manual_seed(1))
    assert torch.equal(first, draw(logits, top_k=3, top_p=0.8, generator=torch.Generator().manual_seed(1)))
    assert set(first.tolist()) == {0, 1}


def test_draws_have_the_probabilities_of_the_logits():
    drawn = draw(FOUR.expand(20000, 4), generator=torch.Generator().manual_seed(0))
    shares = torch.bincount(drawn, minlength=4) / len(drawn)
    torch.testing.assert_close(shares, FOUR.exp(), atol=0.02, rtol=0)


def test_logits_with_nan_are_refused():
    with pytest.raises(SamplingError, match="Got NaN"):
        draw(torch.tensor([[0.0, float("nan")]]))
