"""
---
title: A model from PyTorch
summary: Every torch.nn.MultiheadAttention of a model gives way to a layer of this library.
---
"""

from typing import TypeVar, cast

from torch import nn

from headwise.errors import ArgumentError
from headwise.interop.torch_signature import TorchAttention
from headwise.layer import MultiHeadAttention

Model = TypeVar("Model", bound=nn.Module)


def from_torch(model: Model) -> Model:
    """
    Replace every `torch.nn.MultiheadAttention` of a model, in place, and return the model.

    The model goes on calling its modules as before, and gets the same numbers; a query that sees no key gets 0 where it got NaN. The
    weights are copies under other names, so load checkpoints before, and make the optimizer afterwards. A model that is itself a
    `MultiheadAttention` is not changed; its replacement is returned.

    *Edge*: PyTorch's encoder layers have a path for inference that goes around their attention; a replaced module is called always.

    *Errors*: `ArgumentError` names the modules with options that do not exist here (`add_bias_kv`, `add_zero_attn`, `kdim != vdim`),
    before anything is replaced; likewise if there is nothing to replace.

    ```python
    >>> model = from_torch(nn.TransformerEncoderLayer(64, 4, batch_first=True))
    >>> model(torch.randn(2, 5, 64)).shape
    torch.Size([2, 5, 64])
    ```
    """
    found = {name: module for name, module in model.named_modules() if isinstance(module, nn.MultiheadAttention)}
    if not found:
        raise ArgumentError(
            f"from_torch(model) needs a model with a torch.nn.MultiheadAttention in it; {type(model).__name__} has none. "
            "Usual fix: attention that a model wrote itself is replaced by hand."
        )
    # All or nothing: every module is converted before the first one is replaced.
    made = {module: convert(name, module) for name, module in found.items()}
    if isinstance(model, nn.MultiheadAttention):
        return cast(Model, made[model])
    for parent in list(model.modules()):
        # A module that stands at two places is found at both, other than by `named_children`.
        for name, child in list(parent._modules.items()):
            if child in made:
                setattr(parent, name, made[child])
        # An encoder that found out, when it was made, that its layers have a path around their attention would take it.
        if isinstance(parent, nn.TransformerEncoder):
            parent.use_nested_tensor = False
    return model


def convert(name: str, module: nn.MultiheadAttention) -> TorchAttention:
    """The replacement of one module; an error says which one it was."""
    try:
        return TorchAttention(MultiHeadAttention.from_torch(module))
    except ArgumentError as error:
        raise ArgumentError(f"{name}: {error}" if name else str(error)) from None
