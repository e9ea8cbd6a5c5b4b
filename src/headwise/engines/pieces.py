"""
---
title: Pieces
summary: Attention as a list of rectangles, each computed by the fused kernel, merged exactly by the lse.
---

# Rectangles through the fused kernel

The pairs that a mask lets see each other often fill a few rectangles of rows and columns: a document, a band beside the diagonal, the
real tokens of a padded sequence. A **piece** is such a rectangle, with what is added to its scores. The fused kernel computes one
piece after the other, and pairs outside of all pieces cost nothing.

A query may stand in several pieces. Two results over different keys are merged by their lse, exactly:

$$\\text{lse} = \\log(e^{\\text{lse}_1} + e^{\\text{lse}_2}), \\qquad
\\text{output} = e^{\\text{lse}_1 - \\text{lse}}\\,\\text{output}_1 + e^{\\text{lse}_2 - \\text{lse}}\\,\\text{output}_2$$

In the backward pass the kernel works out the weights of a piece from the lse of the whole row, so each piece gives its exact share of
the gradients and nothing has to be kept but the output and the lse.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from headwise.engines.cpu_kernel import kernel, kernel_backward
from headwise.engines.guards import first_order, refuse
from headwise.engines.toeplitz import score_gradients


@dataclass(frozen=True)
class Piece:
    """
    A rectangle of pairs: the sequences, rows and columns `[start, stop)`.

    * `flag`: only the pairs on and below the diagonal that starts in the upper left corner;
    * `again`: its rows stand in an earlier piece, too;
    * `open`: all of its pairs are seen;
    * `heads`: which heads, if not all; then every query head has a key head of its own;
    * `first`: the place in the table of distances of its lower left corner, if distances matter.
    """

    batch: tuple[int, int]
    rows: tuple[int, int]
    columns: tuple[int, int]
    flag: bool = False
    again: bool = False
    open: bool = False
    first: int | None = None
    heads: tuple[int, int] | None = None

    @property
    def of_heads(self) -> slice:
        return slice(None) if self.heads is None else slice(*self.heads)

    @property
    def of_queries(self) -> tuple[slice, slice, slice]:
        return slice(*self.batch), self.of_heads, slice(*self.rows)

    @property
    def of_keys(self) -> tuple[slice, slice, slice]:
        return slice(*self.batch), self.of_heads, slice(*self.columns)

    @property
    def pairs(self) -> int:
        """Pairs of one head that the kernel visits."""
        rows, columns = self.rows[1] - self.rows[0], self.columns[1] - self.columns[0]
        return (self.batch[1] - self.batch[0]) * rows * columns // (2 if self.flag else 1)


@dataclass(frozen=True, eq=False)
class Plan:
    """
    How a call is computed: its pieces, and what is added to their scores.

    * `table` `[1 or H, T]`: numbers to add by distance; in a piece, row r counted from the last one back and column c read
      place `first + r + c`;
    * `added`: a function that gives the numbers of a piece, `[b,h,r,c]`, for whatever a table cannot say;
    * `known`: output and lse, where only the derivatives are wanted.

    At most one of table and function is there. With a table, rows go through the kernel with the last one first, as they read it.
    """

    pieces: tuple[Piece, ...]
    table: Tensor | None = None
    added: Callable[[Piece], Tensor | None] | None = None
    known: tuple[Tensor, Tensor] | None = None

    def turned(self, rows: Tensor) -> Tensor:
        """Rows of a piece in the order in which they go through the kernel, and back."""
        return rows if self.table is None else rows.flip(2)

    def rows(self, heads: int) -> int:
        """Rows of all sequences and heads that stand in a piece."""
        count = 0
        for piece in self.pieces:
            own = heads if piece.heads is None else piece.heads[1] - piece.heads[0]
            count += 0 if piece.again else own * (piece.batch[1] - piece.batch[0]) * (piece.rows[1] - piece.rows[0])
        return count

    def extra(self, piece: Piece, table: Tensor | None) -> Tensor | None:
        """What is added to the scores of a piece."""
        if piece.first is None or table is None:
            return None if self.added is None else self.added(piece)
        # Every row of the piece is the row below it, shifted by one. So, with the last row first, the piece is a view of the table in
        # which the step to the next row and the step to the next column are the same, and no number is stored twice.
        rows, columns = piece.rows[1] - piece.rows[0], piece.columns[1] - piece.columns[0]
        table = table if table.shape[0] == 1 else table[piece.of_heads]
        strides = (0, table.stride(0), 1, 1)
        return table.as_strided((1, table.shape[0], rows, columns), strides, table.storage_offset() + piece.first)


def run_plan(
    query: Tensor, key: Tensor, value: Tensor, plan: Plan, sinks: Tensor | None, scale: float
) -> tuple[Tensor, Tensor]:
    """
    Output `[B,H,I,E]` and lse `[B,H,I]` of all pieces, differentiable once; rows without any piece give 0.

    `sinks` `[H,S]` are logits that join the denominator of each row of their head.
    """
    output, lse = Pieces.apply(query, key, value, plan.table, sinks, plan, scale)  # type: ignore[no-untyped-call]
    return output, lse


class Pieces(torch.autograd.Function):
    """All pieces forward, and all pieces again backward."""

    @staticmethod
    def forward(
        query: Tensor,
        key: Tensor,
        value: Tensor,
        table: Tensor | None,
        sinks: Tensor | None,
        plan: Plan,
        scale: float,
    ) -> tuple[Tensor, Tensor]:
        if plan.known is not None:
            return plan.known
        wide = torch.promote_types(query.dtype, torch.float32)
        # The kernel writes the heads of a token side by side; in the same order a piece is copied in one go.
        batch, heads, rows_I, features = query.shape
        output = query.new_empty(batch, rows_I, heads, features).transpose(1, 2)
        lse = query.new_empty(batch, rows_I, heads, dtype=wide).transpose(1, 2)
        if plan.rows(query.shape[1]) < lse.numel():
            output.zero_(), lse.fill_(-torch.inf)
        merges = any(piece.again for piece in plan.pieces)
        for piece in plan.pieces:
            rows, columns = piece.of_queries, piece.of_keys
            extra = plan.extra(piece, table)
            new, new_lse = kernel(plan.turned(query[rows]), key[columns], value[columns], extra, piece.flag, scale)
            if merges and extra is not None:
                # The kernel's lse of a row that sees nothing here is 0, which would count as a key in the merged row.
                new_lse = new_lse.masked_fill(extra.isneginf().all(-1), -torch.inf)
            new, new_lse = plan.turned(new), plan.turned(new_lse)
            if piece.again:
                new, new_lse = merge(output[rows], lse[rows], new, new_lse)
            output[rows], lse[rows] = new, new_lse
        if merges:
            # In the backward pass the weights of a row without keys are $e^{-\infty - \text{lse}}$, which is 0 for a finite lse.
            lse.masked_fill_(lse.isneginf(), 0.0)
        if sinks is not None:
            # A sink is one more key without a value: it takes its share of the row, and gives nothing.
            total = torch.logaddexp(lse, sinks.to(wide).logsumexp(1)[:, None])
            output *= (lse - total).exp()[..., None]
            lse = total
        return output, lse

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
        *tensors, ctx.plan, ctx.scale = inputs
        ctx.save_for_backward(*tensors, *output)
        ctx.set_materialize_grads(False)

    @staticmethod
    def backward(ctx: Any, grad: Tensor | None, grad_lse: Tensor | None) -> tuple[Any, ...]:
        query, key, value, table, sinks, output, lse = ctx.saved_tensors
        with torch.no_grad():
            grad = torch.zeros_like(output) if grad is None else grad
            grads = backward(query, key, value, table, output, lse, grad, grad_lse, ctx.plan, ctx.scale)
            by_sink = None if sinks is None else sink_gradients(grad, grad_lse, output, lse, sinks)
        anchors = (query, key, value, table, sinks, grad, grad_lse)
        return (*first_order("blockwise", (*grads, by_sink), *anchors), None, None)

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Any:
        raise refuse("blockwise")


def sink_gradients(grad: Tensor, grad_lse: Tensor | None, output: Tensor, lse: Tensor, sinks: Tensor) -> Tensor:
    """Gradients of the sinks `[H,S]`: a sink moves the outputs of its head by its weight, all of them towards 0."""
    weights_BHIS = (sinks[:, None].to(lse.dtype) - lse[..., None]).exp()
    rest_BHI = -(grad * output).sum(-1, dtype=lse.dtype)
    rest_BHI = rest_BHI if grad_lse is None else rest_BHI + grad_lse
    return torch.einsum("bhis,bhi->hs", weights_BHIS, rest_BHI).to(sinks.dtype)


def merge(output: Tensor, lse: Tensor, new: Tensor, new_lse: Tensor) -> tuple[Tensor, Tensor]:
    """Two results of the same queries over different keys, as one."""
    total = torch.logaddexp(lse, new_lse)
    lse, new_lse = (part - total.nan_to_num(neginf=0.0) for part in (lse, new_lse))
    merged = output * lse.exp()[..., None] + new * new_lse.exp()[..., None]
    return merged.to(output.dtype), total


def backward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    table: Tensor | None,
    output: Tensor,
    lse: Tensor,
    grad: Tensor,
    grad_lse: Tensor | None,
    plan: Plan,
    scale: float,
) -> tuple[Tensor | None, ...]:
    """Gradients of query, key, value and table: the shares of all pieces, added up."""
    learns = table is not None and table.requires_grad
    grads = Gradients.zeros(query, key, value, table if learns else None)
    for piece in plan.pieces:
        columns, extra = piece.of_keys, plan.extra(piece, table)
        by_output, of_query, mixed, sums = (plan.turned(t[piece.of_queries]) for t in (grad, query, output, lse))
        by_lse = None if grad_lse is None else plan.turned(grad_lse[piece.of_queries])
        operands = (of_query, key[columns], value[columns])
        if learns and extra is not None:
            assert grads.table is not None and piece.first is not None, "a table is read by place"
            shares = score_gradients(by_output, *operands, mixed, sums, extra, scale, by_lse)
            places = slice(piece.first, piece.first + shares.by_place.shape[1])
            grads.table[piece.of_heads if grads.table.shape[0] > 1 else slice(None), places] += shares.by_place
            grads.add(piece, plan.turned(shares.query), shares.key, shares.value)
            continue
        by_query, by_key, by_value = kernel_backward(by_output, *operands, mixed, sums, extra, piece.flag, scale)
        grads.add(piece, plan.turned(by_query), by_key, by_value)
        if by_lse is not None:
            by_query, by_key = lse_gradients(by_lse, *operands[:2], sums, extra, piece.flag, scale)
            grads.add(piece, plan.turned(by_query), by_key)
    by_table = None if grads.table is None or table is None else grads.table.to(table.dtype)
    return grads.query, grads.key.to(key.dtype), grads.value.to(value.dtype), by_table


@dataclass(eq=False)
class Gradients:
    """Sums of the shares of the pieces. Keys stand in many pieces, so their sums have at least float32."""

    query: Tensor
    key: Tensor
    value: Tensor
    table: Tensor | None

    @classmethod
    def zeros(cls, query: Tensor, key: Tensor, value: Tensor, table: Tensor | None) -> "Gradients":
        wide = torch.promote_types(query.dtype, torch.float32)
        return cls(
            torch.zeros_like(query),
            torch.zeros_like(key, dtype=wide),
            torch.zeros_like(value, dtype=wide),
            None if table is None else torch.zeros_like(table),
        )

    def add(self, piece: Piece, query: Tensor, key: Tensor, value: Tensor | None = None) -> None:
        """Add the share of a piece."""
        self.query[piece.of_queries] += query
        self.key[piece.of_keys] += key
        if value is not None:
            self.value[piece.of_keys] += value


def lse_gradients(
    grad_lse: Tensor, query: Tensor, key: Tensor, lse: Tensor, extra: Tensor | None, flag: bool, scale: float
) -> tuple[Tensor, Tensor]:
    """
    Gradients of query and key through the lse.

    $\\partial \\text{lse}_i / \\partial q_i$ is the mean of the keys under the weights: attention with the keys as values.
    $\\partial \\text{lse}_i / \\partial k_j$ is the weight times $q_i$: the gradient that values get from $q_i$.
    """
    mixed, own = kernel(query, key, key, extra, flag, scale)
    by_query = grad_lse[..., None].to(query.dtype) * scale
    share = (own - lse).exp()[..., None].to(query.dtype)
    _, _, grad_key = kernel_backward(query * by_query, query, key, key, mixed, lse, extra, flag, scale)
    return mixed * share * by_query, grad_key
