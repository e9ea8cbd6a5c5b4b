"""
The classic experiment on nine plays of Shakespeare: `python benchmarks/shakespeare.py [folder]`.

A small GPT as nanoGPT trains it on a CPU, written anew, and the model of this library, learn from the same characters and are measured on
the same held-out play. They take turns of a few updates each, on one thread, so that other work on the machine disturbs both alike. What
counts is the CPU time of the process in the updates; the measurements between them are left out.
"""

import json
import math
import os
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import nn

from headwise.bench.language_models import FusedModel, Sizes
from headwise.bench.suite import processor
from headwise.drawing import Drawing, curves
from headwise.generation.stream import Sampling, write
from headwise.train.batch import Batch
from headwise.train.build import build_model
from headwise.train.config import RunConfig
from headwise.train.data import TextData
from headwise.train.loop import Training
from headwise.train.loss import mean_loss
from headwise.train.material import Material
from headwise.train.observer import Observer
from headwise.train.schedule import warmup_cosine
from headwise.train.toml import read_toml

SETTINGS = Path(__file__).with_suffix(".toml")
SIZES = Sizes(layers=4, width=128, heads=4, tokens=64, batch=12)
STEPS, TURNS = 2000, 20
NAMES = ("small GPT", "headwise")
SAMPLE = 500


@dataclass
class Contender:
    """A model in training: its next update, its loss on some batches, and what was seen of it so far."""

    model: nn.Module
    steps: int
    update: Callable[[int], None]
    loss: Callable[[Iterable[Batch]], float]
    done: int = 0
    seconds: float = 0.0
    points: list[dict[str, float]] = field(default_factory=list)

    def turn(self, until: int, batches: list[Batch]) -> None:
        """Updates up to the step `until`, timed, and a measurement, which is not timed."""
        began = time.process_time()
        while self.done < until:
            self.update(self.done)
            self.done += 1
        self.seconds += time.process_time() - began
        self.points.append({"step": self.done, "seconds": round(self.seconds, 2), "loss": round(self.loss(batches), 4)})

    @property
    def parameters(self) -> int:
        return sum(each.numel() for each in self.model.parameters())


def fused(data: TextData, vocab: int, *, seed: int) -> Contender:
    """The small GPT with the settings that nanoGPT names for a CPU."""
    torch.manual_seed(seed)
    model = FusedModel(Sizes(**{**vars(SIZES), "vocab": vocab}))
    # Matrices that write into the sum of all layers start smaller, as in GPT-2.
    for name, weight in model.named_parameters():
        if name.endswith(("output.weight", "down.weight")):
            nn.init.normal_(weight, std=0.02 / math.sqrt(2 * SIZES.layers))
    groups = [
        {"params": [each for each in model.parameters() if each.ndim >= 2], "weight_decay": 0.1},
        {"params": [each for each in model.parameters() if each.ndim < 2], "weight_decay": 0.0},
    ]
    optimizer = torch.optim.AdamW(groups, lr=1e-3, betas=(0.9, 0.99), fused=True)

    def update(step: int) -> None:
        for group in optimizer.param_groups:
            group["lr"] = warmup_cosine(step, warmup=100, total=STEPS, peak=1e-3, final=1e-4)
        optimizer.zero_grad(set_to_none=True)
        model(data.batch(seed=seed, step=step, rows=SIZES.batch)).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()

    @torch.no_grad()
    def loss(batches: Iterable[Batch]) -> float:
        sums = [(model(batch).item() * batch.count, batch.count) for batch in batches]
        return sum(part for part, _ in sums) / sum(count for _, count in sums)

    return Contender(model, STEPS, update, loss)


def own(data: TextData, vocab: int, config: RunConfig) -> Contender:
    """The model of this library, with the settings of a file."""
    model = build_model(config.model, vocab=vocab, seed=config.train.seed)
    training = Training(model, data, config.train, run=None, observer=Observer(), d_model=config.model.d_model)
    model.train()

    def update(step: int) -> None:
        training.update()

    return Contender(model, config.train.steps, update, lambda batches: mean_loss(model, batches))


def compete(contenders: list[Contender], data: TextData, rows: int) -> None:
    """Lets the contenders take turns; all begin together and end together."""
    batches = list(data.validation_batches(rows=64, limit=rows))
    for turn in range(TURNS + 1):
        for each in contenders:
            each.turn(each.steps * turn // TURNS, batches)
        print(turn, *(each.points[-1] for each in contenders), flush=True)


def reached(points: list[dict[str, float]], goal: float) -> dict[str, float] | None:
    """The first measurement that is at most `goal`."""
    return next((point for point in points if point["loss"] <= goal), None)


def summary(contenders: list[Contender], data: TextData) -> dict[str, Any]:
    """What came out, for JSON."""
    base, ours = contenders
    goal = base.points[-1]["loss"]
    there = reached(ours.points, goal)
    batches = list(data.validation_batches(rows=64, limit=len(data.validation)))
    return {
        "goal": goal,
        "reached": there,
        "share": None if there is None else round(there["seconds"] / base.points[-1]["seconds"], 3),
        "whole_text": {name: round(each.loss(batches), 4) for name, each in zip(NAMES, contenders, strict=True)},
        "parameters": {name: each.parameters for name, each in zip(NAMES, contenders, strict=True)},
        "points": {name: each.points for name, each in zip(NAMES, contenders, strict=True)},
        "tokens": {"training": len(data.training), "validation": len(data.validation)},
        "conditions": {
            "threads": torch.get_num_threads(),
            "torch": torch.__version__,
            "processor": processor(),
            "load": round(os.getloadavg()[0], 1),
        },
    }


def draw(points: dict[str, list[dict[str, float]]]) -> Drawing:
    """The curves of the losses, out of what stands in the JSON file."""
    # The first losses, near the logarithm of the vocabulary, would press the rest of both curves flat.
    lines = {
        name: [(point["seconds"], point["loss"]) for point in line if point["loss"] < 2.8]
        for name, line in points.items()
    }
    alt = "Two curves: the validation loss of both models over the CPU seconds of their training"
    return curves(lines, alt=alt, across="CPU seconds", up="validation loss, nats per character")


def main(folder: Path, settings: Path) -> None:
    torch.set_num_threads(1)
    config = read_toml(settings)
    material = Material.of(config)
    data, vocab = material.data, material.tokenizer.vocab
    contenders = [fused(data, vocab, seed=config.train.seed), own(data, vocab, config)]
    compete(contenders, data, config.train.validation_rows)
    found = summary(contenders, data)
    prompt = material.tokenizer.encode(config.train.prompt)[None]
    sampling = Sampling(temperature=0.8, seed=config.train.seed)
    tokens = write(contenders[1].model.eval(), prompt, count=SAMPLE, sampling=sampling, context=config.model.context)
    found["sample"] = material.tokenizer.decode(tokens[0])
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "shakespeare.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    draw(found["points"]).save(folder / "shakespeare.svg")
    print(json.dumps({name: value for name, value in found.items() if name != "points"}, indent=1))


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "."), Path(sys.argv[2]) if len(sys.argv) > 2 else SETTINGS)
