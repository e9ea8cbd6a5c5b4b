"""
---
title: Classic subclasses
summary: A get_scores of two arguments, on sequence-first tensors, as annotated code has it.
---
"""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from headwise.call import ScoreMethod
from headwise.checks import check_takes
from headwise.layer import MultiHeadAttention


class ClassicMultiHeadAttention(MultiHeadAttention):
    """
    The layer as classic annotated code has it: `heads` first, `[seq, batch, d_model]`, keyword arguments, and a `get_scores` of two.

    A subclass overrides `get_scores(query, key)`, which gets `[seq, batch, heads, d_k]` and returns unscaled scores `[I,J,B,H]`. Masks are
    `[I,J,B]`, True = may see, with the query axis first.

    ```python
    class Distance(ClassicMultiHeadAttention):
        def get_scores(self, query, key):
            return -(query[:, None] - key[None]).square().sum(-1)
    ```

    *Edge*: classic code may count the rows of what it gets, so it gets the whole matrix. A subclass whose entries depend on their own pair
    only says `whole_matrix = False`, and then runs in linear memory.
    """

    whole_matrix = True

    def __init__(
        self,
        heads: int,
        d_model: int,
        dropout_prob: float = 0.1,
        bias: bool = True,
        *,
        position: Any = None,
        mask: Any = None,
        score: Any = None,
    ) -> None:
        super().__init__(
            d_model,
            heads,
            dropout=dropout_prob,
            bias=bias,
            position=position,
            mask=mask,
            score=score,
            batch_first=False,
        )

    @property
    def d_k(self) -> int:
        """Features of a head, under the name that they have in classic code."""
        return self.head_dim

    def get_scores(self, query: Float[Tensor, "I B H D"], key: Float[Tensor, "J B H D"]) -> Float[Tensor, "I J B H"]:  # type: ignore[override]
        """Unscaled scores between queries and keys: the dot product of each pair."""
        return torch.einsum("ibhd,jbhd->ijbh", query, key)

    @property
    def score_method(self) -> ScoreMethod | None:
        """The classic method, if there is one of its own, behind the four arguments that engines pass."""
        own = type(self).get_scores is not ClassicMultiHeadAttention.get_scores or "get_scores" in self.__dict__
        if not own:
            return None
        check_takes(self.get_scores, ("query", "key"))
        return self.scores_of_pairs

    def scores_of_pairs(
        self, query_BHID: Tensor, key_BHJD: Tensor, query_positions: Tensor, key_positions: Tensor
    ) -> Float[Tensor, "B H I J"]:
        """What engines ask for, answered by the classic method."""
        return self.get_scores(query_BHID.permute(2, 0, 1, 3), key_BHJD.permute(2, 0, 1, 3)).permute(2, 3, 0, 1)
