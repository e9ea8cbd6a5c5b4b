"""
---
title: The suite
summary: All rules and all layers, measured.
---
"""

import platform
from collections.abc import Callable, Collection, Iterator
from datetime import date
from functools import partial
from typing import Any

import torch
from torch import Tensor

from headwise.bench.layers import make_layers
from headwise.bench.measure import (
    Row,
    peak_memory,
    ratios,
    relative_error,
    with_backward,
    without_gradients,
)
from headwise.bench.padded import make_padded_layers
from headwise.bench.peers import Peer, peers
from headwise.bench.rules import Shape, contenders, make_rules, plain_causal
from headwise.call import Call
from headwise.engines.strategies.definition import Definition
from headwise.functional import attention

# Six rules of the scaling plot.
SCALING = ("causal", "window 256", "8 documents", "alibi", "t5 bias", "softcap 50")


def measure_rules(
    shape: Shape, names: tuple[str, ...], rounds: int, clock: str, *, matrices: bool = True, with_peers: bool = True
) -> Iterator[Row]:
    """Every rule by every contender, as ratios to plain causal attention."""
    operands = shape.operands(torch.float32)
    grad = torch.randn(operands[0].shape)
    base = lambda: plain_causal(*operands)  # noqa: E731
    for rule, arguments in make_rules(shape).items():
        if names and rule not in names:
            continue
        call = Call.of(*operands, **arguments)
        others = {name: Peer(run) for name, run in contenders(shape, arguments, matrices=matrices).items()}
        others |= peers(call, rule, matrices=matrices) if with_peers else {}
        runs: dict[str, Callable[[], Tensor]] = {name: bind(other.run, operands) for name, other in others.items()}
        trains = {name for name, other in others.items() if other.trains}
        with torch.no_grad():
            exact, _ = Definition().run(call.with_operands(*(tensor.double() for tensor in operands)))
        yield from rows(rule, base, runs, grad, exact, rounds, clock, trains)


def bind(contender: Callable[..., Tensor], operands: tuple[Any, ...]) -> Callable[[], Tensor]:
    """The contender with its operands."""
    return lambda: contender(*operands)


def rows(
    rule: str,
    base: Callable[[], Tensor],
    runs: dict[str, Callable[[], Tensor]],
    grad: Tensor,
    exact: Tensor | None,
    rounds: int,
    clock: str,
    trains: Collection[str] | None = None,
) -> Iterator[Row]:
    """Measure the runs of one rule; `trains` names those that have a backward pass, if not all."""
    trains = runs if trains is None else trains
    forward = ratios(
        without_gradients(base), {name: without_gradients(run) for name, run in runs.items()}, rounds, clock
    )
    training = ratios(
        with_backward(base, grad),
        {name: with_backward(run, grad) for name, run in runs.items() if name in trains},
        rounds,
        clock,
    )
    for name, run in runs.items():
        quiet = without_gradients(run)
        error = None if exact is None else relative_error(quiet(), exact)
        memory = peak_memory(quiet)
        slowdown, training_memory = None, None
        if name in trains:
            slowdown, training_memory = training[name][0], peak_memory(with_backward(run, grad))
        yield Row(rule, name, forward[name][0], slowdown, forward[name][1], memory, training_memory, error)


def measure_layers(batch: int, tokens: int, width: int, heads: int, rounds: int, clock: str) -> Iterator[Row]:
    """The layers of one size, as ratios to the fused layer written by hand."""
    x = torch.randn(batch, tokens, width)
    layers = make_layers(batch, tokens, width, heads)
    runs: dict[str, Callable[[], Tensor]] = {name: bind(layer.eval(), (x,)) for name, layer in layers.items()}
    base = runs["fused by hand"]
    yield from rows(
        f"layer {batch}x{tokens}x{width}, {heads} heads", base, runs, torch.randn_like(x), None, rounds, clock
    )


def on_real_tokens(real: Tensor) -> Callable[..., Tensor]:
    """A layer's output with 0 for the queries that are padding: what is there differs from library to library."""
    return lambda layer, x: torch.where(real, layer(x), 0.0)


def measure_padded_layers(
    batch: int, tokens: int, width: int, heads: int, rounds: int, clock: str, *, with_peers: bool = True
) -> Iterator[Row]:
    """Layers over padded sequences, as ratios to the layer of this library; errors against float64, on real tokens."""
    x = torch.randn(batch, tokens, width)
    keep = torch.arange(tokens) < torch.linspace(tokens / 2, tokens, batch).long()[:, None]
    layers = make_padded_layers(width, heads, keep, with_peers=with_peers)
    real = keep[..., None]
    runs: dict[str, Callable[[], Tensor]] = {
        name: bind(on_real_tokens(real), (layer, x)) for name, layer in layers.items()
    }
    with torch.no_grad():
        exact = torch.where(real, layers["headwise"].double()(x.double()), 0.0)
    layers["headwise"].float()
    rule = f"padded layer {batch}x{tokens}x{width}, {heads} heads"
    yield from rows(rule, runs["headwise"], runs, torch.randn_like(x), exact, rounds, clock)


def measure_scaling(shape: Shape, lengths: tuple[int, ...], rounds: int, clock: str) -> list[dict[str, Any]]:
    """Time and memory of six rules over the length, by the engine that is taken."""
    points = []
    for tokens in lengths:
        longer = Shape(shape.batch, shape.heads, tokens, shape.head_dim)
        operands = longer.operands(torch.float32)
        for rule, arguments in make_rules(longer).items():
            if rule not in SCALING:
                continue
            run = without_gradients(bind(partial(attention, **arguments), operands))
            ((_, least),) = ratios(run, {rule: run}, max(1, rounds // 2), clock).values()
            points.append({"rule": rule, "tokens": tokens, "ms": least, "bytes": peak_memory(run)})
    return points


def conditions(shape: Shape, rounds: int, clock: str) -> dict[str, Any]:
    """On what, with what and when it was measured."""
    return {
        "date": date.today().isoformat(),
        "processor": processor(),
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
        "python": platform.python_version(),
        "shape": [shape.batch, shape.heads, shape.tokens, shape.head_dim],
        "dtype": "float32",
        "rounds": rounds,
        "clock": clock,
    }


def processor() -> str:
    """The name of the processor, where the system tells."""
    try:
        with open("/proc/cpuinfo") as lines:
            names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    except OSError:
        names = []
    return names[0] if names else platform.processor() or platform.machine()
