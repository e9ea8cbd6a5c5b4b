"""
---
title: Settings of a stretch of code
summary: use_engine and strict: which engine calls take, and what memory they may use.
---

# For a stretch of code

Which engine runs is a matter of the machine, not of the model, so it can be said from outside, for every call in a `with` block:

```python
>>> query, key, value = (torch.randn(1, 2, 5, 8) for _ in range(3))
>>> with use_engine("reference"), strict():
...     attention(query, key, value).shape
torch.Size([1, 2, 5, 8])
```

The setting is one plain variable, which the context manager puts back; it is shared by all threads. (A `ContextVar` would
break the graphs of `torch.compile`.)
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass
class Setting:
    """The engine of calls that ask for `"auto"`, whether quadratic memory is forbidden, and whether blockwise compiles the steps of a block."""

    engine: str = "auto"
    strict: bool = False
    compiled: bool = False


SETTING = Setting()


@contextmanager
def use_engine(engine: str, *, compiled: bool = False) -> Iterator[None]:
    """
    Calls inside take this engine, unless they name one themselves.

    * `compiled`: let `torch.compile` join the steps that the engine blockwise takes between its products, for scores that are functions.
      The first call with a function takes some seconds.

    *Errors*: a call that the engine cannot run raises `EngineRefused`, as if it had named it; so does `compiled=True` for another engine,
    or without a compiler.
    """
    from headwise.engines.choose import check_compiled, named

    if engine != "auto":
        named(engine)
    if compiled:
        check_compiled(engine)
    before = SETTING.engine, SETTING.compiled
    SETTING.engine, SETTING.compiled = engine, compiled
    try:
        yield
    finally:
        SETTING.engine, SETTING.compiled = before


@contextmanager
def strict() -> Iterator[None]:
    """
    Calls inside may not use extra memory that grows with queries times keys.

    *Errors*: `EngineRefused`, where no engine can do without. What the caller holds already, such as a dense mask, does not count,
    and neither do matrices of less than 4 MB. While `torch.compile` makes a graph, engines are held to the same.
    """
    before, SETTING.strict = SETTING.strict, True
    try:
        yield
    finally:
        SETTING.strict = before
