"""
What a recording costs: `python benchmarks/recording.py [tokens]`.

Each kind of recording runs in turn with the plain layer, on one thread; the figure is the ratio of medians of the CPU time of the process,
which other work on the machine disturbs less than the time of the clock. The last line is JSON.
"""

import json
import statistics
import sys
import time

import torch

import headwise as hw

KINDS = {
    "lse": {"keep": "lse"},
    "one row": {"keep": "weights", "rows": -1},
    "entropy": {"keep": "entropy"},
    "entropy, max, key_mass": {"keep": ("entropy", "max", "key_mass")},
    "all statistics": {"keep": "stats"},
}


def seconds(layer: torch.nn.Module, x: torch.Tensor, arguments: dict | None) -> float:
    """CPU seconds of one call, with its backward pass where the layer trains."""
    with torch.set_grad_enabled(layer.training):
        began = time.process_time()
        if arguments is None:
            y = layer(x)
        else:
            with hw.record(layer, **arguments):
                y = layer(x)
        if layer.training:
            y.sum().backward()
        return time.process_time() - began


def ratios(tokens: int, *, d_model: int, heads: int, train: bool, repeats: int = 5) -> dict[str, float]:
    """Median time of each kind of recording over that of the plain layer."""
    torch.manual_seed(0)
    layer = hw.MultiHeadAttention(d_model, heads, mask=hw.Causal(), position=hw.Rotary(d_model // heads)).train(train)
    x = torch.randn(1, tokens, d_model, requires_grad=train)
    times: dict[str, list[float]] = {name: [] for name in ("plain", *KINDS)}
    for _ in range(repeats):
        for name in times:
            times[name].append(seconds(layer, x, KINDS.get(name)))
    medians = {name: statistics.median(values) for name, values in times.items()}
    return {name: round(medians[name] / medians["plain"], 2) for name in KINDS}


if __name__ == "__main__":
    torch.set_num_threads(1)
    tokens = int(sys.argv[1]) if len(sys.argv) > 1 else 4096
    results = {}
    for d_model, heads, train in ((512, 8, False), (512, 8, True), (1024, 8, False), (2048, 16, False)):
        title = f"d_model {d_model}, {heads} heads, {'forward and backward' if train else 'forward'}"
        results[title] = ratios(tokens, d_model=d_model, heads=heads, train=train)
        print(title, *(f"{name} {ratio:.2f}" for name, ratio in results[title].items()), sep="  ", flush=True)
    print(json.dumps({"tokens": tokens, "ratios": results}))
