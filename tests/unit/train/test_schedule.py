"""Learning rates: above zero at the first update, exact at the last."""

from functools import partial
from typing import get_args, get_type_hints

import pytest

from headwise.train.config import TrainConfig
from headwise.train.schedule import SCHEDULES, learning_rate, noam, warmup_cosine, warmup_linear, warmup_stable_decay


def test_warmup_cosine_has_the_published_numbers():
    """Case T05: warmup 4, total 10, maximum 1, minimum 0.1."""
    rates = [warmup_cosine(step, warmup=4, total=10, peak=1.0, final=0.1) for step in range(10)]
    assert rates == pytest.approx([0.25, 0.5, 0.75, 1.0, 0.93971, 0.775, 0.55, 0.325, 0.16029, 0.1], abs=1e-5)


@pytest.mark.parametrize("shape", [warmup_cosine, warmup_linear, partial(warmup_stable_decay, decay=3)])
@pytest.mark.parametrize(("warmup", "total"), [(0, 10), (10, 10), (1, 1), (0, 1), (3, 7)])
def test_no_update_has_the_rate_zero_and_the_last_one_is_exact(shape, warmup, total):
    """Case T05: warmup 0 and warmup == total work."""
    rates = [shape(step, warmup=warmup, total=total, peak=1.0, final=0.1) for step in range(total)]
    assert min(rates) > 0
    assert max(rates) <= 1.0
    assert rates[-1] == pytest.approx(1.0 if warmup == total else 0.1)


def test_linear_falls_in_equal_steps():
    rates = [warmup_linear(step, warmup=2, total=5, peak=1.0, final=0.1) for step in range(5)]
    assert rates == pytest.approx([0.5, 1.0, 0.7, 0.4, 0.1])


def test_a_stable_schedule_stays_at_the_peak_until_its_decay():
    rates = [warmup_stable_decay(step, warmup=2, decay=3, total=8, peak=1.0, final=0.1) for step in range(8)]
    assert rates == pytest.approx([0.5, 1.0, 1.0, 1.0, 1.0, 0.7, 0.4, 0.1])


@pytest.mark.parametrize("schedule", ["cosine", "linear", "wsd"])
def test_the_schedules_of_the_settings_end_at_the_final_fraction(schedule):
    config = TrainConfig(steps=30, learning_rate=2.0, final_fraction=0.25, schedule=schedule)
    assert learning_rate(29, config, d_model=8) == pytest.approx(0.5)
    assert max(learning_rate(step, config, d_model=8) for step in range(30)) == 2.0


def test_the_final_rate_stays_after_the_last_step():
    assert warmup_cosine(25, warmup=2, total=10, peak=1.0, final=0.1) == pytest.approx(0.1)


def test_noam_rises_until_the_warmup_and_falls_after_it():
    rates = [noam(step, warmup=4, d_model=16) for step in range(12)]
    assert rates[0] > 0
    assert rates.index(max(rates)) == 3
    assert rates[3] == pytest.approx(16**-0.5 * 4**-0.5)
    assert rates[8] == pytest.approx(16**-0.5 * 9**-0.5)


def test_noam_without_warmup_works():
    assert noam(0, warmup=0, d_model=4) == pytest.approx(0.5)


def test_each_schedule_of_the_settings_exists():
    assert set(get_args(get_type_hints(TrainConfig)["schedule"])) == set(SCHEDULES)


def test_the_settings_choose_the_schedule():
    cosine = TrainConfig(steps=10, warmup=4, learning_rate=1.0, final_fraction=0.1)
    assert learning_rate(9, cosine, d_model=16) == pytest.approx(0.1)
    classic = TrainConfig(steps=10, warmup=4, schedule="noam", noam_factor=2.0)
    assert learning_rate(3, classic, d_model=16) == pytest.approx(2 * 16**-0.5 * 4**-0.5)
