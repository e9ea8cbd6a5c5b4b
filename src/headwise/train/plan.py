"""
---
title: The plan of a training
summary: Parameters, memory, arithmetic and time of a training that has not begun.
---

# The plan of a training

The model is built on the *meta* device, where tensors have shapes and no numbers: its weights are counted and never made. What its passes
[keep](activations.py) is counted there, too. The arithmetic of a token follows from the sizes:

$$6 N + 6 \\cdot \\text{layers} \\cdot M \\cdot \\text{context}$$

for $N$ parameters in matrices: a multiplication and an addition for each in the forward pass, twice that in the backward pass. The second
term is the attention, of which a causal mask leaves one half.

The time is a rule of thumb: a product of matrices of the model's size is timed for a moment, and a training reaches
about half of that speed.

*Source.* Kaplan et al., 2020, "Scaling laws for neural language models", section 2.1, https://arxiv.org/abs/2001.08361.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import nn

from headwise.call import Call
from headwise.explanation import explain_call
from headwise.mask.causal import Causal
from headwise.mask.documents import Documents
from headwise.train.activations import activation_memory
from headwise.train.build import assembled
from headwise.train.config import RunConfig
from headwise.train.precision import DTYPES
from headwise.train.threads import asked_for

# The share of the speed of a lone product that a whole update reaches.
SHARE = 0.5
# A layer that is computed twice makes its forward pass twice.
RECOMPUTED = 4 / 3


@dataclass(frozen=True)
class Plan:
    """What a training needs; memory in bytes."""

    parameters: int
    in_matrices: int
    weights: int
    gradients: int
    moments: int
    activations: int
    flops_per_token: float
    tokens_per_update: int
    tokens: int
    engine: str
    engine_how: str
    flops_per_second: float

    @property
    def memory(self) -> int:
        """All of the memory."""
        return self.weights + self.gradients + self.moments + self.activations

    @property
    def flops(self) -> float:
        """The arithmetic of the whole training."""
        return self.flops_per_token * self.tokens

    @property
    def seconds(self) -> float:
        """The time of the updates."""
        return self.flops / (self.flops_per_second * SHARE)


def make_plan(config: RunConfig, *, vocab: int, rate: Callable[[RunConfig], float] | None = None) -> Plan:
    """The plan of the training that the settings describe; `rate` measures the machine."""
    config.check()
    shape, train = config.model, config.train
    with torch.device("meta"):
        model = assembled(shape, vocab)
    parameters = sum(each.numel() for each in model.parameters())
    # A table of positions is looked up and not multiplied; the table of the tokens is multiplied by the generator, tied or not.
    inside = sum(
        each.numel() for module in model.modules() if isinstance(module, nn.Linear) for each in [module.weight]
    )
    inside += vocab * shape.d_model if shape.tied else 0
    attention = 6 * shape.layers * shape.d_model * shape.context
    engine, how = _engine(config)
    return Plan(
        parameters=parameters,
        in_matrices=inside,
        weights=4 * parameters * (1 if train.ema is None else 2),
        gradients=4 * parameters,
        moments=_moments(config, model),
        activations=activation_memory(config, vocab),
        flops_per_token=(6 * inside + attention) * (RECOMPUTED if shape.recompute else 1.0),
        tokens_per_update=train.batch * shape.context,
        tokens=train.steps * train.batch * shape.context,
        engine=engine,
        engine_how=how,
        flops_per_second=(rate or product_rate)(config),
    )


def product_rate(config: RunConfig, *, seconds: float = 0.3) -> float:
    """Operations a second in products of the size of a feed-forward block."""
    choice = asked_for(config.train.threads)
    before = torch.get_num_threads()
    torch.set_num_threads(choice.threads if choice else 1)
    try:
        rows = min(config.train.batch // config.train.accumulate * config.model.context, 2048)
        # A plan must not need the memory of what it plans, and wider products are as fast.
        width = min(config.model.d_model, 2048)
        x = torch.randn(rows, width)
        weight = torch.randn(4 * width, width)
        count, start = 0, time.perf_counter()
        while time.perf_counter() - start < seconds:
            x @ weight.T
            count += 1
        return count * 2 * x.numel() * len(weight) / (time.perf_counter() - start)
    finally:
        torch.set_num_threads(before)


def _moments(config: RunConfig, model: nn.Module) -> int:
    matrices = sum(
        module.weight.numel()
        for name, module in model.named_modules()
        if isinstance(module, nn.Linear) and name != "generator"
    )
    # AdamW keeps two numbers for each weight, Muon one for each weight of a matrix inside the layers.
    muon = matrices if config.train.optimizer == "muon" else 0
    return 4 * (2 * sum(each.numel() for each in model.parameters()) - muon)


def _engine(config: RunConfig) -> tuple[str, str]:
    """The engine of the model's attention, and how it would run."""
    shape = config.model
    # The choice follows from the length of the rows; of rows there are enough here to stand for more.
    rows = min(config.train.batch // config.train.accumulate, 64)
    dtype = DTYPES.get(config.train.precision, torch.float32)
    size = (rows, shape.heads, shape.context, shape.d_model // shape.heads)
    # The memory of these tensors is never touched.
    query = torch.empty(size, dtype=dtype, requires_grad=True)
    key, value = (torch.empty((rows, shape.kv_heads or shape.heads, *size[2:]), dtype=dtype) for _ in range(2))
    # Two documents in each row stand for those of the text.
    ids = (torch.arange(shape.context) >= shape.context // 2).long().expand(rows, -1)
    mask = Causal() & Documents(ids) if config.documents == "apart" else Causal()
    explanation = explain_call(Call.of(query, key, value, mask=mask))
    return explanation.engine, explanation.how


def plan_lines(plan: Plan, config: RunConfig, *, characters: int | None) -> list[tuple[str, str]]:
    """The plan in words, a name and a value for each line."""
    batch = f"{config.train.steps:,} updates of {plan.tokens_per_update:,}"
    seen = f"{plan.tokens:,} tokens: {batch}"
    if characters and config.tokenizer in ("characters", "bytes"):
        seen += f"; the training text {plan.tokens / (0.9 * characters):.1f} times"
    memory = f"weights {size(plan.weights)}, gradients {size(plan.gradients)}, moments {size(plan.moments)}"
    return [
        ("parameters", f"{plan.parameters:,}, of which {plan.in_matrices:,} multiply each token"),
        ("memory", f"{size(plan.memory)}: {memory}, activations {size(plan.activations)}"),
        ("FLOPs", f"{plan.flops_per_token:.3g} for each token, {plan.flops:.3g} in all"),
        ("tokens", seen),
        ("engine", f"{plan.engine}: {plan.engine_how}"),
        (
            "time",
            f"about {duration(plan.seconds)}, at half of the {plan.flops_per_second / 1e9:.0f} GFLOP/s of a product here",
        ),
    ]


def size(count: float) -> str:
    """A number of bytes in words.

    ```python
    >>> size(512), size(3_500_000)
    ('512 B', '3.5 MB')

    ```
    """
    units = ["B", "kB", "MB", "GB", "TB"]
    while count >= 1000 and len(units) > 1:
        count, units = count / 1000, units[1:]
    return f"{count:.3g} {units[0]}"


def duration(seconds: float) -> str:
    """A time in words.

    ```python
    >>> duration(90), duration(7200), duration(400_000)
    ('90 s', '2.0 hours', '4.6 days')

    ```
    """
    for name, unit in (("years", 365 * 86_400), ("days", 86_400), ("hours", 3600), ("minutes", 60)):
        if seconds >= 2 * unit:
            return f"{seconds / unit:,.1f} {name}"
    return f"{seconds:.0f} s"
