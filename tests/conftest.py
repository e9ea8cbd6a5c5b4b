"""What every test gets: a fixed seed, settings of hypothesis, and the fixture that poisons fresh memory."""

import os

import pytest
import torch
from hypothesis import HealthCheck, settings

# A slow machine is no fault, and the same examples in every run are what a reader of a failure wants.
settings.register_profile(
    "headwise", deadline=None, derandomize=True, max_examples=20, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("headwise")


@pytest.fixture(autouse=True)
def seeded():
    """The same numbers in every run, and none of PyTorch's global settings left changed."""
    torch.manual_seed(0)
    dtype = torch.get_default_dtype()
    yield
    torch.set_default_dtype(dtype)


@pytest.fixture(scope="session", autouse=True)
def cache_folder(tmp_path_factory):
    """Tests keep fetched texts and token files in a folder of their own, and not in that of the user."""
    before = os.environ.get("HEADWISE_CACHE")
    os.environ["HEADWISE_CACHE"] = str(tmp_path_factory.mktemp("cache"))
    yield
    if before is None:
        del os.environ["HEADWISE_CACHE"]
    else:
        os.environ["HEADWISE_CACHE"] = before


@pytest.fixture
def poisoned():
    """Fresh memory holds NaN instead of whatever was there, so that a number read before it was written shows."""
    torch.use_deterministic_algorithms(True)
    before = torch.utils.deterministic.fill_uninitialized_memory
    torch.utils.deterministic.fill_uninitialized_memory = True
    assert torch.empty(3).isnan().all()
    yield
    torch.utils.deterministic.fill_uninitialized_memory = before
    torch.use_deterministic_algorithms(False)
