"""
---
title: Choosing an engine
summary: A named engine runs or refuses; "auto" takes the cheapest that can.
---
"""

from headwise.call import Call
from headwise.engines import ENGINES
from headwise.engines.base import Engine
from headwise.errors import ArgumentError, EngineRefused


def choose(call: Call, name: str = "auto") -> Engine:
    """
    The engine that runs the call.

    A named engine is returned if it has no reason against the call, and otherwise refuses with all its reasons. `"auto"` takes the
    cheapest one without reasons; the definition runs everything, so there always is one.
    """
    if name == "auto":
        able = [engine for engine in ENGINES.values() if not engine.why_not(call)]
        return able[0] if len(able) == 1 else min(able, key=lambda engine: engine.cost(call))
    engine = named(name)
    reasons = engine.why_not(call)
    if reasons:
        raise EngineRefused(
            f"engine '{name}' cannot run this call: {'; '.join(reasons)}. Usual fix: engine='auto', or see explain(...) for those that can."
        )
    return engine


def named(name: str) -> Engine:
    """The engine of that name."""
    if name not in ENGINES:
        raise ArgumentError(
            f"engine must be 'auto' or one of {', '.join(ENGINES)}; got {name!r}. Usual fix: leave it away for 'auto'."
        )
    return ENGINES[name]
