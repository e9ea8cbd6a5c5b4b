"""
---
title: Rectangles
summary: Masks that are a few blocks of pairs, as documents are.
---
"""

from typing import NamedTuple

from torch import Tensor


class Rectangle(NamedTuple):
    """All pairs of these sequences, rows and columns, each `[start, stop)`. Rows count queries in their tensor, columns are key slots."""

    batch: tuple[int, int]
    rows: tuple[int, int]
    columns: tuple[int, int]


def intersect(left: tuple[Rectangle, ...], right: tuple[Rectangle, ...]) -> tuple[Rectangle, ...]:
    """What lies in a rectangle of both."""
    found = (
        Rectangle(*(overlap(one, other) for one, other in zip(first, second, strict=True)))
        for first in left
        for second in right
    )
    return tuple(rectangle for rectangle in found if all(start < stop for start, stop in rectangle))


def overlap(one: tuple[int, int], other: tuple[int, int]) -> tuple[int, int]:
    """What two stretches share; empty if they share nothing."""
    return max(one[0], other[0]), min(one[1], other[1])


def runs_of(numbers: Tensor) -> list[list[tuple[int, int, int]]]:
    """For each row of `[B,L]`: its stretches of equal numbers, as (number, start, stop)."""
    changes = (numbers[:, 1:] != numbers[:, :-1]).cpu()
    found = []
    for row, changed in zip(numbers, changes, strict=True):
        starts = [0, *(place + 1 for place in changed.nonzero()[:, 0].tolist())] if len(row) else []
        stops = [*starts[1:], len(row)]
        found += [list(zip(row[starts].tolist(), starts, stops, strict=True))]
    return found


def stacked(rectangles: list[Rectangle]) -> tuple[Rectangle, ...]:
    """The rectangles, those of equal rows and columns in neighbouring sequences joined."""
    joined: dict[tuple[tuple[int, int], tuple[int, int]], list[tuple[int, int]]] = {}
    for batch, rows, columns in rectangles:
        stretches = joined.setdefault((rows, columns), [])
        if stretches and stretches[-1][1] == batch[0]:
            stretches[-1] = (stretches[-1][0], batch[1])
        else:
            stretches.append(batch)
    return tuple(
        Rectangle(batch, rows, columns) for (rows, columns), stretches in joined.items() for batch in stretches
    )
