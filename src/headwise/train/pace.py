"""
---
title: The pace of a training
summary: Tokens a second, and which share of what the machine can multiply that is.
---

# The pace of a training

Almost all arithmetic of a training is in products of matrices. How fast the machine multiplies two large ones is measured at the
beginning, and the pace is told as a share of it: a training at 60 % has little left to gain, one at 10 % waits for something else.
"""

import statistics
import time
from collections import deque
from collections.abc import Callable

import torch

RECENT = 20


class Pace:
    """The pace of the last updates; `tick` is called after each of them."""

    def __init__(
        self,
        *,
        tokens_per_update: int,
        flops_per_token: float,
        peak: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.tokens_per_update, self.flops_per_token, self.peak = tokens_per_update, flops_per_token, peak
        self._clock = clock
        self._last: float | None = None
        self._recent: deque[float] = deque(maxlen=RECENT)

    def tick(self) -> None:
        """Notes that an update has ended."""
        now = self._clock()
        if self._last is not None:
            self._recent.append(now - self._last)
        self._last = now

    @property
    def tokens_per_second(self) -> float | None:
        """The median of the last updates, which neither a measurement of the loss nor a sample between them changes."""
        if not self._recent or statistics.median(self._recent) <= 0:
            return None
        return self.tokens_per_update / statistics.median(self._recent)

    @property
    def share(self) -> float | None:
        """The part of the machine's peak that the training reaches."""
        rate = self.tokens_per_second
        return None if rate is None or self.peak <= 0 else rate * self.flops_per_token / self.peak

    def words(self) -> str:
        """The pace for the screen."""
        rate, share = self.tokens_per_second, self.share
        if rate is None or share is None:
            return ""
        # More than all: other programs were busy while the products were timed, and a share of that says nothing.
        return f"{rate:,.0f} tokens/s" + (f", {100 * share:.0f} % of peak" if share <= 1 else "")


def peak_of_products(*, size: int = 768, repeats: int = 3) -> float:
    """Operations a second in the product of two large matrices, with the threads of now: the best of a few."""
    left, right = torch.randn(size, size), torch.randn(size, size)
    times = []
    # The first product fills the caches.
    for _ in range(repeats + 1):
        start = time.perf_counter()
        left @ right
        times.append(time.perf_counter() - start)
    return 2 * size**3 / min(times[1:])
