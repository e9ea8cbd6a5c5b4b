"""
---
title: Multi-head attention
summary: The layer: project, split into heads, attend, join, project.
---

# Multi-head attention

<a id="MHA"></a>

The layer takes tokens `[B,I,M]` and returns tokens of the same shape. Inside it

1. maps them linearly to queries, keys and values, and splits these into heads;
2. turns queries and keys by their positions, where the layer has a position scheme;
3. adds the keys and values of the tokens before, where there is a cache;
4. attends, in every head;
5. joins the heads and maps the result linearly.

*Source*: Vaswani et al., 2017, "Attention Is All You Need", section 3.2.2, arXiv:1706.03762.
"""

import math
from collections.abc import Iterable
from contextlib import nullcontext
from types import MethodType
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from headwise.attend import Attend, weights_of
from headwise.cache import CacheRow, KVCache
from headwise.call import Call, ScoreMethod, check_places
from headwise.errors import ArgumentError, PositionError
from headwise.layout import classic_mask, swap_batch
from headwise.mask.base import Mask
from headwise.mask.coerce import as_mask
from headwise.parts import Parts
from headwise.score.coerce import as_scores
from headwise.shapes import check_heads, check_inputs
from headwise.source.heads import PrepareForMultiHeadAttention
from headwise.source.keys import Keys, in_heads, length_of
from headwise.source.qk_norm import QKNorm, make_qk_norm

PROJECTIONS = ("query", "key", "value", "output")


class MultiHeadAttention(nn.Module):
    """
    Multi-head attention: `[B,I,M]` -> `[B,I,M]`.

    * `d_model` (M) and `heads` (H): width of the model, number of query heads.
    * `kv_heads` (G): key/value heads, each shared by H/G query heads; 1 is multi-query attention.
    * `head_dim` (D), `value_dim` (E): features a head of queries and keys, and of values; M/H if not given.
    * `context_dim`: width of keys and values that come from another sequence, M if not given.
    * `dropout`: share of weights dropped in training.
    * `bias`: True, False, or the names of the projections that have one, among "query", "key", "value", "output".
    * `position`: a scheme that turns queries and keys, such as `Rotary(head_dim)`, or its class.
    * `mask`, `score`: as in `attention`; the mask of a call is joined to the layer's by *and*.
    * `qk_norm`: a normalisation of queries and of keys: `"rms"`, `"layer"`, `"l2"`, or a function of head_dim.
    * `batch_first`: False for the classic layout `[seq, batch, d_model]`.
    * `engine`: which engine attends.

    Set `keep_attention = True` and each call stores its weights as `attn` `[B,H,I,J]`, detached and before dropout.

    ```python
    >>> layer = MultiHeadAttention(d_model=512, heads=8, mask=Causal())
    >>> layer(torch.randn(2, 5, 512)).shape
    torch.Size([2, 5, 512])
    ```
    """

    whole_matrix = False

    def __init__(
        self,
        d_model: int,
        heads: int,
        *,
        kv_heads: int | None = None,
        head_dim: int | None = None,
        value_dim: int | None = None,
        context_dim: int | None = None,
        dropout: float = 0.0,
        bias: bool | Iterable[str] = True,
        position: Any = None,
        mask: Any = None,
        score: Any = None,
        qk_norm: QKNorm = None,
        batch_first: bool = True,
        engine: str = "auto",
    ) -> None:
        super().__init__()
        head_dim, value_dim, kv_heads = check_heads(d_model, heads, kv_heads, head_dim, value_dim)
        context_dim = d_model if context_dim is None else context_dim
        biased = with_bias(bias)

        # Keys and values may be fewer than queries: each of them then serves a group of query heads.
        self.query = PrepareForMultiHeadAttention(d_model, heads, head_dim, "query" in biased)
        self.key = PrepareForMultiHeadAttention(context_dim, kv_heads, head_dim, "key" in biased)
        self.value = PrepareForMultiHeadAttention(context_dim, kv_heads, value_dim, "value" in biased)
        self.output = nn.Linear(heads * value_dim, d_model, bias="output" in biased)
        self.query_norm = make_qk_norm(qk_norm, heads, head_dim)
        self.key_norm = make_qk_norm(qk_norm, kv_heads, head_dim)
        self.position = heads_scheme(position, head_dim)
        self.attend = Attend(engine)

        self.d_model, self.heads, self.kv_heads, self.head_dim = d_model, heads, kv_heads, head_dim
        self.dropout, self.batch_first = dropout, batch_first
        self.mask = as_mask(mask)
        self.score = Parts(as_scores(score))
        self.keep_attention = False
        self.attn: Float[Tensor, "B H I J"] | None = None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Weights from Glorot and Bengio's uniform distribution (2010), each projection for itself; biases 0."""
        for linear in (self.query.linear, self.key.linear, self.value.linear, self.output):
            nn.init.xavier_uniform_(linear.weight)
            if linear.bias is not None:
                nn.init.zeros_(linear.bias)

    def forward(
        self,
        query: Float[Tensor, "B I M"],
        key: Tensor | None = None,
        value: Tensor | None = None,
        *,
        mask: Any = None,
        positions: int | Tensor | None = None,
        cache: KVCache | CacheRow | None = None,
    ) -> Float[Tensor, "B I M"]:
        """
        Attend from `query` to `key` and `value`: `[B,I,M]`.

        Without `key` the layer attends from the sequence to itself; without `value` the values come from the keys.

        * `mask`: which pairs may see each other, besides the layer's own mask.
        * `positions`: where the queries stand: the position of the first, `[I]`, or `[B,I]`; in self-attention the keys stand there too.
        * `cache`: keys and values of the tokens before; those of this call are added to it.
        """
        # 1. Batch first, whatever came. Classic code passes one tensor three times for self-attention.
        itself = (key is None or key is query) and (value is None or value is query)
        check_inputs(query, key, value, self.d_model, self.key.d_model, itself, self.batch_first)
        key = query if key is None else key
        value = key if value is None else value
        query, key, value = (swap_batch(tensor, self.batch_first) for tensor in (query, key, value))
        mask = self.mask & (as_mask(mask) if self.batch_first else classic_mask(mask))

        # 2. Queries, keys and values: a linear map of each input, split into heads, turned to where they stand.
        # 3. Attend, in every head.
        row = cache.row(self) if isinstance(cache, KVCache) else cache
        with row.step() if row is not None else nullcontext():
            keys = (self.keys_of_itself if itself else self.keys_of_other)(key, value, mask, positions, row)
            call = self.make_call(in_heads(self.query, query, self.query_norm), keys)
            output_BHIE = self.attend(call)
        if self.keep_attention:
            self.attn = weights_of(call)

        # 4. Join the heads, and map to the width of the model.
        joined_BIE = output_BHIE.transpose(1, 2).flatten(-2)
        return swap_batch(self.output(joined_BIE), self.batch_first)

    def get_scores(
        self,
        query: Float[Tensor, "B H i D"],
        key: Float[Tensor, "B H j D"],
        query_positions: Int[Tensor, "B i"],
        key_positions: Int[Tensor, "B j"],
    ) -> Float[Tensor, "B H i j"]:
        """
        Unscaled scores between queries and keys: the dot product of each pair.

        Override this method for another kind of attention, such as relative, distance-based or additive attention. Masks, score
        parts, positions, cache and recording go on working, and so do training and linear memory. The method may get a
        block of the queries and keys, so an entry must depend on its own pair only; set `whole_matrix = True` on the class otherwise.
        """
        return torch.einsum("bhid,bhjd->bhij", query, key)

    def keys_of_itself(
        self, key: Tensor, value: Tensor, mask: Mask, positions: int | Tensor | None, row: CacheRow | None
    ) -> Keys:
        """Keys and values of the same tokens as the queries, behind those of the cache, if there is one."""
        batch, new = key.shape[:2]
        if positions is not None:
            positions = check_places("positions", positions, 0, batch, new, key.device)
        key_BGJD, value_BGJE = in_heads(self.key, key, self.key_norm), in_heads(self.value, value)
        if row is None:
            places = 0 if positions is None else positions
            return Keys(self.turned(key_BGJD, places, self.length(places, new)), value_BGJE, mask, places, places)
        places = row.place(positions, new)
        # A key is stored as it was turned, once. A scheme whose angles depend on the length of the whole turns all keys
        # again at each step, so it stores them as they came.
        row.append(key_BGJD if self.turns_again else self.turned(key_BGJD, places), value_BGJE)
        key_BGJD = (
            self.turned(row.key, row.positions, self.length(row.positions, row.length)) if self.turns_again else row.key
        )
        return Keys(key_BGJD, row.value, row.remember(mask, new), places, row.positions)

    def keys_of_other(
        self, key: Tensor, value: Tensor, mask: Mask, positions: int | Tensor | None, row: CacheRow | None
    ) -> Keys:
        """Keys and values of another sequence; with a cache they are projected in the first call, and kept."""
        if row is not None and row.length:
            row.check_memory(key)
            return Keys(row.key, row.value, mask, positions, 0)
        key_BGJD, value_BGJE = in_heads(self.key, key, self.key_norm), in_heads(self.value, value)
        key_BGJD = self.turned(key_BGJD, 0, key.shape[1])
        if row is not None:
            row.append(key_BGJD, value_BGJE)
        return Keys(key_BGJD, value_BGJE, mask, positions, 0)

    def turned(self, x_BHLD: Tensor, positions: int | Tensor, length: int | Tensor | None = None) -> Tensor:
        """The vectors, turned by their positions, if the layer has a position scheme; `length` is that of the sequence so far."""
        return x_BHLD if self.position is None else self.position(x_BHLD, positions, length=length)

    @property
    def turns_again(self) -> bool:
        """Do the angles of all tokens change when the sequence grows?"""
        return bool(getattr(self.position, "depends_on_length", False))

    def length(self, positions: int | Tensor, count: int) -> int | Tensor | None:
        """The length of the sequence so far, worked out only for a scheme that asks for it."""
        return length_of(positions, count) if self.turns_again else None

    def make_call(self, query_BHID: Tensor, keys: Keys) -> Call:
        """What is to be computed: the numbers and the layer's parts, and nothing of how."""
        places = keys.key.shape[2] - query_BHID.shape[2] if keys.query_positions is None else keys.query_positions
        return Call.of(
            self.turned(query_BHID, places, self.length(keys.key_positions, keys.key.shape[2])),
            keys.key,
            keys.value,
            mask=keys.mask,
            score=self.score.parts,
            scores=self.score_method,
            scale=1.0 / math.sqrt(self.head_dim),
            dropout=self.dropout if self.training else 0.0,
            query_positions=places,
            key_positions=keys.key_positions,
        )

    @property
    def overrides_scores(self) -> bool:
        """Has a subclass, or a patch of this instance, its own `get_scores`?"""
        return type(self).get_scores is not MultiHeadAttention.get_scores or "get_scores" in self.__dict__

    @property
    def score_method(self) -> ScoreMethod | None:
        """The overridden method, bound to this layer, which an engine asks for `whole_matrix`; None: the dot product."""
        if not self.overrides_scores:
            return None
        method = self.get_scores
        return (
            method if getattr(method, "__self__", None) is self else MethodType(lambda _, *given: method(*given), self)
        )

    def extra_repr(self) -> str:
        return f"d_model={self.d_model}, heads={self.heads}, kv_heads={self.kv_heads}, head_dim={self.head_dim}"


def heads_scheme(position: Any, head_dim: int) -> Any:
    """The position scheme of a layer, made for `head_dim` if a class or function is given."""
    scheme = position(head_dim) if isinstance(position, type) else position
    if scheme is not None and not callable(scheme):
        raise PositionError(f"position must be None or a scheme such as Rotary; got {position!r}. Usual fix: position=hw.Rotary.")
    if scheme is not None and getattr(scheme, "acts_on", "heads") != "heads":
        name = type(scheme).__name__
        raise PositionError(
            f"position of a layer must act on queries and keys, {name} acts on the embedding. "
            f"Usual fix: add it to the input, x = {name.lower()}(x, positions), or give it to the model as position=."
        )
    return scheme


def with_bias(bias: bool | Iterable[str]) -> set[str]:
    """The names of the projections that have a bias."""
    names = (
        set(PROJECTIONS) if bias is True else set() if bias is False else {bias} if isinstance(bias, str) else set(bias)
    )
    if not names <= set(PROJECTIONS):
        raise ArgumentError(
            f"bias must be True, False, or names among {', '.join(PROJECTIONS)}; got {bias!r}. Usual fix: bias=('query', 'value')."
        )
    return names
