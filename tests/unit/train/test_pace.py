"""The pace: median of the last updates, and its share of the machine's products."""

import pytest

from headwise.train.pace import Pace, peak_of_products


def test_the_pace_is_the_median_of_the_last_updates():
    times = iter([0.0, 1.0, 2.0, 12.0, 13.0])
    pace = Pace(tokens_per_update=100, flops_per_token=5.0, peak=1000.0, clock=lambda: next(times))
    assert pace.words() == "" and pace.share is None
    for _ in range(5):
        pace.tick()
    # The third update waited for a sample, and changes nothing.
    assert pace.tokens_per_second == 100
    assert pace.share == pytest.approx(0.5)
    assert pace.words() == "100 tokens/s, 50 % of peak"


def test_a_share_beyond_the_peak_is_not_told():
    times = iter([0.0, 1.0])
    pace = Pace(tokens_per_update=100, flops_per_token=5.0, peak=400.0, clock=lambda: next(times))
    pace.tick()
    pace.tick()
    assert pace.words() == "100 tokens/s"


def test_a_clock_that_stands_still_gives_no_pace():
    pace = Pace(tokens_per_update=100, flops_per_token=5.0, peak=1000.0, clock=lambda: 1.0)
    pace.tick()
    pace.tick()
    assert pace.tokens_per_second is None and pace.words() == ""


def test_the_peak_is_a_rate_of_operations():
    assert peak_of_products(size=64, repeats=1) > 0
