"""
---
title: Presets
summary: Settings under a name, and settings that follow from the depth of a model alone.
---

# Presets

A preset is a table as it could stand in a settings file, so files can extend it. What it does not say has its default.

| preset | is |
|---|---|
| `nano` | a model for a look at the machinery: seconds |
| `tiny` | the defaults: about 90 seconds on one core |
| `small` | the well-known character model of about 10 million parameters |
| `gpt2` | the shape and the recipe of the small GPT-2, 124 million parameters |
| `llama-1b-shape` | the shape of a model with 1.2 billion parameters and grouped heads |

```python
>>> derived(6, rows=8 * 128)["model"]
{'layers': 6, 'd_model': 384, 'heads': 6}

```
"""

import math
from typing import Any, Literal

from headwise.train.config import ConfigError

Table = dict[str, Any]
PresetName = Literal["nano", "tiny", "small", "gpt2", "llama-1b-shape"]

PRESETS: dict[str, Table] = {
    "nano": {
        "model": {"layers": 2, "d_model": 64, "heads": 2, "context": 64},
        "train": {"steps": 200, "report_every": 50, "sample_every": 100},
    },
    "tiny": {},
    "small": {
        "model": {"layers": 6, "d_model": 384, "heads": 6, "context": 256, "dropout": 0.2},
        "train": {
            "steps": 5000,
            "batch": 64,
            "learning_rate": 1e-3,
            "final_fraction": 0.1,
            "beta2": 0.99,
            "report_every": 250,
            "sample_every": 1000,
            "checkpoint_every": 1000,
        },
    },
    "gpt2": {
        "tokenizer": "bpe",
        "vocab": 50257,
        "model": {
            "layers": 12,
            "d_model": 768,
            "heads": 12,
            "context": 1024,
            "position": "learned",
            "feed_forward": "gelu",
            "norm": "layer",
            "bias": True,
        },
        "train": {
            "steps": 600_000,
            "batch": 480,
            "accumulate": 40,
            "learning_rate": 6e-4,
            "final_fraction": 0.1,
            "warmup": 2000,
            "beta2": 0.95,
            "precision": "bfloat16",
            "report_every": 1000,
            "sample_every": 5000,
            "checkpoint_every": 1000,
        },
    },
    "llama-1b-shape": {
        "tokenizer": "bpe",
        "vocab": 128_256,
        "documents": "apart",
        "model": {
            "layers": 16,
            "d_model": 2048,
            "heads": 32,
            "kv_heads": 8,
            "context": 2048,
            "width": 8192,
            "recompute": True,
        },
        "train": {
            "steps": 100_000,
            "batch": 512,
            "accumulate": 128,
            "learning_rate": 3e-4,
            "final_fraction": 0.1,
            "warmup": 2000,
            "beta2": 0.95,
            "precision": "bfloat16",
            "report_every": 500,
            "sample_every": 5000,
            "checkpoint_every": 1000,
        },
    },
}

HEAD_DIM = 64
# Parameters of the layers of width 128 at the learning rate 2e-3 are the default; wider models take smaller steps. With this power
# the widths 384 and 768 get 1e-3 and 6e-4, which is what is known to serve them.
REFERENCE_WIDTH, REFERENCE_RATE, POWER = 128, 2e-3, 2 / 3
# So many tokens for each parameter make the best of a given amount of arithmetic.
TOKENS_PER_PARAMETER = 20


def preset(name: str) -> Table:
    """The table of that name."""
    if name not in PRESETS:
        raise ConfigError(f"`preset` must be one of {', '.join(PRESETS)}. Got {name!r}.")
    return PRESETS[name]


def derived(depth: int, *, rows: int) -> Table:
    """The settings that follow from the number of layers; `rows` is the number of tokens in a batch.

    *Source.* Hoffmann et al., 2022, "Training compute-optimal large language models", https://arxiv.org/abs/2203.15556, for the steps.
    """
    if depth < 1:
        raise ConfigError(f"`depth` must be at least 1. Got {depth}.")
    width = HEAD_DIM * depth
    rate = REFERENCE_RATE * (REFERENCE_WIDTH / width) ** POWER
    # A layer has about 12 squares of the width: 4 in attention, 8 in the feed-forward block.
    steps = math.ceil(TOKENS_PER_PARAMETER * 12 * depth * width**2 / rows)
    return {
        "model": {"layers": depth, "d_model": width, "heads": depth},
        "train": {"learning_rate": float(f"{rate:.2e}"), "steps": steps},
    }


def merged(below: Table, above: Table) -> Table:
    """Both tables as one; where both have a value, that of `above` counts."""
    both = dict(below)
    for name, value in above.items():
        inner = both.get(name)
        both[name] = merged(inner, value) if isinstance(inner, dict) and isinstance(value, dict) else value
    return both
