"""
---
title: Engines by name
summary: Who computes a call, in the order of preference.
---

# Engines: how a call is computed

The four questions say *what* attention computes; an engine decides *how*, and never changes the answer beyond rounding. Each engine
says why it cannot run a call, what the call would cost it, and then runs it. `"auto"` takes the cheapest one without reasons; one that
you name runs or refuses.

Read [what an engine is](base.py) first, then [the definition as an engine](reference.py), [PyTorch's kernel](sdpa.py) and
[any mask and score in blocks](blockwise.py), which stands in a compiled graph as [one node](operator.py). A new engine is one file and one
entry below, in the order in which engines are listed and, at equal cost, preferred.
"""

from headwise.engines.base import Engine
from headwise.engines.blockwise import Blockwise
from headwise.engines.flash import Flash
from headwise.engines.flex import Flex
from headwise.engines.reference import Reference
from headwise.engines.sdpa import Sdpa

ENGINES: dict[str, Engine] = {engine.name: engine for engine in (Sdpa(), Blockwise(), Flex(), Flash(), Reference())}
