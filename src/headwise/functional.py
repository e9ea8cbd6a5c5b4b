"""
---
title: Attention
summary: Start here: one function computes attention, another says which engine would compute it, and why.
---

# Start here

`attention` computes scaled multi-head attention of queries, keys and values:

$$\\text{output}_i = \\sum_j \\underset{j}{\\text{softmax}}\\left(\\frac{q_i \\cdot k_j}{\\sqrt{D}}\\right) v_j$$

For each query, attention finds the keys that match it and returns the mixture of their values. What varies from model to model
is passed in as small parts: **masks** say which keys a query may see, **score parts** change how much a query likes a key.
An **engine** computes the numbers; which one it is never changes what they mean.

Letters count axes: B sequences, H query heads, G key/value heads, I queries, J keys, D features of a query or key, E features of a value.
A token is stored in a **slot** of its tensor and stands at a **position** of its sequence; [the grid](grid.py) tells the two apart.

```python
>>> query, key, value = (torch.randn(1, 8, 5, 64) for _ in range(3))
>>> attention(query, key, value, mask=Causal()).shape
torch.Size([1, 8, 5, 64])
```
"""

from typing import Any

from jaxtyping import Float
from torch import Tensor

from headwise.call import Call, ScoreMethod
from headwise.engines.choose import choose
from headwise.explanation import Explanation, explain_call
from headwise.nested import attend_nested


def attention(
    query: Float[Tensor, "B H I D"],
    key: Float[Tensor, "B G J D"],
    value: Float[Tensor, "B G J E"],
    *,
    mask: Any = None,
    score: Any = None,
    scores: ScoreMethod | None = None,
    scale: float | None = None,
    dropout: float = 0.0,
    query_positions: int | Tensor | None = None,
    key_positions: int | Tensor | None = None,
    engine: str = "auto",
    return_lse: bool = False,
) -> Any:
    """
    Attention of I queries over J keys, in H heads: `[B,H,I,E]`.

    The order of things: compute the scores, multiply them by `scale`, apply the score parts in order, hide what the mask hides, take the
    softmax, drop weights, mix the values.

    * `mask`: a `Mask`, a bool tensor (True = may see) `[I,J]`, `[B,I,J]` or `[B,H,I,J]`, or a function `(b, h, i, j) -> bool`.
    * `score`: a `Score`, a function `(s, b, h, i, j) -> s`, or a tuple of them, in order.
    * `scores`: a function `(query, key, query_positions, key_positions) -> [B,H,i,j]` in place of the dot product.
    * `scale`: what scores are multiplied by; $1/\\sqrt{D}$ if not given.
    * `dropout`: the share of weights set to 0 at random, always: the function knows no training mode.
    * `query_positions`, `key_positions`: where the tokens stand, if not at their slots: the position of the first one, a tensor `[I]`, or `[B,I]`.
    * `engine`: `"auto"`, or the name of one engine, which then runs the call or raises `EngineRefused`.
    * `return_lse`: with True, `(output, lse)` is returned; the lse `[B,H,I]` is the natural logarithm of the softmax's denominator, differentiable.

    Nested tensors of the layout `torch.jagged` are taken, too; the output is then nested as well.

    *Shapes*: `query [B,H,I,D]`, `key [B,G,J,D]`, `value [B,G,J,E]`; G divides H, and each key/value head serves H/G query heads in a row.

    *Edge*: with fewer queries than keys the last query stands at the last key. A query that sees no key gets 0, its lse is $-\\infty$, and
    its gradients are finite.

    *Errors*: `ShapeError`, `MaskError`, `ScoreError`, `ArgumentError`, `EngineRefused`; all are `HeadwiseError`s.

    *Source*: Vaswani et al., 2017, "Attention Is All You Need", section 3.2.1, arXiv:1706.03762; grouped heads: Ainslie et al., 2023,
    arXiv:2305.13245.
    """
    if any(isinstance(tensor, Tensor) and tensor.is_nested for tensor in (query, key, value)):
        rest: dict[str, Any] = {
            "scores": scores,
            "scale": scale,
            "dropout": dropout,
            "engine": engine,
            "return_lse": return_lse,
        }
        rest |= {"query_positions": query_positions, "key_positions": key_positions}
        return attend_nested(query, key, value, mask, score, **rest)
    call = Call.of(
        query,
        key,
        value,
        mask=mask,
        score=score,
        scores=scores,
        scale=scale,
        dropout=dropout,
        query_positions=query_positions,
        key_positions=key_positions,
        return_lse=return_lse,
    )
    result = choose(call, engine).run(call)
    return (result.output, result.lse) if return_lse else result.output


def explain(
    query: Float[Tensor, "B H I D"],
    key: Float[Tensor, "B G J D"],
    value: Float[Tensor, "B G J E"],
    *,
    mask: Any = None,
    score: Any = None,
    scores: ScoreMethod | None = None,
    scale: float | None = None,
    dropout: float = 0.0,
    query_positions: int | Tensor | None = None,
    key_positions: int | Tensor | None = None,
    engine: str = "auto",
    return_lse: bool = False,
) -> Explanation:
    """
    Which engine `attention` would take for the same arguments, and why no other.

    Nothing is computed. The result has `.engine`, `.refused` (engine -> its reasons), `.considered` (engine -> why it was not
    taken), and prints as a table.
    """
    call = Call.of(
        query,
        key,
        value,
        mask=mask,
        score=score,
        scores=scores,
        scale=scale,
        dropout=dropout,
        query_positions=query_positions,
        key_positions=key_positions,
        return_lse=return_lse,
    )
    return explain_call(call, engine)
