"""
---
title: The model of a run
summary: From settings to a model with fresh weights, and from a run folder to a model with trained ones.
---

# The model of a run
"""

from pathlib import Path
from typing import Any

import torch
from torch import nn

from headwise.position.learned import Learned
from headwise.position.sinusoidal import Sinusoidal
from headwise.train.choose_tokenizer import Tokenizer
from headwise.train.config import ConfigError, ModelConfig, RunConfig
from headwise.train.lean import LeanLayer
from headwise.train.lean_parts import LeanRotary, lean_norm
from headwise.train.processes import ALONE, Processes
from headwise.train.recompute import RecomputedLayer
from headwise.train.run_folder import RunFolder
from headwise.train.weights import load_weights
from headwise.transformer.autoregressive import AutoregressiveTransformer


def build_model(config: ModelConfig, *, vocab: int, seed: int, processes: Processes = ALONE) -> nn.Module:
    """A transformer with fresh weights, which follow from the seed; of several processes, only the first one draws them."""
    config.check()
    torch.manual_seed(seed)
    # On the meta device tensors have shapes and no numbers.
    try:
        with torch.device("cpu" if processes.first else "meta"):
            return assembled(config, vocab)
    except (RuntimeError, MemoryError) as error:
        # PyTorch has no class for this error on a CPU, and tells of it in many lines.
        if isinstance(error, RuntimeError) and "memory" not in str(error):
            raise
        raise ConfigError(
            f"The weights must fit into memory. Got layers={config.layers}, d_model={config.d_model}, width={config.width} and "
            f"{vocab:,} tokens; smaller numbers help."
        ) from None


def assembled(config: ModelConfig, vocab: int) -> nn.Module:
    """The model on the device of the block around the call."""
    return AutoregressiveTransformer(
        vocab,
        config.d_model,
        config.heads,
        config.layers,
        position=_position(config),
        kv_heads=config.kv_heads,
        feed_forward=config.feed_forward,
        width=config.width,
        norm=lean_norm(config.norm),
        pre_norm=config.pre_norm,
        dropout=config.dropout,
        bias=config.bias,
        tied=config.tied,
        layer=RecomputedLayer if config.recompute else LeanLayer,
    )


def placed(model: nn.Module, device: str, processes: Processes = ALONE) -> nn.Module:
    """The model on the device that the settings name."""
    if device == "cpu":
        return model
    if processes.world > 1:
        raise ConfigError(f"Several processes choose their devices themselves. Got `--device {device}`; leave it out.")
    try:
        # A device that is only a name, or that is not there, shows with the first number on it.
        torch.zeros(1, device=device).item()
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise ConfigError(
            f"`device` must be one that PyTorch can use here. Got {device!r}: {str(error).splitlines()[0]}"
        ) from None
    return model.to(device)


def _position(config: ModelConfig) -> Any:
    if config.position == "learned":
        return Learned(config.d_model, config.context)
    if config.position == "sinusoidal":
        return Sinusoidal(config.d_model)
    return LeanRotary(config.d_model // config.heads)


def load_run(path: Path) -> tuple[nn.Module, Tokenizer, RunConfig]:
    """The trained model of a run folder, with its tokenizer and its settings."""
    run = RunFolder.open(path)
    config, tokenizer = run.read_config(), run.read_tokenizer()
    model = build_model(config.model, vocab=tokenizer.vocab, seed=config.train.seed)
    load_weights(model, run.path / "model.safetensors")
    return model.eval(), tokenizer, config
