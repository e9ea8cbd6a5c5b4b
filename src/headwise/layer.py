"""
---
title: Multi-head attention
summary: The layer: project, split into heads, attend, join, project.
---

# Multi-head attention

<a id="MHA"></a>

A layer of attention lets tokens exchange what they know. Each token asks (its **query**), each token offers (its **key**), and what
passes between them is a third thing (the **value**); all three are linear maps (**projections**) of the tokens themselves:

$$Q = X W_Q \\qquad K = X W_K \\qquad V = X W_V$$

Each head attends with its own features, and a last map joins what the heads found:

$$\\text{head}_h = \\underset{j}{\\text{softmax}}\\left(\\frac{Q_h K_h^\\top}{\\sqrt{D}}\\right) V_h$$

$$\\text{MultiHead}(X) = \\text{Concat}(\\text{head}_1, \\dots, \\text{head}_H)\\, W_O$$

The layer takes tokens `[B,I,M]` and returns tokens of the same shape:

1. it maps them to queries, keys and values, and splits these into heads;
2. with a position scheme, it turns queries and keys by their positions; with a cache, it takes the keys and values of earlier tokens from it;
3. in every head it computes the scores, multiplies them by the scale, applies the score parts, hides what the mask hides, takes the softmax
   along the keys, drops weights, and mixes the values;
4. it joins the heads and maps the result once more.

*Source*: Vaswani et al., 2017, "Attention Is All You Need", section 3.2.2, arXiv:1706.03762.
"""

import math
from collections.abc import Iterable
from contextlib import nullcontext
from typing import Any, Self

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from headwise.attend import Attend, weights_of
from headwise.cache import CacheRow, KVCache, row_of
from headwise.call import Call, Patched, ScoreMethod
from headwise.checks import check_flag, check_share, check_size
from headwise.layout import classic_mask, swap_batch
from headwise.mask.base import Mask
from headwise.mask.coerce import as_mask
from headwise.parts import Parts
from headwise.position.base import scheme_for_heads
from headwise.score.coerce import as_scores
from headwise.shapes import check_heads, check_inputs
from headwise.source.heads import PrepareForMultiHeadAttention, with_bias
from headwise.source.keys import Keys, in_heads, keys_of_itself, keys_of_other, turned
from headwise.source.qk_norm import QKNorm, make_qk_norm


class MultiHeadAttention(nn.Module):
    """
    Multi-head attention: `[B,I,M]` -> `[B,I,M]`.

    * `d_model` (M) and `heads` (H): width of the model, number of query heads.
    * `kv_heads` (G): key/value heads, each shared by H/G query heads; 1 is multi-query attention.
    * `head_dim` (D), `value_dim` (E): features a head of queries and keys, and of values; M/H if not given.
    * `context_dim`: width of the tokens that keys and values are made from, where these are of another sequence; M if not given.
    * `dropout`: share of the attention weights that is set to 0 at random in training.
    * `bias`: True, False, or the names of the projections that have one, among "query", "key", "value", "output".
    * `position`: a scheme that turns queries and keys, such as `Rotary(head_dim)`, or its class.
    * `mask`, `score`: as in `attention`; the mask of a call is joined to the layer's by *and*.
    * `qk_norm`: a normalisation of queries and of keys: `"rms"`, `"layer"`, `"l2"`, or a function that makes one for a given `head_dim`.
    * `batch_first`: False for the classic layout `[seq, batch, d_model]`.
    * `engine`: which engine attends.

    Set `keep_attention = True` and each call stores its attention weights as `attn` `[B,H,I,J]`, detached and before dropout.

    ```python
    >>> layer = MultiHeadAttention(d_model=512, heads=8, mask=Causal())
    >>> layer(torch.randn(2, 5, 512)).shape
    torch.Size([2, 5, 512])
    ```
    """

    whole_matrix = False
    mask: Mask
    score: Parts

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
        context_dim = (
            d_model if context_dim is None else check_size("context_dim", context_dim, "leave it away for d_model")
        )
        biased = with_bias(bias)

        # There may be fewer key/value heads than query heads: each key/value head then serves a group of query heads.
        self.query = PrepareForMultiHeadAttention(d_model, heads, head_dim, "query" in biased)
        self.key = PrepareForMultiHeadAttention(context_dim, kv_heads, head_dim, "key" in biased)
        self.value = PrepareForMultiHeadAttention(context_dim, kv_heads, value_dim, "value" in biased)
        self.output = nn.Linear(heads * value_dim, d_model, bias="output" in biased)
        self.query_norm = make_qk_norm(qk_norm, heads, head_dim)
        self.key_norm = make_qk_norm(qk_norm, kv_heads, head_dim)
        self.position = scheme_for_heads(position, head_dim)
        self.attend = Attend(engine)

        self.d_model, self.heads, self.kv_heads, self.head_dim = d_model, heads, kv_heads, head_dim
        self.dropout, self.batch_first = check_share("dropout", dropout), check_flag("batch_first", batch_first)
        self.mask = mask
        self.score = score
        self.keep_attention = False
        self.attn: Float[Tensor, "B H I J"] | None = None
        self.reset_parameters()

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "mask":
            value = as_mask(value)
        if name == "score" and not isinstance(value, Parts):
            value = Parts(as_scores(value))
        super().__setattr__(name, value)

    def reset_parameters(self) -> None:
        """Draws the matrix of each projection from the uniform distribution of Glorot and Bengio (2010), and sets biases to 0."""
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

        * `mask`: may the query at i, in sequence b, see the key at j? A bool tensor `[I,J]`, `[B,I,J]` or `[B,H,I,J]`, a `Mask`, or a function.
          An axis of size 1 is broadcast; without a heads axis one mask serves all heads. In the classic layout the query axis comes
          first: `[I,J]`, `[I,J,B]` or `[I,J,B,H]`.
        * `positions`: where the queries stand: the position of the first one, a tensor `[I]`, or `[B,I]`; in self-attention the keys stand there too.
        * `cache`: keys and values of the tokens before; those of this call are added to it.
        """
        # 1. Whatever the layout, the batch axis is put first. One tensor given as query, key and value means self-attention, as in classic code.
        itself = (key is None or key is query) and (value is None or value is query)
        check_inputs(query, key, value, self.d_model, self.key.d_model, itself, self.batch_first)
        key = query if key is None else key
        value = key if value is None else value
        query, key, value = (swap_batch(tensor, self.batch_first) for tensor in (query, key, value))
        # A pair is seen if both masks let it be seen: the rule of the layer, and what this batch adds, such as padding.
        mask = self.mask & (as_mask(mask) if self.batch_first else classic_mask(mask))

        # 2. A linear map each for query, key and value, split into heads. A cache, if there is one, changes only if attending succeeds, too.
        row = row_of(cache, self)
        with row.step() if row is not None else nullcontext():
            keys = (keys_of_itself if itself else keys_of_other)(self, key, value, mask, positions, row)
            call = self.make_call(in_heads(self.query, query, self.query_norm), keys)
            # 3. Attend: every head mixes the values by its own weights `[B,H,I,J]`. Most engines never store this matrix.
            output_BHIE = self.attend(call)
        # The attention weights can be kept, for a log or for other computations. That costs a matrix of all pairs, so it is off unless
        # asked for; `hw.record` gives chosen layers, heads and queries, or statistics of them, for less.
        if self.keep_attention:
            self.attn = weights_of(call)

        # 4. Put the heads side by side again, and map them to the width of the model: here they meet.
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
        Unscaled scores between queries and keys: $s_{ij} = q_i \\cdot k_j$, the dot product of each pair, in each head.

        Override this method for another kind of attention, such as relative, distance-based or additive attention. Scale, masks, score
        parts, positions, cache and recording go on working, and so does training; memory still grows linearly with the sequence. The
        method may get a block of the queries and keys, so each score must depend on its own pair only. Where it depends on more, set
        `whole_matrix = True` in the class.
        """
        return torch.einsum("bhid,bhjd->bhij", query, key)

    def make_call(self, query_BHID: Tensor, keys: Keys) -> Call:
        """What is to be computed: the tensors and the layer's parts. How to compute it is left to an engine."""
        places = keys.key.shape[2] - query_BHID.shape[2] if keys.query_positions is None else keys.query_positions
        return Call.of(
            turned(self.position, query_BHID, places, keys.length),
            keys.key,
            keys.value,
            mask=keys.mask,
            score=self.score.parts,
            scores=self.score_method,
            # Dot products over many features are large: over D independent features of variance 1 their variance is D. Divided by
            # $\sqrt{D}$ they have variance 1, and the gradient of the softmax does not vanish.
            scale=1.0 / math.sqrt(self.head_dim),
            # Dropout takes weights away at random, so that no query relies on one key; only in training.
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
        """The overridden `get_scores`, bound to this layer, where an engine looks for `whole_matrix`; None stands for the dot product."""
        if not self.overrides_scores:
            return None
        method = self.get_scores
        if getattr(method, "__self__", None) is self:
            return method
        return Patched(method, self.whole_matrix or getattr(method, "whole_matrix", False))

    @classmethod
    def from_torch(cls, module: nn.MultiheadAttention) -> Self:
        """
        A layer with copies of the parameters of a `torch.nn.MultiheadAttention`, and with its dropout, layout and mode (training or not).

        The new layer is called as every layer of this library, not as PyTorch's: in masks True = may see, and attention weights are
        recorded, not returned. In a model whose code calls its layers in PyTorch's way, replace them with `hw.from_torch(model)`.
        """
        from headwise.interop.torch_layer import layer_from_torch

        return layer_from_torch(module, cls)

    def extra_repr(self) -> str:
        return f"d_model={self.d_model}, heads={self.heads}, kv_heads={self.kv_heads}, head_dim={self.head_dim}"
