"""
---
title: The seed of a step
summary: What is drawn inside the model follows from the seed of the training and the number of the step.
---
"""

import numpy as np
import torch


def seed_step(seed: int, step: int, rank: int = 0) -> None:
    """Seeds what is drawn inside the model, dropout above all, for one step.

    The state of a generator need not be saved: it is made anew for each step, from the seed and the step.
    """
    # The number 1 in the seed keeps these draws apart from those that choose the batch of the same step. The rank keeps the draws of
    # several processes apart, because each works on rows of its own.
    torch.manual_seed(int(np.random.default_rng((seed, step, 1, rank) if rank else (seed, step, 1)).integers(2**63)))
