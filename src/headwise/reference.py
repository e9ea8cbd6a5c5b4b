"""
---
title: The definition
summary: Scaled multi-head attention in four named steps.
---

# Attention, defined

Attention finds, for each **query**, the **keys** that match it, and returns the mixture of their **values**:

$$\\text{Attention}(Q, K, V) = \\underset{j}{\\text{softmax}}\\left(\\frac{Q K^\\top}{\\sqrt{D}}\\right) V$$

It does so in four steps. Each is a function on this page, and `attention_steps` returns the result of each:

1. **scores**: how well does each key match the query?
2. **mask**: which keys may the query see?
3. **weights**: the softmax turns the scores of a query into shares that sum to 1.
4. **mix**: the output is the sum of the values, each multiplied by its share.

This page is the definition: every fast engine is tested against it, output and gradients.

*Source*: Vaswani et al., 2017, "Attention Is All You Need", section 3.2, arXiv:1706.03762.
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor

from headwise.call import Call
from headwise.grid import Grid
from headwise.score.base import sinks_of
from headwise.shapes import check_scores


@dataclass(frozen=True, eq=False)
class Steps:
    """What each step gave. Hidden pairs have weight 0; `weights` are before dropout; `lse` is the natural logarithm of the softmax's denominator."""

    scores: Float[Tensor, "B H I J"]
    visible: Bool[Tensor, "B H I J"]
    weights: Float[Tensor, "B H I J"]
    output: Float[Tensor, "B H I E"]
    lse: Float[Tensor, "B H I"]


def attention_steps(call: Call, grid: Grid | None = None) -> Steps:
    """All four steps, for the whole call or for the rows and columns of `grid`."""
    grid = grid or call.grid
    # Where there are fewer key/value heads than query heads, each key/value head serves a group of query heads that follow one another.
    query_BHID = call.query[:, :, slice(*grid.rows)]
    key_BHJD = call.key[:, :, slice(*grid.columns)].repeat_interleave(call.group_size, dim=1)
    value_BHJE = call.value[:, :, slice(*grid.columns)].repeat_interleave(call.group_size, dim=1)

    scores_BHIJ = get_scores(call, query_BHID, key_BHJD, grid)
    visible_BHIJ = call.mask.sees(grid).expand_as(scores_BHIJ)
    weights_BHIJ, lse_BHI = get_weights(scores_BHIJ, visible_BHIJ, sinks_of(call.score, grid))
    # Dropout comes after the softmax: it takes away weights, at random. The weights returned are those before it.
    output_BHIE = mix(F.dropout(weights_BHIJ, call.dropout), visible_BHIJ, value_BHJE)
    return Steps(scores_BHIJ, visible_BHIJ, weights_BHIJ, output_BHIE, lse_BHI)


def get_scores(call: Call, query_BHID: Tensor, key_BHJD: Tensor, grid: Grid) -> Float[Tensor, "B H I J"]:
    """
    Step 1: the score of a pair is the dot product of query and key, times the scale; then the score parts, in order.

    The dot product of two vectors is large where they point the same way: it measures the match.
    """
    # A vector that holds a NaN or an infinity is set to 0 here, and its scores to NaN below. Multiplied as it is,
    # it would spoil the gradients of its hidden pairs as well, since 0 times NaN is NaN.
    bad_BHIJ = broken(query_BHID).any(-1)[..., :, None] | broken(key_BHJD).any(-1)[..., None, :]
    query_BHID, key_BHJD = clean(query_BHID), clean(key_BHJD)
    # Half precision has too few digits for a sum over many features and keys: scores and softmax are at least float32.
    if call.scores is None:
        scores_BHIJ = torch.einsum("bhid,bhjd->bhij", widen(query_BHID), widen(key_BHJD))
    else:
        scores_BHIJ = call.scores(query_BHID, key_BHJD, *position_rows(grid))
        check_scores(scores_BHIJ, query_BHID, key_BHJD.shape[2])
        scores_BHIJ = widen(scores_BHIJ)
    # A dot product sums over D features, so it grows with their number. With large scores the softmax gives everything to
    # one key, and the gradient of the softmax vanishes. The scale, $1/\sqrt{D}$ unless told otherwise, keeps the size of the scores
    # the same whatever D is.
    scores_BHIJ = scores_BHIJ * call.scale
    for part in call.score:
        scores_BHIJ = part.change(scores_BHIJ, grid)
    return torch.where(bad_BHIJ, torch.nan, scores_BHIJ)


def get_weights(
    scores_BHIJ: Tensor, visible_BHIJ: Tensor, sinks_HS: Tensor | None = None
) -> tuple[Float[Tensor, "B H I J"], Float[Tensor, "B H I"]]:
    """
    Steps 2 and 3: hide what may not be seen, then softmax along the keys. Also returns the lse.

    Softmax gives shares, $w_j = e^{s_j} / \\sum_{j'} e^{s_{j'}}$: the keys that a query sees get shares that sum to 1, hidden keys get 0. The
    sum in the denominator runs over the keys, for each query and head separately. A sink, where a head has one, is one more term of that
    sum: it takes a share of each query, no value belongs to it, and the shares of the keys sum to less than 1.
    """
    # A score of $-\infty$ gives the weight 0: a bias of $-\infty$ hides a pair as a mask does. A NaN hides nothing, and stays.
    visible_BHIJ = visible_BHIJ & (scores_BHIJ != -torch.inf)
    # A hidden score becomes the most negative finite number, not $-\infty$: for a query that sees no key the softmax would otherwise
    # compute $-\infty - (-\infty)$, which is NaN, in the gradient too.
    hidden_BHIJ = torch.where(visible_BHIJ, scores_BHIJ, torch.finfo(scores_BHIJ.dtype).min)
    if sinks_HS is not None:
        sinks_BHIS = sinks_HS.to(hidden_BHIJ.dtype)[None, :, None].expand(*hidden_BHIJ.shape[:3], -1)
        hidden_BHIJ = torch.cat([hidden_BHIJ, sinks_BHIS], dim=-1)
    weights_BHIJ = torch.where(visible_BHIJ, hidden_BHIJ.softmax(-1)[..., : visible_BHIJ.shape[-1]], 0.0)
    # A row of NaN scores has keys, and must show as NaN; only the mask and $-\infty$ hide a pair.
    keyless_BHI = ~visible_BHIJ.any(-1)
    return weights_BHIJ, torch.where(keyless_BHI, -torch.inf, hidden_BHIJ.logsumexp(-1))


def mix(weights_BHIJ: Tensor, visible_BHIJ: Tensor, value_BHJE: Tensor) -> Float[Tensor, "B H I E"]:
    """Step 4: the output of a query is the sum of the values, each multiplied by its weight."""
    output_BHIE = torch.einsum("bhij,bhje->bhie", weights_BHIJ, widen(clean(value_BHJE)))
    # A broken value makes the output NaN for the queries that may see it, and for no others. The product with the weights
    # cannot tell these queries from the others: a weight of 0 times NaN is NaN.
    broken_BHJE = broken(value_BHJE).to(weights_BHIJ.dtype)
    sees_broken_BHIE = torch.einsum("bhij,bhje->bhie", visible_BHIJ.to(weights_BHIJ.dtype), broken_BHJE) > 0
    return torch.where(sees_broken_BHIE, torch.nan, output_BHIE).to(value_BHJE.dtype)


def broken(tensor: Tensor) -> Tensor:
    """Where the tensor holds a NaN or an infinity."""
    return ~tensor.isfinite()


def clean(tensor: Tensor) -> Tensor:
    """The tensor with 0 in place of NaN and infinities."""
    return torch.where(broken(tensor), 0.0, tensor)


def widen(tensor: Tensor) -> Tensor:
    """The tensor in at least float32."""
    return tensor.to(torch.promote_types(tensor.dtype, torch.float32))


def position_rows(grid: Grid) -> tuple[Tensor, Tensor]:
    """Positions of the queries `[B,i]` and of the keys `[B,j]`, as a score method gets them."""
    query_BI = grid.query_position[:, 0, :, 0].expand(grid.batch, -1)
    key_BJ = grid.key_position[:, 0, 0, :].expand(grid.batch, -1)
    return query_BI, key_BJ
