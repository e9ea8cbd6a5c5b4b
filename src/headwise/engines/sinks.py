"""
---
title: Sinks, afterwards
summary: A sink in the denominator, put in after a kernel that knows nothing of it.
---

# A sink, put in afterwards

A kernel without sinks returns the output $o$ and the lse $l$, the logarithm of its denominator. With a sink of logit $t$ the
denominator is $e^l + e^t$, so each weight, and with them the output, shrinks by the same factor:

$$o \\cdot \\frac{e^l}{e^l + e^t} = o \\cdot \\sigma(l - t)$$
"""

from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor

from headwise.call import Call
from headwise.engines.base import Output
from headwise.reference import widen
from headwise.score.base import SinkScore


def add_sinks(call: Call, sinks_HS: Tensor, run: Callable[[Call], Output]) -> Output:
    """Run the call without its sinks, with lse, and put the sinks in."""
    others = tuple(part for part in call.score if not isinstance(part, SinkScore))
    output, lse_BHI = run(replace(call, score=others, return_lse=True))
    assert lse_BHI is not None, "the lse was asked for"
    # Several sinks of a head are one whose weight is their sum.
    sink_BHI = widen(sinks_HS).to(lse_BHI.dtype).logsumexp(-1)[None, :, None].expand_as(lse_BHI)
    shrunk = (output * torch.sigmoid(lse_BHI - sink_BHI)[..., None]).to(output.dtype)
    if not call.return_lse:
        return Output(shrunk, None)
    # A query without keys keeps its lse of $-\infty$.
    return Output(shrunk, torch.where(lse_BHI == -torch.inf, lse_BHI, torch.logaddexp(lse_BHI, sink_BHI)))
