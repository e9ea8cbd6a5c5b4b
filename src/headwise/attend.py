"""
---
title: Attend
summary: The one submodule through which every call of a layer goes.
---
"""

from dataclasses import replace
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from headwise.call import Call
from headwise.engines.choose import choose, named
from headwise.reference import attention_steps


class Attend(nn.Module):
    """
    Runs a `Call` on its engine. It has no parameters; it is a module so that whoever wants to see the calls of a layer, such as a
    recording, can hook it.
    """

    def __init__(self, engine: str = "auto") -> None:
        super().__init__()
        if engine != "auto":
            named(engine)
        self.engine = engine

    def forward(self, call: Call) -> Any:
        """The output `[B,H,I,E]`; with the lse `[B,H,I]`, if the call asks for it, as a recording lets it do."""
        result = choose(call, self.engine).run(call)
        return (result.output, result.lse) if call.return_lse else result.output

    def extra_repr(self) -> str:
        return f"engine={self.engine!r}"


@torch.no_grad()
def weights_of(call: Call) -> Float[Tensor, "B H I J"]:
    """The weights of a call, computed again by the definition: detached, and before dropout."""
    return attention_steps(replace(call, dropout=0.0)).weights
