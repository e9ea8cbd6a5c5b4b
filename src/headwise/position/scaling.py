"""
---
title: Rotary positions for long texts
summary: Six published recipes that slow down the turns, so that positions beyond those of the training look familiar.
---

# Rotary positions for long texts

A model that was trained on $T$ tokens has never seen the angle of token $T + 1$. Each recipe changes the frequencies
$\\theta_m$, so that a text `factor` times longer stays among known angles. They differ in which pairs pay for it: the
fast pairs tell neighbours apart and should stay; the slow pairs, which have not finished one turn in $T$ tokens, can
be slowed down.

A pair makes $T\\,\\theta_m / 2\\pi$ turns in the training length $T$.

```python
>>> from headwise.position import Rotary, Yarn
>>> Rotary(8, scaling=Yarn(factor=4.0, trained_length=2048)).frequencies()
tensor([1.0000e+00, 1.0000e-01, 6.2500e-03, 2.5000e-04], dtype=torch.float64)

```
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from headwise.errors import ArgumentError, PositionError

Length = int | Tensor | None


@dataclass(frozen=True)
class Scaling:
    """
    The base of the recipes; by itself it changes nothing: $\\theta_m = \\text{base}^{-2m/\\text{dim}}$.

    `length` is the number of tokens of the sequence so far, an int or `[B]`. Recipes that use it say so with
    `depends_on_length`. A text that grows then changes the angles of all its tokens, so keys are cached unturned.
    What a deeper layer stored still rests on the angles of the time when it was stored.
    """

    @property
    def depends_on_length(self) -> bool:
        """Whether `length` changes the frequencies."""
        return False

    def frequencies(self, dim: int, base: float, length: Length = None, device: torch.device | None = None) -> Tensor:
        """The angle of each pair for one step, float64: `[dim / 2]`, or `[B, dim / 2]` for lengths `[B]`."""
        return powers(dim, base, device)

    def magnitude(self, length: Length = None) -> float:
        """A number that sine and cosine are multiplied with; it sharpens the softmax over many keys."""
        return 1.0


@dataclass(frozen=True)
class Linear(Scaling):
    """
    Position interpolation: all pairs turn `factor` times more slowly, $\\theta_m / \\text{factor}$.

    *Source*: Chen et al., 2023, https://arxiv.org/abs/2306.15595
    """

    factor: float

    def __post_init__(self) -> None:
        _check("Linear", self.factor)

    def frequencies(self, dim: int, base: float, length: Length = None, device: torch.device | None = None) -> Tensor:
        return powers(dim, base, device) / self.factor


@dataclass(frozen=True)
class DynamicNTK(Scaling):
    """
    The base grows with the text: up to `trained_length` nothing changes, beyond it the slowest pair is slowed most.

    $$\\text{base}' = \\text{base} \\cdot g^{\\text{dim}/(\\text{dim}-2)}, \\qquad
    g = 1 + \\text{factor} \\cdot (\\text{length} / T - 1)$$

    *Source*: described in Peng et al., 2023, section 3.3, https://arxiv.org/abs/2309.00071
    """

    factor: float
    trained_length: int

    def __post_init__(self) -> None:
        _check("DynamicNTK", self.factor, self.trained_length)

    @property
    def depends_on_length(self) -> bool:
        return True

    def frequencies(self, dim: int, base: float, length: Length = None, device: torch.device | None = None) -> Tensor:
        growth = 1.0 + self.factor * (_known("DynamicNTK", length, device) / self.trained_length - 1.0)
        growth = growth.clamp(min=1.0)
        # With one pair there is no slowest pair to stretch towards: its exponent is 0 with any base.
        power = dim / (dim - 2) if dim > 2 else 1.0
        return powers(dim, base * growth**power, device)


@dataclass(frozen=True)
class Yarn(Scaling):
    """
    Pairs that make more than `fast` turns in the training length stay, those with fewer than `slow` turns are slowed
    by `factor`, with a ramp between the two over the index of the pair.

    Sine and cosine grow by $0.1 \\ln(\\text{factor}) + 1$, unless `attention` says otherwise.

    *Source*: Peng et al., 2023, sections 3.2 and 3.4, https://arxiv.org/abs/2309.00071
    """

    factor: float
    trained_length: int
    fast: float = 32.0
    slow: float = 1.0
    attention: float | None = None
    whole_pairs: bool = True

    def __post_init__(self) -> None:
        _check("Yarn", self.factor, self.trained_length)

    def frequencies(self, dim: int, base: float, length: Length = None, device: torch.device | None = None) -> Tensor:
        plain = powers(dim, base, device)
        first, last = self.pair_with(self.fast, dim, base), self.pair_with(self.slow, dim, base)
        if self.whole_pairs:
            # The published code rounds the ends of the ramp outwards, to whole pairs.
            first, last = math.floor(first), math.ceil(last)
        first, last = max(first, 0.0), min(last, dim - 1.0)
        pairs = torch.arange(dim // 2, dtype=torch.float64, device=device)
        # The tiny number keeps a ramp without width, a step, from dividing by 0.
        ramp = ((pairs - first) / max(last - first, 0.001)).clamp(0.0, 1.0)
        return plain * (1.0 - ramp) + plain / self.factor * ramp

    def pair_with(self, turns: float, dim: int, base: float) -> float:
        """The index, not rounded, of the pair that makes so many turns in the training length."""
        return dim * math.log(self.trained_length / (turns * 2.0 * math.pi)) / (2.0 * math.log(base))

    def magnitude(self, length: Length = None) -> float:
        return 0.1 * math.log(self.factor) + 1.0 if self.attention is None else self.attention


@dataclass(frozen=True)
class Llama3(Scaling):
    """
    As YaRN, but the ramp runs over the number of turns: fewer than `low` turns are slowed by `factor`, more than
    `high` stay, and between them the share that stays is $(\\text{turns} - \\text{low}) / (\\text{high} - \\text{low})$.

    *Source*: Meta, 2024, the code of Llama 3.1, https://github.com/meta-llama/llama-models
    """

    factor: float = 8.0
    trained_length: int = 8192
    low: float = 1.0
    high: float = 4.0

    def __post_init__(self) -> None:
        _check("Llama3", self.factor, self.trained_length)
        if not 0 < self.low < self.high:
            raise ArgumentError(
                f"Llama3(low, high) must hold 0 < low < high; got low={self.low}, high={self.high}. Usual fix: low=1.0, high=4.0."
            )

    def frequencies(self, dim: int, base: float, length: Length = None, device: torch.device | None = None) -> Tensor:
        plain = powers(dim, base, device)
        turns = self.trained_length * plain / (2.0 * math.pi)
        stays = ((turns - self.low) / (self.high - self.low)).clamp(0.0, 1.0)
        return plain * stays + plain / self.factor * (1.0 - stays)


@dataclass(frozen=True)
class LongRope(Scaling):
    """
    A factor of its own for each pair, found by search: one list for texts up to `trained_length`, one for longer ones.

    Sine and cosine grow by $\\sqrt{1 + \\ln(\\text{factor}) / \\ln(T)}$, unless `attention` says otherwise; `factor` is
    the greatest length divided by the trained one.

    *Source*: Ding et al., 2024, https://arxiv.org/abs/2402.13753
    """

    short: tuple[float, ...]
    long: tuple[float, ...]
    trained_length: int
    factor: float = 1.0
    attention: float | None = None

    def __post_init__(self) -> None:
        _check("LongRope", self.factor, self.trained_length)

    @property
    def depends_on_length(self) -> bool:
        return True

    def frequencies(self, dim: int, base: float, length: Length = None, device: torch.device | None = None) -> Tensor:
        if {len(self.short), len(self.long)} != {dim // 2}:
            raise ArgumentError(
                f"LongRope(short, long) must have one factor for each of the {dim // 2} pairs of Rotary({dim}); "
                f"got {len(self.short)} and {len(self.long)}. Usual fix: Rotary(dim) with twice as many features as factors."
            )
        short, long = (torch.tensor(factors, dtype=torch.float64, device=device) for factors in (self.short, self.long))
        longer = _known("LongRope", length, device) > self.trained_length
        factors = torch.where(longer.unsqueeze(-1), long, short)
        return powers(dim, base, device) / factors

    def magnitude(self, length: Length = None) -> float:
        if self.attention is not None:
            return self.attention
        return math.sqrt(1.0 + math.log(self.factor) / math.log(self.trained_length))


@dataclass(frozen=True)
class Proportional(Scaling):
    """
    The fastest `share` of the pairs turn, with the frequencies of the whole head; the others stand still.

    It differs from a smaller `dim`, which spreads all frequencies from the fastest to the slowest over fewer pairs.

    *Source*: Barbero et al., 2024, https://arxiv.org/abs/2410.06205
    """

    share: float
    factor: float = 1.0

    def __post_init__(self) -> None:
        _check("Proportional", self.factor)
        if not 0.0 <= self.share <= 1.0:
            raise ArgumentError(
                f"Proportional(share) must lie in 0..1; got {self.share}. Usual fix: 0.25 for one pair in four."
            )

    def frequencies(self, dim: int, base: float, length: Length = None, device: torch.device | None = None) -> Tensor:
        plain = powers(dim, base, device) / self.factor
        turning = int(self.share * dim / 2)
        return plain * (torch.arange(dim // 2, device=device) < turning)


def powers(dim: int, base: float | Tensor, device: torch.device | None = None) -> Tensor:
    """
    The frequencies of the original scheme, $\\text{base}^{-2m/\\text{dim}}$, float64.

    *Shapes*: `[dim / 2]`, or `[B, dim / 2]` for bases `[B]`
    """
    exponents = torch.arange(0, dim, 2, dtype=torch.float64, device=device) / dim
    return (base.double().unsqueeze(-1) if isinstance(base, Tensor) else base) ** -exponents


def _check(recipe: str, factor: float, trained_length: int = 2) -> None:
    if factor < 1.0:
        raise ArgumentError(
            f"{recipe}(factor) must be at least 1, the growth of the text; got {factor}. Usual fix: new length / trained length."
        )
    if trained_length < 2:
        raise ArgumentError(
            f"{recipe}(trained_length) must be at least 2, the tokens of a text in training; got {trained_length}. "
            "Usual fix: the context that the model was trained with."
        )


def _known(recipe: str, length: Length, device: torch.device | None) -> Tensor:
    if length is None:
        raise PositionError(
            f"{recipe} needs the number of tokens so far, because its angles depend on it; got length=None. "
            "Usual fix: rotary(x, positions, length=int), as MultiHeadAttention does."
        )
    # A tensor in each case: a branch on the number would make an exported model hold for one side of it only.
    return length.double() if isinstance(length, Tensor) else torch.full((), length, dtype=torch.float64, device=device)
