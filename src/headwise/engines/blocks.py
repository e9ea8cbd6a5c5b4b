"""
---
title: Blocks
summary: How the queries are cut into blocks, and which keys a block can see.
---
"""

from headwise.call import Call
from headwise.grid import Grid
from headwise.mask.base import Facts

# Scores of one block: enough to keep the matrix products busy, few enough to stay in the cache.
BLOCK_SCORES = 2**19
# Rows of a block at least, so that many heads or keys do not leave blocks of single rows.
LEAST_ROWS = 16


def row_blocks(call: Call) -> list[tuple[int, int]]:
    """Cut the queries into blocks `[start, stop)` of a bounded number of scores."""
    grid = call.grid
    rows = max(LEAST_ROWS, BLOCK_SCORES // max(1, grid.batch * grid.heads * grid.keys))
    return [(start, min(start + rows, grid.queries)) for start in range(0, grid.queries, rows)]


def band_columns(facts: Facts, grid: Grid, rows: tuple[int, int]) -> tuple[int, int]:
    """Columns `[start, stop)` outside of which the band hides every pair of these rows; all keys where positions are tensors."""
    if grid.shift is None:
        return (0, grid.keys)
    # Row r and column c are `shift + r - c` apart; `low <= distance < high` solved for c.
    first, last = grid.shift + rows[0], grid.shift + rows[1] - 1
    start = 0 if facts.high is None else min(max(0, first - facts.high + 1), grid.keys)
    stop = grid.keys if facts.low is None else min(max(start, last - facts.low + 1), grid.keys)
    return (start, stop)
