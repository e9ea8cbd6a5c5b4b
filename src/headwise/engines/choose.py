"""
---
title: Choosing an engine
summary: A named engine runs or refuses; "auto" takes the cheapest that can.
---
"""

import torch

from headwise.call import Call
from headwise.engines import ENGINES
from headwise.engines.base import Cost, Engine
from headwise.engines.compiler import why_no_compiler
from headwise.engines.operator import write_call
from headwise.engines.setting import SETTING
from headwise.errors import ArgumentError, EngineRefused

# Engines that can stand in a graph of torch.compile, the faster one at small sizes first.
TRACED = ("sdpa", "flex", "reference", "blockwise")
# An exported graph runs elsewhere, where there are no operators of headwise.
EXPORTED = ("sdpa", "reference")

TOO_MUCH = "it needs extra memory that is quadratic in the sequence, which strict() forbids"


def choose(call: Call, name: str = "auto") -> Engine:
    """
    The engine that runs the call.

    `"auto"` is the engine of `use_engine`, if there is one. A named engine is returned if it has no reason against the call, and
    otherwise refuses with all its reasons. Without a name it is the cheapest one without reasons; the definition runs everything, so
    there always is one.
    """
    if name == "auto":
        name = SETTING.engine
    if name == "auto":
        return traced(call) if torch.compiler.is_compiling() else cheapest(call)
    engine = named(name)
    reasons = engine.why_not(call)
    if not reasons and SETTING.strict and engine.cost(call).quadratic:
        reasons = [TOO_MUCH]
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
    if SETTING.strict and best[0].quadratic:
        raise EngineRefused(
            f"inside of strict() no engine may take memory that is quadratic in the sequence; the cheapest, '{best[1].name}', needs "
            f"{best[0].extra_bytes:,} bytes. Usual fix: see explain(...) for what keeps the others from it."
        )
    return best[1]


def traced(call: Call) -> Engine:
    """
    The engine for a call inside of a graph: the first one that takes no memory of all pairs, or else the first one that can run it.

    While a graph is made the lengths are symbols, and the graph serves all of them; which engine is fastest would depend on them. The
    memory depends on them, too, but in one place only: a model that meets short and long sequences gets two graphs, not one for each length.
    """
    able = [ENGINES[name] for name in (EXPORTED if torch.compiler.is_exporting() else TRACED) if in_graph(name, call)]
    # Blockwise is made for CPUs: elsewhere it stands in only where strict() asks for it, or nothing else can run the call.
    if SETTING.strict or call.query.device.type == "cpu":
        for engine in able:
            if not engine.cost(call).quadratic:
                return engine
    if SETTING.strict:
        raise EngineRefused(
            f"inside of strict() no engine may take memory that is quadratic in the sequence; while compiling, this call can be run by "
            f"{' and '.join(engine.name for engine in able)} only, which do. Usual fix: leave attention out of the graph."
        )
    return able[0]


def in_graph(name: str, call: Call) -> bool:
    """Can the engine run this call in one graph?"""
    if ENGINES[name].why_not(call):
        return False
    return name != "blockwise" or write_call(call)[0] is not None


def check_compiled(name: str) -> None:
    """Can the engine compile steps of its own on this machine?"""
    if name not in ("auto", "blockwise"):
        raise EngineRefused(
            f"compiled=True is for the engine 'blockwise' (or 'auto', which may take it); got {name!r}. "
            "Usual fix: torch.compile around the model, which the engines 'sdpa' and 'reference' support."
        )
    reason = why_no_compiler()
    if reason is not None:
        raise EngineRefused(
            f"compiled=True needs what torch.compile needs, and {reason}. Usual fix: install a C++ compiler and Python's headers, "
            "or leave compiled away."
        )


def named(name: str) -> Engine:
    """The engine of that name."""
    if not isinstance(name, str) or name not in ENGINES:
        raise ArgumentError(
            f"engine must be 'auto' or one of {', '.join(ENGINES)}; got {name!r}. Usual fix: leave it away for 'auto'."
        )
    return ENGINES[name]
