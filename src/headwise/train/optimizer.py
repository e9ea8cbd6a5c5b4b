"""
---
title: The optimizer
summary: AdamW that decays matrices and leaves vectors alone, and Muon for the matrices inside the layers.
---

# The optimizer

Weight decay pulls the entries of a matrix towards zero, so that no direction grows without a reason in the data.
The gains of a norm and the biases are vectors; pulling them to zero would switch features off instead.

*Source.* Loshchilov and Hutter, 2019, "Decoupled weight decay regularization", https://arxiv.org/abs/1711.05101.
"""

from collections.abc import Iterable

import torch
from torch import nn
from torch.optim import Optimizer

from headwise.train.config import TrainConfig
from headwise.train.muon import Muon


def build_optimizers(model: nn.Module, config: TrainConfig) -> tuple[Optimizer, ...]:
    """The optimizers that the settings name; each parameter belongs to exactly one of them."""
    parameters = [each for each in model.parameters() if each.requires_grad]
    if config.optimizer == "adamw":
        return (_adamw(parameters, config),)
    outside = _outside_of_layers(model)
    inside = [each for each in parameters if each.ndim == 2 and id(each) not in outside]
    rest = [each for each in parameters if each.ndim != 2 or id(each) in outside]
    muon = (Muon(inside, lr=config.learning_rate, weight_decay=config.weight_decay),) if inside else ()
    return (*muon, _adamw(rest, config)) if rest else muon


def set_learning_rate(optimizers: Iterable[Optimizer], rate: float) -> None:
    """Gives all groups the learning rate of the next update."""
    for optimizer in optimizers:
        for group in optimizer.param_groups:
            group["lr"] = rate


def _adamw(parameters: list[nn.Parameter], config: TrainConfig) -> Optimizer:
    groups = [
        {"params": [each for each in parameters if each.ndim >= 2], "weight_decay": config.weight_decay},
        {"params": [each for each in parameters if each.ndim < 2], "weight_decay": 0.0},
    ]
    # `fused` updates all parameters in one pass over the memory; the loop over parameters in Python costs more than the arithmetic.
    return torch.optim.AdamW(
        [group for group in groups if group["params"]],
        lr=config.learning_rate,
        betas=(config.beta1, config.beta2),
        fused=True,
    )


def _outside_of_layers(model: nn.Module) -> set[int]:
    """The tables of the vocabulary: a row belongs to one token, and most rows of a batch's gradient are zero or nearly so."""
    tables = [module.weight for module in model.modules() if isinstance(module, nn.Embedding)]
    generator = getattr(model, "generator", None)
    return {id(each) for each in [*tables, getattr(generator, "weight", None)] if each is not None}
