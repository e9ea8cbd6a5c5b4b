"""
---
title: A layer from PyTorch
summary: The weights of a torch.nn.MultiheadAttention in a layer of this library.
---
"""

from typing import TypeVar

import torch
from torch import Tensor, nn

from headwise.errors import ArgumentError
from headwise.layer import MultiHeadAttention

Layer = TypeVar("Layer", bound=MultiHeadAttention)


def layer_from_torch(module: nn.MultiheadAttention, kind: type[Layer]) -> Layer:
    """A layer of this kind with copies of the module's weights, on its device, in its dtype and mode."""
    check_convertible(module)
    # On the meta device nothing is drawn from the random generator for weights that are replaced at once.
    with torch.device("meta"):
        layer = kind(
            module.embed_dim,
            module.num_heads,
            context_dim=module.kdim,
            dropout=module.dropout,
            bias=module.in_proj_bias is not None,
            batch_first=module.batch_first,
        )
    linears = (layer.query.linear, layer.key.linear, layer.value.linear, layer.output)
    for linear, (weight, bias) in zip(linears, projections(module), strict=True):
        linear.weight = weight
        if bias is not None:
            linear.bias = bias
    return layer.train(module.training)


def projections(module: nn.MultiheadAttention) -> list[tuple[nn.Parameter, nn.Parameter | None]]:
    """Weight and bias of query, key, value and output, as parameters of their own."""
    # One matrix holds all three projections where queries, keys and values are equally wide.
    packed = module.in_proj_weight
    weights = (
        packed.chunk(3) if packed is not None else [getattr(module, f"{name}_proj_weight") for name in ("q", "k", "v")]
    )
    learns = packed.requires_grad if packed is not None else weights[0].requires_grad
    biases = module.in_proj_bias.chunk(3) if module.in_proj_bias is not None else (None,) * 3
    taken = [
        (own(weight, learns), None if bias is None else own(bias, module.in_proj_bias.requires_grad))
        for weight, bias in zip(weights, biases, strict=True)
    ]
    output = module.out_proj
    last = None if output.bias is None else own(output.bias, output.bias.requires_grad)
    return [*taken, (own(output.weight, output.weight.requires_grad), last)]


def own(tensor: Tensor, learns: bool) -> nn.Parameter:
    """A parameter with a copy of these numbers."""
    return nn.Parameter(tensor.detach().clone(memory_format=torch.contiguous_format), requires_grad=learns)


def check_convertible(module: object) -> None:
    """Raise, with the option, if the module does what no layer here does."""
    if not isinstance(module, nn.MultiheadAttention):
        raise ArgumentError(
            f"MultiHeadAttention.from_torch(module) needs a torch.nn.MultiheadAttention; got {type(module).__name__}. "
            "Usual fix: hw.from_torch(model) replaces every one in a model."
        )
    reasons = []
    if type(module) is not nn.MultiheadAttention:
        reasons.append(f"it is a subclass, {type(module).__name__}, which may compute something else")
    if module.bias_k is not None or module.bias_v is not None:
        reasons.append("add_bias_kv=True adds a learned key and value")
    if module.add_zero_attn:
        reasons.append("add_zero_attn=True adds a key and value of zeros")
    if module.kdim != module.vdim:
        reasons.append(f"keys and values have two widths, kdim={module.kdim} and vdim={module.vdim}")
    if any(
        getattr(module, name)
        for name in ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
    ):
        reasons.append("it has hooks, which would be lost")
    if reasons:
        takes_weight = module.bias_k is not None or module.bias_v is not None or module.add_zero_attn
        sink = "score=Sink(heads) for a place that takes weight and gives nothing; else " if takes_weight else ""
        raise ArgumentError(
            f"a torch.nn.MultiheadAttention must use options that exist here; {'; '.join(reasons)}. "
            f"Usual fix: {sink}leave this module as it is."
        )
