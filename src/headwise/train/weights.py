"""
---
title: Weights in files
summary: The tensors of a model as safetensors, each once and whole, whoever holds them.
---

# Weights in files
"""

import errno
from pathlib import Path

from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from headwise.errors import HeadwiseError
from headwise.train.safe_files import write_file


class CheckpointError(HeadwiseError):
    """A checkpoint that is missing, damaged, or of another model."""


def weights_of(model: nn.Module) -> dict[str, Tensor]:
    """The tensors of a model by name, each once and whole; where several processes hold their parts, all must ask for them."""
    return {name: whole(tensor).contiguous() for name, tensor in held_weights(model).items()}


def held_weights(model: nn.Module) -> dict[str, Tensor]:
    """The tensors of a model as this process holds them: tied weights are stored under the first of their names."""
    first = {name for name, _ in model.named_parameters()}
    tied = {name for name, _ in model.named_parameters(remove_duplicate=False)} - first
    once: dict[int, str] = {}
    tensors = {name: tensor for name, tensor in model.state_dict().items() if name not in tied}
    for name, tensor in tensors.items():
        # A part of a tensor has no address of its own.
        once.setdefault(tensor.data_ptr() or id(tensor), name)
    return {name: tensors[name].detach() for name in once.values()}


def whole(tensor: Tensor) -> Tensor:
    """The tensor, and if processes hold it in parts the whole of it; all must then ask."""
    gather = getattr(tensor, "full_tensor", None)
    return tensor.detach() if gather is None else gather().detach()


def save_weights(model: nn.Module, path: Path) -> None:
    """Writes the weights of a model."""
    tensors = weights_of(model)
    try:
        write_file(path, lambda temporary: save_tensors(tensors, temporary))
    except OSError as error:
        raise CheckpointError(
            f"The weights must be written. {path}: {error.strerror}; what was there is whole."
        ) from None


def save_tensors(tensors: dict[str, Tensor], path: Path) -> None:
    """Writes tensors; what the disk refuses is an `OSError`, which safetensors hides in an error of its own."""
    try:
        save_file(tensors, path)
    except SafetensorError as error:
        raise OSError(errno.EIO, str(error)) from None


def load_weights(model: nn.Module, path: Path) -> None:
    """Reads the weights of a model; every name and every shape must fit."""
    try:
        tensors = load_file(path)
    except (OSError, SafetensorError) as error:
        raise CheckpointError(f"A run must hold readable weights. {path}: {error}.") from None
    put_weights(model, tensors, path)


def put_weights(model: nn.Module, tensors: dict[str, Tensor], path: Path) -> None:
    """Gives the model these weights, whole or in the parts that it holds; `path` is where they come from."""
    expected = held_weights(model)
    if tensors.keys() != expected.keys():
        missing, extra = sorted(expected.keys() - tensors.keys()), sorted(tensors.keys() - expected.keys())
        raise CheckpointError(
            f"The weights must be those of this model. {path} lacks {missing[:3]} and has {extra[:3]} besides."
        )
    for name, tensor in tensors.items():
        if tensor.shape != expected[name].shape:
            raise CheckpointError(
                f"The weights must be those of this model. {path} has {name} {[*tensor.shape]} for {[*expected[name].shape]}."
            )
    model.load_state_dict({name: parts_like(tensor, expected[name]) for name, tensor in tensors.items()}, strict=False)


def in_parts(tensor: Tensor) -> bool:
    """Whether this process holds a part of the tensor alone."""
    return hasattr(tensor, "placements")


def parts_like(tensor: Tensor, template: Tensor) -> Tensor:
    """A tensor in the parts of another one, where that one is in parts."""
    if not in_parts(template) or in_parts(tensor):
        return tensor
    from headwise.train.shards import like

    return like(tensor, template)
