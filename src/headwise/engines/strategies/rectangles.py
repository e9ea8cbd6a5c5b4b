"""
---
title: Strategy rectangles
summary: Documents, padding, windows and biases by distance, as rectangles through the fused kernel.
---

# Rectangles and distances

What a mask says of *slots* (documents, padding) often leaves a few rectangles. What it says of *distances* (causal order, windows), and
what biases add by distance, is one vector, the **table**: place $t$ of it belongs to all pairs whose row and column add up to $t$,
with rows counted from the last query back.

So a call becomes a list of pieces, in one of two ways:

1. without biases and with a band that is open to one side, a rectangle is at most two pieces, and the kernel's causal flag does the rest;
2. otherwise each rectangle is cut into blocks of rows, each over the columns inside the band only, and each reads a view of the table.
"""

from collections.abc import Iterator

import torch
from torch import Tensor

from headwise.call import Call
from headwise.engines.base import Cost
from headwise.engines.pieces import Piece, Plan
from headwise.engines.strategies.base import Known
from headwise.engines.strategies.folded import ROWS, interior, run_folded
from headwise.engines.strategies.kernel import additive, plan_cost, run_kernel, why_not_kernel
from headwise.engines.strategies.underflow import without_underflow
from headwise.engines.summary import MEMORY, key_of
from headwise.mask.rectangle import Rectangle, intersect, runs_of, stacked

# Rows of a block that reads the table. Few rows waste little beside a narrow band; many rows read the keys less often; where a table
# learns, scores are written out, and have to stay in the cache.
NARROW_ROWS, LEARNED_ROWS, WIDE_ROWS = 64, 96, 256
# Bands up to this width are narrow.
NARROW = 1024
# Heads that reach less than this share of the keys are computed by themselves.
WORTHWHILE = 0.75
# So many rectangles are never too many.
MANY = 64


class Rectangles:
    """Pieces of the fused kernel; nothing is stored for a pair."""

    name = "rectangles"

    def why_not(self, call: Call) -> str | None:
        reason = why_not_kernel(call)
        if reason is not None:
            return reason
        one = torch.zeros(1, dtype=torch.long, device=call.query.device)
        for part in additive(call):
            if part.by_distance(one) is None:
                return f"{type(part).__name__} adds more than a number for each distance"
        if call.grid.shift is None and (call.facts.low is not None or call.facts.high is not None or additive(call)):
            return "positions are tensors, so distances are no vector"
        found = rectangles_of(call)
        if found is None:
            return "the mask is more than a few rectangles and a band"
        if len(found) > MANY + call.grid.batch * call.grid.queries // NARROW_ROWS:
            return f"the mask is {len(found)} rectangles, each smaller than what starting the kernel costs"
        return None

    def cost(self, call: Call) -> Cost:
        extra = 4 * call.grid.heads * (call.grid.queries + call.grid.keys) if needs_table(call) else 0
        return plan_cost(call, Plan(tuple(pieces_of(call))), extra, self.name)

    def run(self, call: Call, known: Known | None = None) -> tuple[Tensor, Tensor]:
        pieces = tuple(pieces_of(call))
        if not needs_table(call):
            return run_kernel(call, Plan(pieces), known)
        inside = interior(call) if is_narrow(call) else None
        if inside is not None:
            first, blocks = inside
            whole = (0, call.grid.batch), (0, call.grid.keys)
            ends = ((0, first), (first + blocks * ROWS, call.grid.queries))
            border = [piece for rows in ends for piece in by_rows(call, Rectangle(whole[0], rows, whole[1]))]
            if Plan(tuple(border)).rows(1) == (call.grid.queries - blocks * ROWS) * call.grid.batch:
                return run_folded(call, inside, tuple(border), make_table(call))
        table = make_table(call)
        return run_kernel(call, Plan(tuple(piece for near in nearer(call, table) for piece in near), table), known)


def rectangles_of(call: Call) -> tuple[Rectangle, ...] | None:
    """The rectangles that slots leave, or None if they are not a few; found once for a mask that stays the same."""
    if call.facts.keep is None and call.facts.rest is None:
        return find_rectangles(call)
    key, tensors = key_of(call, "rectangles")
    remembered = None if key is None else MEMORY.get(key, tensors)
    if remembered is not None:
        return remembered[0]
    found = find_rectangles(call)
    if key is not None:
        MEMORY.put(key, tensors, (found,))
    return found


def find_rectangles(call: Call) -> tuple[Rectangle, ...] | None:
    """What keep flags and the rest of the mask say, met."""
    grid, facts = call.grid, call.facts
    found: tuple[Rectangle, ...] | None = (Rectangle((0, grid.batch), (0, grid.queries), (0, grid.keys)),)
    if facts.keep is not None:
        found = kept(facts.keep, grid.queries)
    if found is not None and facts.rest is not None:
        others = facts.rest.rectangles(grid)
        found = None if others is None else intersect(found, others)
    return found


def kept(keep: Tensor, queries: int) -> tuple[Rectangle, ...] | None:
    """All queries over the one stretch of tokens that each sequence keeps; None if a sequence keeps several."""
    found = []
    for batch, runs in enumerate(runs_of(keep)):
        tokens = [(start, stop) for number, start, stop in runs if number]
        if len(tokens) > 1:
            return None
        found += [Rectangle((batch, batch + 1), (0, queries), run) for run in tokens]
    return stacked(found)


def needs_table(call: Call) -> bool:
    """Is there anything by distance that the causal flag cannot say?"""
    return call.facts.high is not None or bool(additive(call))


def make_table(call: Call) -> Tensor:
    """Numbers to add by place `[1 or H, T]`: the biases, and $-\\infty$ outside of the band."""
    grid, facts = call.grid, call.facts
    assert grid.shift is not None, "distances run on evenly"
    distance = grid.shift + grid.queries - 1 - torch.arange(grid.queries + grid.keys - 1, device=grid.device)
    wide = torch.promote_types(call.query.dtype, torch.float32)
    table = torch.zeros(1, len(distance), dtype=wide, device=grid.device)
    for part in additive(call):
        bias = part.by_distance(distance)
        assert bias is not None, "why_not has asked"
        table = table + bias.to(wide)
    hidden = torch.zeros_like(distance, dtype=torch.bool)
    if facts.low is not None:
        hidden = hidden | (distance < facts.low)
    if facts.high is not None:
        hidden = hidden | (distance >= facts.high)
    return without_underflow(call, table.masked_fill(hidden, -torch.inf))


def pieces_of(call: Call) -> Iterator[Piece]:
    """The pieces of all rectangles."""
    rectangles = rectangles_of(call)
    assert rectangles is not None, "why_not has asked"
    cut = by_rows if needs_table(call) else by_flag
    for rectangle in rectangles:
        yield from cut(call, rectangle)


def by_flag(call: Call, rectangle: Rectangle) -> Iterator[Piece]:
    """A rectangle under a band that is open behind: the columns that all rows see, then those below the diagonal."""
    batch, (top, bottom), (left, right) = rectangle
    low, shift = call.facts.low, call.grid.shift
    # Row r of the rectangle sees columns up to `r + lead`.
    lead = right - left if low is None or shift is None else shift + top - left - low
    if lead >= right - left - 1:
        yield Piece(batch, (top, bottom), (left, right))
        return
    top, lead = top + max(0, -lead), max(0, lead)
    right = min(right, left + lead + bottom - top)
    if top >= bottom:
        return
    if lead > 0:
        yield Piece(batch, (top, bottom), (left, left + lead))
    yield Piece(batch, (top, bottom), (left + lead, right), flag=True, again=lead > 0)


def by_rows(
    call: Call, rectangle: Rectangle, heads: tuple[int, int] | None = None, reach: int | None = None
) -> Iterator[Piece]:
    """A rectangle in blocks of rows, each over the columns of its band, and no farther than these heads reach."""
    batch, (top, bottom), (left, right) = rectangle
    grid, facts = call.grid, call.facts
    assert grid.shift is not None, "distances run on evenly"
    rows = rows_of_a_block(call)
    for start in range(top, bottom, rows):
        stop = min(start + rows, bottom)
        # The distances of the first and of the last of these rows to column 0.
        nearest, farthest = grid.shift + start, grid.shift + stop - 1
        first = left if facts.high is None else max(left, nearest - facts.high + 1)
        first = first if reach is None else max(first, nearest - reach)
        last = right if facts.low is None else min(right, farthest - facts.low + 1)
        if first < last:
            yield Piece(batch, (start, stop), (first, last), first=grid.queries - stop + first, heads=heads)


def nearer(call: Call, table: Tensor) -> Iterator[Iterator[Piece]]:
    """The pieces of groups of heads, each over the distances that its row of the table leaves."""
    rectangles = rectangles_of(call)
    assert rectangles is not None and call.grid.shift is not None, "why_not has asked"
    reaches = [None] if table.shape[0] == 1 or call.group_size > 1 else reach_of(call, table)
    start = 0
    for stop in range(1, len(reaches) + 1):
        # Neighbouring heads that reach equally far go through the kernel together.
        if stop < len(reaches) and reaches[stop] == reaches[start]:
            continue
        heads = None if len(set(reaches)) == 1 else (start, stop)
        for rectangle in rectangles:
            yield by_rows(call, rectangle, heads, reaches[start])
        start = stop


def reach_of(call: Call, table: Tensor) -> list[int | None]:
    """For each head the farthest distance that has a weight, if that is much less than the keys."""
    grid = call.grid
    assert grid.shift is not None, "distances run on evenly"
    # Places stand for falling distances: the first finite one is the farthest.
    nearest_places = (table > -torch.inf).int().argmax(1).tolist()
    reaches = [grid.shift + grid.queries - 1 - place for place in nearest_places]
    return [reach if reach < WORTHWHILE * grid.keys else None for reach in reaches]


def rows_of_a_block(call: Call) -> int:
    """Few rows beside a narrow band, and where scores are written out for a gradient."""
    if is_narrow(call):
        return NARROW_ROWS
    one = torch.zeros(1, dtype=torch.long, device=call.query.device)
    learns = torch.is_grad_enabled() and any(
        (bias := part.by_distance(one)) is not None and bias.requires_grad for part in additive(call)
    )
    return LEARNED_ROWS if learns else WIDE_ROWS


def is_narrow(call: Call) -> bool:
    """Is the band narrow?"""
    low, high = call.facts.low, call.facts.high
    return low is not None and high is not None and high - low <= NARROW
