"""Weights that are almost 0 are 0: no denormal number comes out, and the setting of the process stays as the user has it."""

import pytest
import torch

import headwise as hw
from headwise.engines.exponential import exp_in_place
from headwise.score.base import AdditiveScore
from unit.engines.compare import assert_defined, operands
from unit.engines.test_strategies import run_by


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_results_are_normal_numbers_or_zero(dtype: torch.dtype) -> None:
    numbers = torch.linspace(-800, 2, 9001, dtype=dtype)
    found = exp_in_place(numbers.clone())
    assert not ((found != 0) & (found < torch.finfo(dtype).tiny)).any()
    torch.testing.assert_close(found, numbers.exp(), rtol=1e-6, atol=2 * torch.finfo(dtype).tiny)


def test_hidden_is_exactly_zero_and_nan_stays() -> None:
    found = exp_in_place(torch.tensor([-torch.inf, torch.nan, 0.0] * 11))
    assert (found[::3] == 0).all() and found[1::3].isnan().all() and (found[2::3] == 1).all()


class Slope(AdditiveScore):
    """A bias by distance that learns how steep it is."""

    def __init__(self, slopes: torch.Tensor) -> None:
        self.slopes = slopes

    def by_distance(self, distance: torch.Tensor) -> torch.Tensor:
        return -self.slopes[:, None] * distance.abs()

    def bias(self, grid):  # type: ignore[no-untyped-def]
        return -self.slopes[None, :, None, None] * grid.distance.abs()


def test_a_steep_bias_that_learns_has_its_gradients() -> None:
    slopes = torch.tensor([3.0, 0.1, 20.0, 1.0]).requires_grad_()
    assert_defined(run_by("rectangles"), operands(), (slopes,), mask=hw.Causal(), score=Slope(slopes))


def test_a_soft_cap_that_is_reached_has_its_gradients() -> None:
    query, key, value = operands()
    wide = tuple(tensor.detach().mul(30).requires_grad_() for tensor in (query, key))
    assert_defined(run_by("softcap"), (*wide, value), mask=hw.Causal(), score=hw.Softcap(60.0))
