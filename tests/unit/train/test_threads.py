"""The number of threads: asked for, from the environment, or measured."""

import pytest
import torch

from headwise.train import threads
from headwise.train.config import ConfigError


@pytest.fixture
def same_number_afterwards():
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def test_the_flag_comes_before_the_environment(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    assert threads.asked_for(2) == threads.ThreadChoice(2, "as asked for")
    assert threads.asked_for(None) == threads.ThreadChoice(3, "from OMP_NUM_THREADS")


def test_without_both_nothing_is_asked_for(monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    assert threads.asked_for(None) is None


@pytest.mark.parametrize("value", ["99999", "0", "", "two", "-1"])
def test_a_variable_that_is_no_number_is_refused(monkeypatch, value):
    monkeypatch.setenv("OMP_NUM_THREADS", value)
    with pytest.raises(ConfigError, match="OMP_NUM_THREADS must be a whole number"):
        threads.asked_for(None)


@pytest.mark.parametrize(
    ("seconds", "cores", "chosen"),
    [
        ({1: 1.0, 2: 10.0}, 2, 1),
        ({1: 1.0, 2: 0.95}, 2, 1),
        ({1: 1.0, 2: 0.6}, 2, 2),
        ({1: 1.0, 2: 0.6, 4: 0.4}, 4, 4),
        ({1: 1.0, 2: 0.6, 4: 0.59}, 8, 2),
        ({1: 1.0}, 1, 1),
    ],
)
def test_more_threads_are_taken_where_they_are_clearly_faster(monkeypatch, seconds, cores, chosen):
    monkeypatch.setattr(threads.os, "sched_getaffinity", lambda process: set(range(cores)), raising=False)
    monkeypatch.setattr(threads, "_seconds", lambda work, number, repeats, too_slow: seconds[number])
    assert threads.measured(lambda: None).threads == chosen


def test_a_hopeless_number_of_threads_gets_one_pass(monkeypatch, same_number_afterwards):
    clock = iter([0.1, 0.1, 0.1, 0.1, 9.0])
    monkeypatch.setattr(threads.os, "sched_getaffinity", lambda process: {0, 1}, raising=False)
    monkeypatch.setattr(threads, "_timed", lambda work: next(clock))
    assert threads.measured(lambda: None) == threads.ThreadChoice(1, "a pass takes 100 ms with 1, 9000 ms with 2")


def test_the_measurement_runs_the_work(same_number_afterwards):
    calls = []
    choice = threads.measured(lambda: calls.append(torch.get_num_threads()), repeats=2)
    assert calls[:3] == [1, 1, 1]
    assert choice.threads in calls
