"""
---
title: A model in several processes
summary: Copies whose gradients are added up (DDP), or parts of the weights that are joined when a layer needs them (FSDP2).
---

# A model in several processes

* **DDP**: each process holds all weights. It is the faster way for models that fit into one.
* **FSDP2**: each process holds a part of each weight, of its gradient and of its moments. Before a layer runs, its weights are joined;
  after it they are let go again. Memory shrinks with the number of processes.

Only the first process draws weights. The others build the model on the *meta* device, where tensors have shapes and no numbers, and get
their numbers from the first one. A large model is thus never drawn twice, and all processes start from the same bits.

*Source.* Zhao et al., 2023, "PyTorch FSDP: experiences on scaling fully sharded data parallel", https://arxiv.org/abs/2304.11277.
"""

import contextlib
from collections.abc import Iterator

import torch
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.distributed.tensor import distribute_tensor
from torch.nn.parallel import DistributedDataParallel

from headwise.train.processes import Processes


def spread(model: nn.Module, processes: Processes, *, precision: torch.dtype | None = None) -> nn.Module:
    """The module through which passes go, so that its gradients become those of the whole batch.

    With FSDP2 the parameters of `model` itself become shards; `precision` is then the type in which layers compute.
    """
    if processes.world == 1:
        return model
    if processes.parallel == "ddp":
        if not processes.first:
            model.to_empty(device="cpu")
        # DDP sends the weights of the first process to the others when it is made.
        return DistributedDataParallel(model, forward_sync_buffers=False)
    return _sharded(model, processes, precision)


@contextlib.contextmanager
def adding_up(passes: nn.Module, *, last: bool) -> Iterator[None]:
    """Adds up the gradients of the processes in the last part of a batch alone: once for an update is enough.

    With FSDP2 they are added up in each part, because whole gradients would otherwise have to be kept between the parts.
    """
    # A compiled model is a wrapper around the one that adds up.
    passes = getattr(passes, "_orig_mod", passes)
    if isinstance(passes, DistributedDataParallel) and not last:
        with passes.no_sync():
            yield
        return
    yield


def _sharded(model: nn.Module, processes: Processes, precision: torch.dtype | None) -> nn.Module:
    # ## 1. What the first process has drawn
    drawn = {name: each.detach().clone() for name, each in model.named_parameters()} if processes.first else {}
    # ## 2. The layers one by one, and then what stands outside of them
    # Weights stay in single precision, and only what a layer computes with is rounded; gradients are added up unrounded.
    mesh = init_device_mesh("cpu" if not torch.cuda.is_available() else "cuda", (processes.world,))
    policy = MixedPrecisionPolicy(param_dtype=precision, reduce_dtype=torch.float32 if precision else None)
    # By default what stands outside of the layers stays joined after a pass. A pass without a backward pass, such as a measurement, would
    # leave it so, and the gradient of the next update would be another one.
    for part in [*_layers(model), model]:
        fully_shard(part, mesh=mesh, mp_policy=policy, reshard_after_forward=True)
    # ## 3. Numbers for the shards
    if not processes.first:
        model.to_empty(device=mesh.device_type)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            whole = drawn.pop(name, torch.empty(0)) if processes.first else torch.empty(parameter.shape)
            parameter.copy_(distribute_tensor(whole, mesh, parameter.placements))  # type: ignore[attr-defined]
    return model


def _layers(model: nn.Module) -> list[nn.Module]:
    """The members of the model's lists of layers."""
    return [layer for module in model.modules() if isinstance(module, nn.ModuleList) for layer in module]
