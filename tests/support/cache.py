"""Layers with every position, score and mask that a cache must serve."""

import torch

import headwise as hw
from headwise.position.scaling import Linear, Llama3, Yarn

CAUSAL = {"mask": hw.Causal()}
SCHEMES = {
    "plain": lambda: CAUSAL,
    "rotary": lambda: CAUSAL | {"position": hw.Rotary(4)},
    "rotary interleaved": lambda: CAUSAL | {"position": hw.Rotary(4, interleaved=True)},
    "rotary partial": lambda: CAUSAL | {"position": hw.Rotary(2)},
    "rotary linear": lambda: CAUSAL | {"position": hw.Rotary(4, scaling=Linear(2.0))},
    "rotary yarn": lambda: CAUSAL | {"position": hw.Rotary(4, scaling=Yarn(2.0, 4))},
    "rotary llama": lambda: CAUSAL | {"position": hw.Rotary(4, scaling=Llama3(2.0, 4))},
    "alibi": lambda: CAUSAL | {"score": hw.Alibi(3)},
    "softcap": lambda: CAUSAL | {"score": hw.Softcap(0.5)},
    "t5": lambda: CAUSAL | {"score": hw.T5Bias(3, buckets=6, max_distance=9)},
    "sink": lambda: CAUSAL | {"score": hw.Sink(3)},
    "alibi and softcap": lambda: CAUSAL | {"score": (hw.Alibi(3), hw.Softcap(0.5)), "position": hw.Rotary(4)},
    "function of slots": lambda: CAUSAL | {"score": lambda s, b, h, i, j: s - 0.1 * (i - j) * (h + 1) + 0.01 * j},
    "window": lambda: {"mask": hw.Window(3), "position": hw.Rotary(4)},
    "dilated": lambda: {"mask": hw.Dilated(2, 2)},
    "grouped": lambda: CAUSAL | {"kv_heads": 1, "position": hw.Rotary(4)},
    "normed": lambda: CAUSAL | {"qk_norm": torch.nn.RMSNorm, "position": hw.Rotary(4)},
    "widths": lambda: CAUSAL | {"head_dim": 6, "value_dim": 5, "position": hw.Rotary(6)},
    "blockwise": lambda: CAUSAL | {"engine": "blockwise", "score": hw.Alibi(3)},
    "reference": lambda: CAUSAL | {"engine": "reference", "score": hw.Alibi(3)},
}


def make(scheme):
    options = {} if scheme == "no mask" else SCHEMES[scheme]()
    return hw.MultiHeadAttention(12, 3, **options).double()


def tokens(length, batch=2, width=12):
    return torch.randn(batch, length, width, dtype=torch.float64)


def chunked(layer, x, chunks):
    """The outputs of the chunks, one after the other, through one cache."""
    cache = hw.KVCache()
    return torch.cat([layer(chunk, cache=cache) for chunk in x.split(chunks, dim=1)], dim=1)
