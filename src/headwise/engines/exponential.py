"""
---
title: The exponential without denormals
summary: Weights below the smallest normal number are 0; working them out would take thirty times as long.
---

# Numbers that are almost 0

Below $1.2 \\cdot 10^{-38}$ float32 has **denormal** numbers, with fewer digits, and an exponential that ends there takes about thirty
times as long as any other (one that ends at 0 takes ten times as long). A weight of that size changes nothing: it stands beside weights
that add up to 1. PyTorch can switch denormal numbers off, but for the whole process, which belongs to the user; so they are kept out here.
"""

import math

import torch
from torch import Tensor


def least_exponent(dtype: torch.dtype) -> float:
    """The lowest $x$ whose $e^x$ is a normal number, and a little more."""
    return math.log(torch.finfo(dtype).tiny) + 0.1


def exp_in_place(numbers: Tensor) -> Tensor:
    """$e^x$ in place, with 0 for results that are no normal numbers; a NaN stays."""
    least = least_exponent(numbers.dtype)
    numbers.clamp_(min=least).exp_()
    return torch.threshold_(numbers, math.exp(least + 0.1), 0.0)
