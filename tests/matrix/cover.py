"""Combinations of many axes: some in which every pair of values occurs, or all of them."""

import itertools
import random

Cell = dict[str, str]


def pairs_of(axes):
    """Every pair of values of two different axes."""
    names = list(axes)
    return {
        ((one, a), (two, b))
        for one, two in itertools.combinations(names, 2)
        for a, b in itertools.product(axes[one], axes[two])
    }


def pairwise(axes: dict[str, list[str]], seed: int = 0) -> list[Cell]:
    """
    Few cells, in which each value of each axis meets each value of every other axis at least once.

    Faults of combinations nearly always need two values; three rarely. Greedy: a cell begins with a pair that is still missing, and each
    further axis takes the value that meets most that it has not met yet.
    """
    order = random.Random(seed)
    missing = dict.fromkeys(sorted(pairs_of(axes)))
    cells = []
    while missing:
        cell = dict(next(iter(missing)))
        rest = [name for name in axes if name not in cell]
        order.shuffle(rest)
        for name in rest:
            values = list(axes[name])
            order.shuffle(values)
            cell[name] = max(values, key=lambda value: sum(pair in missing for pair in met(axes, cell, name, value)))
        for pair in itertools.combinations([(name, cell[name]) for name in axes], 2):
            missing.pop(pair, None)
        cells.append({name: cell[name] for name in axes})
    return cells


def met(axes, cell, name, value):
    """The pairs of this value with what the cell holds so far, each in the order of the axes."""
    names = list(axes)
    for other, chosen in cell.items():
        pair = ((other, chosen), (name, value))
        yield pair if names.index(other) < names.index(name) else pair[::-1]


def product(axes: dict[str, list[str]], whole: tuple[str, ...], seed: int = 0) -> list[Cell]:
    """All combinations of the axes `whole`; the values of the other axes are drawn anew for each."""
    order = random.Random(seed)
    cells = []
    for values in itertools.product(*(axes[name] for name in whole)):
        chosen = dict(zip(whole, values, strict=True))
        cells.append({name: chosen.get(name) or order.choice(axes[name]) for name in axes})
    return cells
