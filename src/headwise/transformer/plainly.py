"""
---
title: Whether nobody watches
summary: When code may work with the weights of a module instead of calling it.
---

# Whether nobody watches

A module is called, and whoever has hooks on it sees the call. Code that takes the weights and computes with them itself is faster
and is seen by nobody. It may run where nothing would be different: no hooks, no module in the place of PyTorch's own, no other precision, no
transformation of functions, no compiler.
"""

import torch
from torch import Tensor, nn
from torch.autograd import forward_ad
from torch.nn.modules import module


def computes_plainly(x: Tensor) -> bool:
    """Whether gradients are recorded on a processor, in one precision, and without a transformation that wants to see each operation."""
    # A compiler stops at this question and asks none of the others, which it could not follow.
    if torch.compiler.is_compiling():
        return False
    return (
        type(x) is Tensor
        and x.device.type in ("cpu", "meta")
        and x.dtype in (torch.float32, torch.float64)
        and torch.is_grad_enabled()
        and not torch.is_autocast_enabled("cpu")
        and not torch._C._are_functorch_transforms_active()
        and forward_ad._current_level < 0
    )


def is_plain(linear: nn.Module, x: Tensor) -> bool:
    """Whether a linear map is PyTorch's own, is trained in the precision of `x`, and has no hooks that wait for its call."""
    if type(linear) is not nn.Linear or "forward" in linear.__dict__ or linear.weight.dtype != x.dtype:
        return False
    return all(each.requires_grad for each in linear.parameters()) and not has_hooks(linear)


def has_hooks(part: nn.Module) -> bool:
    """Whether somebody waits for the call of a module, or of any module."""
    own = (part._forward_hooks, part._forward_pre_hooks, part._backward_hooks, part._backward_pre_hooks)
    all_modules = (
        module._global_forward_hooks,
        module._global_forward_pre_hooks,
        module._global_backward_hooks,
        module._global_backward_pre_hooks,
    )
    return any(map(bool, (*own, *all_modules)))
