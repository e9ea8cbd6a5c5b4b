"""
---
title: The optimizer
summary: AdamW that decays matrices and leaves vectors alone.
---

# The optimizer

Weight decay pulls the entries of a matrix towards zero, so that no direction grows without a reason in the data.
The gains of a norm and the biases are vectors; pulling them to zero would switch features off instead.

*Source.* Loshchilov and Hutter, 2019, "Decoupled weight decay regularization", https://arxiv.org/abs/1711.05101.
"""

import torch
from torch import nn
from torch.optim import Optimizer

from headwise.train.config import TrainConfig


def build_optimizer(model: nn.Module, config: TrainConfig) -> Optimizer:
    """AdamW over two groups of parameters: those with two axes or more, and the others without decay."""
    parameters = [each for each in model.parameters() if each.requires_grad]
    matrices = [each for each in parameters if each.ndim >= 2]
    vectors = [each for each in parameters if each.ndim < 2]
    groups = [{"params": matrices, "weight_decay": config.weight_decay}, {"params": vectors, "weight_decay": 0.0}]
    # `fused` updates all parameters in one pass over the memory; the loop over parameters in Python costs more than the arithmetic.
    return torch.optim.AdamW(
        [group for group in groups if group["params"]],
        lr=config.learning_rate,
        betas=(config.beta1, config.beta2),
        fused=True,
    )


def set_learning_rate(optimizer: Optimizer, rate: float) -> None:
    """Gives all groups the learning rate of the next update."""
    for group in optimizer.param_groups:
        group["lr"] = rate
