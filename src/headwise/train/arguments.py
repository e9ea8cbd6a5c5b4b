"""
---
title: What a training is called with
summary: Arguments of another kind are refused in words, before anything is written.
---

# What a training is called with
"""

from torch import nn

from headwise.train.config import ConfigError, TrainConfig
from headwise.train.data import TextData
from headwise.train.data_error import DataError
from headwise.train.gradient import TrainingError


def check_arguments(model: nn.Module, data: TextData, config: TrainConfig) -> None:
    """Raises where a model, data or settings cannot be trained with, whatever their values."""
    if not isinstance(config, TrainConfig):
        raise ConfigError(
            f"`config` must be a TrainConfig. Got {type(config).__name__}; the settings of a run have it as their part `train`."
        )
    # Any data with the methods of `TextData` will do.
    if not hasattr(data, "validation_batches"):
        raise DataError(
            f"`data` must be TextData. Got {type(data).__name__}; `TextData.of` makes it from two texts and a tokenizer."
        )
    if not any(each.requires_grad for each in model.parameters()):
        raise TrainingError(
            "The model must have a weight that can learn. No parameter requires a gradient; unfreeze at least one."
        )
