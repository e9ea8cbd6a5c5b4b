"""
---
title: The benchmark of training
summary: One optimisation step of a small language model, beside its products and attention alone and beside other models.
---

# The benchmark of training

A step is what a training repeats: a pass, its backward pass, clipping, and the update of AdamW. All models get the same fused update and
the same clipping, except that the classic ones update as tutorials do. Their steps are interleaved, and each time is divided by
the time of the products and the fused attention alone in the same round; 1.00 cannot be reached, because norms, activations, the loss
and the update take time, too. x-transformers takes part where it is installed, and loading is measured beside the step of our model.
"""

import os
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib.metadata import version
from typing import Any

import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile

from headwise.bench.classic_models import ClassicModel, SequenceFirstModel
from headwise.bench.language_models import Floor, FusedModel, Ours, Sizes, XTransformersModel
from headwise.bench.loading import measure_loading
from headwise.bench.measure import peak_memory, ratios
from headwise.bench.peers import installed
from headwise.bench.suite import processor

# Which operations belong together in the profile; the first line that fits counts.
GROUPS = {
    "products": ("aten::mm", "aten::addmm", "aten::bmm"),
    "attention": ("flash_attention",),
    "activation": ("gelu", "silu", "relu", "threshold"),
    "norm": ("norm_backward", "native_layer_norm", "vector_norm"),
    "loss": ("log_softmax", "nll_loss"),
    "update": ("adam",),
    # Sums, products number by number, copies, masks and softmaxes: what no kernel above has taken in.
    "elementwise": (
        *("aten::add", "aten::mul", "aten::div", "aten::sub", "aten::neg", "aten::copy_", "aten::cat", "aten::where"),
        *("aten::masked_fill", "aten::eq", "aten::bernoulli", "softmax", "aten::mean", "aten::std", "aten::sum"),
        *("aten::sqrt", "aten::rsqrt", "aten::pow", "aten::fill_"),
    ),
}

# The model whose step loading is compared with.
OUR_MODEL = "headwise, GPT-2's parts"


@dataclass(frozen=True)
class StepRow:
    """One model: the ratio of its step to the arithmetic alone, the least milliseconds, and the peak of live tensors in bytes."""

    model: str
    ratio: float
    milliseconds: float
    memory: int

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


def make_steps(sizes: Sizes, *, with_peers: bool = True) -> dict[str, Callable[[], None]]:
    """A step of each model, by name; of other libraries, those that are installed, or none."""
    torch.manual_seed(0)
    steps = {
        OUR_MODEL: step_of(Ours(sizes, modern=False), sizes),
        "headwise, its own parts": step_of(Ours(sizes, modern=True), sizes),
        "fused by hand": step_of(FusedModel(sizes), sizes),
        "classic": step_of(ClassicModel(sizes), sizes, fused=False),
        "classic, sequence first": step_of(SequenceFirstModel(sizes), sizes, fused=False),
    }
    if with_peers and installed("x_transformers"):
        steps["x-transformers"] = step_of(XTransformersModel(sizes), sizes)
    return steps


def step_of(model: nn.Module, sizes: Sizes, *, fused: bool = True) -> Callable[[], None]:
    """One optimisation step of a model."""
    # The loop of Python over all parameters is what the classic code has; the others update in one pass over the memory.
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=fused, foreach=False)
    batch = sizes.rows()

    def step() -> None:
        optimizer.zero_grad(set_to_none=True)
        model(batch).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()

    return step


def measure_steps(steps: dict[str, Callable[[], None]], sizes: Sizes, *, rounds: int, clock: str) -> list[StepRow]:
    """All models side by side, and the memory of a step of each."""
    floor = Floor(sizes)
    found = ratios(floor.step, {**steps, "products and attention alone": floor.step}, rounds, clock)
    return [StepRow(name, *found[name], peak_memory(steps[name]) if name in steps else 0) for name in found]


def profile_of(step: Callable[[], None]) -> dict[str, float]:
    """The share of each group of operations in the time of a step, which has run before."""
    with profile(activities=[ProfilerActivity.CPU]) as profiler:
        step()
    times = dict.fromkeys((*GROUPS, "other"), 0.0)
    for event in profiler.key_averages():
        group = next((name for name, parts in GROUPS.items() if any(part in event.key for part in parts)), "other")
        times[group] += event.self_cpu_time_total
    whole = sum(times.values())
    return {name: spent / whole for name, spent in times.items()}


def document_of(sizes: Sizes, *, rounds: int, clock: str, with_peers: bool = True) -> dict[str, Any]:
    """Everything that is measured, with the conditions, for JSON."""
    steps = make_steps(sizes, with_peers=with_peers)
    rows = measure_steps(steps, sizes, rounds=rounds, clock=clock)
    shares = {name: profile_of(step) for name, step in steps.items()}
    step_ms = next(row.milliseconds for row in rows if row.model == OUR_MODEL)
    loading = measure_loading(sizes, step_ms, clock=clock)
    conditions: dict[str, Any] = {
        **asdict(sizes),
        "rounds": rounds,
        "clock": clock,
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
        "processor": processor(),
        "load": round(os.getloadavg()[0], 1),
    }
    if "x-transformers" in steps:
        conditions["x-transformers"] = version("x-transformers")
    return {
        "conditions": conditions,
        "steps": [row.as_dict() for row in rows],
        "shares": shares,
        "loading": [each.as_dict() for each in loading],
    }


def table_of(document: dict[str, Any]) -> str:
    """Markdown: the steps, where their time goes, and what loading takes."""
    lines = ["| model | step / arithmetic alone | ms | peak memory |", "|---|--:|--:|--:|"]
    for row in document["steps"]:
        memory = f"{row['memory'] / 1e6:.0f} MB" if row["memory"] else ""
        lines.append(f"| {row['model']} | {row['ratio']:.2f} | {row['milliseconds']:.0f} | {memory} |")
    names = (*GROUPS, "other")
    lines += ["", f"| share of the time | {' | '.join(names)} |", f"|---|{'--:|' * len(names)}"]
    for model, shares in document["shares"].items():
        lines.append(f"| {model} | {' | '.join(f'{100 * shares[name]:.0f} %' for name in names)} |")
    lines += ["", "| loading a batch | ms | share of the step |", "|---|--:|--:|"]
    lines += [
        f"| {each['kind']} | {each['milliseconds']:.2f} | {100 * each['share']:.3f} % |" for each in document["loading"]
    ]
    return "\n".join(lines)
