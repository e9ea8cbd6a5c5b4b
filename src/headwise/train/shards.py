"""
---
title: Checkpoints in parts
summary: Each process writes its part of the tensors, and any number of processes can read them.
---

# Checkpoints in parts

Where the weights are sharded, no process has them all, and none needs to. PyTorch's distributed checkpoints store each part with its place
in the whole tensor. A reader asks for the parts that it holds itself, so two processes can go on from a checkpoint of one, and one from a
checkpoint of two.
"""

import warnings
from collections.abc import Mapping
from pathlib import Path

import torch
from torch import Tensor
from torch.distributed.checkpoint.filesystem import FileSystemReader, FileSystemWriter
from torch.distributed.checkpoint.metadata import TensorStorageMetadata
from torch.distributed.checkpoint.state_dict_loader import load
from torch.distributed.checkpoint.state_dict_saver import save
from torch.distributed.tensor import DTensor, distribute_tensor


def write_shards(weights: Mapping[str, Tensor], moments: Mapping[str, Tensor], folder: Path) -> None:
    """Writes the parts of this process; all processes must call it."""
    tensors = {f"model/{name}": tensor for name, tensor in weights.items()}
    tensors |= {f"optimizer/{name}": tensor for name, tensor in moments.items()}
    save(tensors, storage_writer=FileSystemWriter(folder, sync_files=True))


def read_shards(folder: Path, weights: Mapping[str, Tensor]) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """Weights and moments of a checkpoint: in the parts of the weights that this process holds, or whole if it holds them whole."""
    reader = FileSystemReader(folder)
    tensors: dict[str, Tensor] = {}
    for name, stored in reader.read_metadata().state_dict_metadata.items():
        assert isinstance(stored, TensorStorageMetadata), f"a checkpoint holds tensors alone, and {name} is none"
        # `model/NAME` is a weight, `optimizer/NAME/KEY` one of its moments; a moment of another shape is a number.
        kind, _, rest = name.partition("/")
        template = weights.get(rest if kind == "model" else rest.rpartition("/")[0])
        if isinstance(template, DTensor) and template.shape == stored.size:
            tensors[name] = torch.zeros_like(template.detach(), dtype=stored.properties.dtype)
        else:
            tensors[name] = torch.empty(stored.size, dtype=stored.properties.dtype)
    with warnings.catch_warnings():
        # Each process reads what it needs without the others, which PyTorch remarks upon.
        warnings.filterwarnings("ignore", message="torch.distributed is disabled", category=UserWarning)
        load(tensors, storage_reader=reader, no_dist=True)
    model, optimizer = (
        {name.removeprefix(kind): each for name, each in tensors.items() if name.startswith(kind)}
        for kind in ("model/", "optimizer/")
    )
    return model, optimizer


def like(tensor: Tensor, template: Tensor) -> Tensor:
    """A whole tensor that all processes have, in the parts of another tensor."""
    if not isinstance(template, DTensor):
        return tensor
    return distribute_tensor(tensor, template.device_mesh, template.placements, src_data_rank=None)
