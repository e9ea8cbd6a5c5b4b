"""
---
title: Choosing an engine
summary: A named engine runs or refuses; "auto" takes the cheapest that can.
---
"""

from headwise.call import Call
from headwise.engines import ENGINES
from headwise.engines.base import Cost, Engine
from headwise.errors import ArgumentError, EngineRefused


def choose(call: Call, name: str = "auto") -> Engine:
    """
    The engine that runs the call.

    A named engine is returned if it has no reason against the call, and otherwise refuses with all its reasons. `"auto"` takes the
    cheapest one without reasons; the definition runs everything, so there always is one.
    """
    if name == "auto":
        return cheapest(call)
    engine = named(name)
    reasons = engine.why_not(call)
    if reasons:
        raise EngineRefused(
            f"engine '{name}' cannot run this call: {'; '.join(reasons)}. Usual fix: engine='auto', or see explain(...) for those that can."
        )
    return engine


def cheapest(call: Call) -> Engine:
    """The cheapest engine that can run the call."""
    best: tuple[Cost, Engine] | None = None
    for engine in ENGINES.values():
        if engine.why_not(call):
            continue
        cost = engine.cost(call)
        # Engines stand in the order of their speed: one that needs no memory of its own cannot be beaten by those behind it.
        if cost.extra_bytes == 0:
            return engine
        if best is None or cost < best[0]:
            best = (cost, engine)
    assert best is not None, "the definition runs every call"
    return best[1]


def named(name: str) -> Engine:
    """The engine of that name."""
    if name not in ENGINES:
        raise ArgumentError(
            f"engine must be 'auto' or one of {', '.join(ENGINES)}; got {name!r}. Usual fix: leave it away for 'auto'."
        )
    return ENGINES[name]
