"""
---
title: Engine sdpa
summary: PyTorch's fused kernel, with the facts of the mask turned into its arguments.
---

# PyTorch's fused kernel

`torch.nn.functional.scaled_dot_product_attention` computes plain attention without storing the scores. It takes a
causal flag, or a mask, or numbers to add to the scores. This engine [turns the parts of a call into those](sdpa_arguments.py), and
refuses what they cannot say.

Three habits of the kernel are put right here: its causal flag lets the *first* query see the first key only, whatever
the number of keys; on CPU it can return 0 for a query that holds a NaN; and it multiplies hidden slots by 0, so that a NaN
in a padded slot would reach every query.
"""

import torch
import torch.nn.functional as F
from torch import Tensor

from headwise.call import Call
from headwise.engines.base import Cost, Output, make_cost, pairs
from headwise.engines.cpu_kernel import as_numbers, attend_with_lse, kernel
from headwise.engines.guards import (
    NO_VMAP,
    drop_hidden,
    inside_vmap,
    refuse_forward_mode,
    refuse_second_order,
    show_nan,
    turned_round,
)
from headwise.engines.sdpa_arguments import (
    attn_mask,
    causal_flag,
    empty_keyless,
    fit_width,
    fits_cpu_kernel,
    hide_keyless,
    is_open,
    matrix_size,
)
from headwise.engines.sinks import add_sinks
from headwise.reference import attention_steps
from headwise.score.base import AdditiveScore, SinkScore, sinks_of

# Pairs of a call from which on it pays to ask other engines, too.
WORTH_A_LOOK = 2**20


class Sdpa:
    """Plain, causal and dense masks, additive scores."""

    name = "sdpa"

    def why_not(self, call: Call) -> list[str]:
        reasons = []
        if call.scores is not None:
            reasons.append("get_scores is overridden, the kernel knows dot products only")
        reasons += [
            f"{type(part).__name__} changes scores otherwise than by adding to them"
            for part in call.score
            if not isinstance(part, AdditiveScore | SinkScore)
        ]
        if 0 in call.query.shape or call.key.shape[2] == 0:
            reasons.append("an axis is empty")
        if inside_vmap():
            reasons.append(NO_VMAP)
        if not (call.return_lse or any(isinstance(part, SinkScore) for part in call.score)):
            return reasons
        what = "the lse" if call.return_lse else "the lse, which a sink is put in with,"
        if call.query.device.type != "cpu":
            reasons.append(f"{what} is available on CPU only")
        if torch.compiler.is_exporting():
            reasons.append(f"{what} comes from an operator of PyTorch's own, which an exported graph cannot hold")
        if call.dropout > 0:
            reasons.append(f"{what} is not available with dropout")
        return reasons

    def cost(self, call: Call) -> Cost:
        facts = call.facts
        flag = causal_flag(call, facts)
        fused = call.dropout == 0 and (len(call.score) == 0 or not torch.is_grad_enabled())
        extra = 0
        if not fused:
            extra = 3 * 4 * pairs(call)
        elif call.score or not (flag or is_open(call, facts, pairwise_only=True)):
            extra = 4 * matrix_size(call, facts)
        speed = 6e-4 if fused else 4e-3
        count = pairs(call)
        if facts.keep is not None and count > WORTH_A_LOOK and call.query.device.type == "cpu":
            # Keys and values are copied, with 0 in hidden slots, and these slots are computed like all others: an engine that leaves them
            # out may be cheaper. For short sequences looking for it would cost more than it saves.
            extra += (call.key.numel() + call.value.numel()) * call.key.element_size()
            speed *= 4 / 3
        time = 10.0 + count * speed * (0.5 if flag else 1.0)
        return make_cost(call, extra, time) if extra else Cost(False, time, 0, visited=count)

    def run(self, call: Call) -> Output:
        call = turned_round(call)
        sinks = sinks_of(call.score, call.grid) if call.score else None
        if sinks is not None:
            return add_sinks(call, sinks, self.run)
        facts = call.facts
        query, key, value = call.query, call.key, call.value
        if facts.keep is not None:
            key, value = drop_hidden(facts.keep, key, value)
        features = value.shape[3]
        if features != query.shape[3]:
            value = fit_width(value, query.shape[3])
            query, key = fit_width(query, value.shape[3]), fit_width(key, value.shape[3])
        flag = causal_flag(call, facts)
        # The causal flag needs no matrix, so it is kept wherever the kernel at hand takes it together with other numbers.
        # Asked by its length, because a compiler cannot trace `not` of a tuple.
        alone = facts.keep is None and len(call.score) == 0
        flag = flag and (alone or fits_cpu_kernel(call))
        extra = None if flag and alone else attn_mask(call, facts, flag)
        if extra is not None and extra.requires_grad and (call.return_lse or flag):
            # No fused kernel has a gradient for added numbers: PyTorch computes the whole matrix then, and the definition does so here.
            steps = attention_steps(call)
            return Output(steps.output, steps.lse if call.return_lse else None)

        output, lse = fused(call, query, key, value, extra, flag)
        if torch.compiler.is_exporting() and extra is not None:
            output = empty_keyless(output, extra)
        refuse_second_order(self.name, output)
        if features != output.shape[3]:
            output = output[..., :features]
        return Output(show_nan(call, output), lse)


def fused(
    call: Call, query: Tensor, key: Tensor, value: Tensor, extra: Tensor | None, flag: bool
) -> tuple[Tensor, Tensor | None]:
    """The kernel's output and, if the call asks for it, the lse."""
    # While compiling, a comparison of sizes is a symbol, and the kernel wants a bool: the branch makes it one.
    grouped = False
    if call.group_size > 1:
        grouped = True
    refuse_forward_mode("sdpa", query, key, value)
    if call.return_lse:
        output, lse = attend_with_lse(query, key, value, extra, flag, call.scale)
        if call.score and extra is not None:
            # Added numbers hide a row where all of them are $-\infty$.
            lse = torch.where((extra == -torch.inf).all(-1).expand_as(lse), -torch.inf, lse)
        return output, hide_keyless(call, lse, flag)
    if flag and extra is not None:
        return kernel(query, key, value, as_numbers(extra, query), True, call.scale)[0], None
    output = F.scaled_dot_product_attention(
        query,
        key,
        value,
        attn_mask=extra,
        dropout_p=call.dropout,
        is_causal=flag,
        scale=call.scale,
        enable_gqa=grouped,
    )
    return output, None
