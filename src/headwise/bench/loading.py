"""
---
title: The share of loading
summary: The time that a batch takes to be cut out of a token file, as a share of the optimisation step that it feeds.
---

# The share of loading

A step cannot begin before its batch is there. Rows are cut out of a file that is mapped into memory, as a training does it: plain, and
with documents kept apart, which adds their mask and takes out the targets across their ends.
"""

import statistics
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from headwise.bench.language_models import Sizes
from headwise.bench.measure import CLOCKS
from headwise.train.data import TextData


@dataclass(frozen=True)
class Loading:
    """The median milliseconds of a batch, and their share of a step."""

    kind: str
    milliseconds: float
    share: float

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


def measure_loading(
    sizes: Sizes, step_ms: float, *, clock: str, tokens: int = 1_000_000, draws: int = 50
) -> list[Loading]:
    """The time of a batch, plain and with documents apart, beside a step that takes `step_ms`."""
    rows = np.random.default_rng(0).integers(0, sizes.vocab, size=tokens).astype(np.uint16)
    # Documents of about two rows, so that many rows hold an end and need a mask.
    starts = np.arange(0, tokens, 2 * sizes.tokens)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tokens.npy"
        np.save(path, rows)
        mapped = np.load(path, mmap_mode="r")
        kinds = {"plain": None, "documents apart": starts}
        times = {
            kind: batch_ms(TextData(mapped, mapped, sizes.tokens, each, each), sizes, clock, draws)
            for kind, each in kinds.items()
        }
        # Some systems cannot remove a file that is still mapped.
        del mapped
    return [Loading(kind, spent, spent / step_ms) for kind, spent in times.items()]


def batch_ms(data: TextData, sizes: Sizes, clock: str, draws: int) -> float:
    """The median milliseconds of `TextData.batch` over as many steps as `draws`."""
    now = CLOCKS[clock]
    data.batch(seed=0, step=0, rows=sizes.batch)
    times = []
    for step in range(1, draws + 1):
        start = now()
        data.batch(seed=0, step=step, rows=sizes.batch)
        times.append(now() - start)
    return 1e3 * statistics.median(times)
