"""
---
title: Sinks
summary: A learned place to which a query can give the weight that no key deserves.
---
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from headwise.checks import check_present
from headwise.errors import ScoreError, ShapeError
from headwise.grid import Grid
from headwise.score.base import SinkScore


class Sink(SinkScore, nn.Module):
    """
    One more logit in the denominator of each head's softmax, learned.

    $$w_{h,i,j} = \\frac{e^{s_{h,i,j}}}{e^{\\text{logit}_h} + \\sum_{j'} e^{s_{h,i,j'}}}$$

    The softmax shares out all of its weight, even where no key is worth any; models then learn to give it to a token that says
    nothing, often the first one. A sink takes it instead: the weights of a query sum to **less than 1**, and the output can become 0.

    `logit` `[heads]` starts at 0 and learns. It stands beside the scores as they are in the softmax: no scale and no other part changes it.
    The lse of a query includes it.

    *Edge*: a query that sees no key gets 0, and its lse is $-\\infty$, as without a sink.

    *Source*: Miller, 2023, "Attention Is Off By One"; Xiao et al., 2024, "Efficient Streaming Language Models with Attention Sinks",
    section 3.3, arXiv:2309.17453; learned for each head: OpenAI, 2025, "gpt-oss-120b & gpt-oss-20b Model Card", arXiv:2508.10925.

    ```python
    >>> Sink(heads=8).logit.shape
    torch.Size([8])
    ```
    """

    def __init__(self, heads: int) -> None:
        nn.Module.__init__(self)
        if not isinstance(heads, int) or isinstance(heads, bool) or heads < 1:
            raise ScoreError(
                f"Sink(heads) must be a whole number of at least 1; got heads={heads!r}. Usual fix: the number of query heads."
            )
        self.heads = heads
        self.logit = nn.Parameter(torch.empty(heads))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """A logit of 0: the sink counts as one more key whose score is 0."""
        nn.init.zeros_(self.logit)

    def sink(self, grid: Grid) -> Float[Tensor, " H"]:
        return self.logit.to(grid.device)

    def check(self, grid: Grid) -> None:
        if self.heads != grid.heads:
            raise ShapeError(
                f"Sink(heads) must equal the query heads of the call; got heads={self.heads}, H={grid.heads}. Usual fix: Sink({grid.heads})."
            )
        check_present("Sink", self.logit, grid.device)

    def extra_repr(self) -> str:
        return f"{self.heads}"
