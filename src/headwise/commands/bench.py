"""
---
title: headwise bench
summary: Measure every engine and its peers on this machine.
---

# headwise bench
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

from headwise.commands.outcome import Outcome


@dataclass(frozen=True)
class Bench:
    """Measure every engine and what PyTorch offers, side by side: speed as ratios, memory, and the error beside each."""

    what: tyro.conf.Positional[Literal["attention", "train"]] = "attention"
    """The rules of attention, or one optimisation step of a small language model; of the flags, the step knows
    --rounds, --threads, --clock, --peers, --out and --json."""
    tokens: int = 4096
    """Queries and keys."""
    heads: int = 2
    """Heads."""
    head_dim: int = 64
    """Features a head."""
    batch: int = 1
    """Sequences."""
    rounds: int = 7
    """Rounds; each runs every contender once."""
    threads: int = 1
    """Threads of a product."""
    clock: Literal["wall", "cpu"] = "wall"
    """Wall time, or time of the processor, which other programs disturb less; with one thread they mean the same."""
    rules: tuple[str, ...] = ()
    """Names of rules; all by default."""
    matrices: bool = True
    """Whether those run, too, that write out the matrix of all pairs: they take most of the time."""
    layers: bool = True
    """Whether layers are measured, too."""
    peers: bool = True
    """Whether other libraries run, too, those that are installed; FlexAttention takes some seconds to compile for each rule."""
    scaling: tuple[int, ...] = ()
    """Lengths of the scaling plot, such as 1024 2048 4096; none by default."""
    out: Path | None = None
    """A folder for bench.json, bench.svg and, with lengths, scaling plots."""
    json: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    """Print the result as one JSON document in the last line."""

    def __call__(self) -> Outcome:
        import torch

        from headwise.bench.report import table
        from headwise.bench.rules import Shape, make_rules
        from headwise.bench.suite import (
            conditions,
            measure_layers,
            measure_padded_layers,
            measure_rules,
            measure_scaling,
        )
        from headwise.errors import ArgumentError

        for name in ("tokens", "heads", "head_dim", "batch", "rounds", "threads"):
            if getattr(self, name) < 1:
                raise ArgumentError(f"`{name}` must be at least 1. Got {getattr(self, name)}.")
        if self.what == "train":
            return self._train()
        shape = Shape(self.batch, self.heads, self.tokens, self.head_dim)
        unknown = set(self.rules) - set(make_rules(shape))
        if unknown:
            raise ArgumentError(
                f"`rules` must be among {', '.join(make_rules(shape))}. Got {', '.join(sorted(unknown))}."
            )
        before = torch.get_num_threads()
        torch.set_num_threads(self.threads)
        try:
            flags = {"matrices": self.matrices, "with_peers": self.peers}
            rows = list(measure_rules(shape, self.rules, self.rounds, self.clock, **flags))
            if self.layers:
                rows += measure_layers(16, 512, 256, 16, self.rounds, self.clock)
                rows += measure_layers(4, 1024, 768, 12, self.rounds, self.clock)
                rows += measure_padded_layers(16, 512, 256, 16, self.rounds, self.clock, with_peers=self.peers)
            points = measure_scaling(shape, self.scaling, self.rounds, self.clock) if self.scaling else []
            under = conditions(shape, self.rounds, self.clock)
            document = {
                "conditions": under,
                "rows": [row.as_dict() for row in rows],
                "scaling": points,
            }
        finally:
            torch.set_num_threads(before)
        print("  ".join(f"{name} {value}" for name, value in under.items()) + "\n")
        print(table(rows))
        if self.out is not None:
            self._write(self.out, document, rows, points)
        return Outcome(document)

    def _train(self) -> Outcome:
        import torch

        from headwise.bench.language_models import Sizes
        from headwise.bench.train import document_of, table_of

        before = torch.get_num_threads()
        torch.set_num_threads(self.threads)
        try:
            document = document_of(Sizes(), rounds=self.rounds, clock=self.clock, with_peers=self.peers)
        finally:
            torch.set_num_threads(before)
        print("  ".join(f"{name} {value}" for name, value in document["conditions"].items()) + "\n")
        print(table_of(document))
        if self.out is not None:
            self.out.mkdir(parents=True, exist_ok=True)
            (self.out / "train.json").write_text(json.dumps(document, indent=1) + "\n")
            print(f"\nwritten to {self.out}")
        return Outcome(document)

    def _write(self, folder: Path, document: dict[str, Any], rows: list[Any], points: list[dict[str, Any]]) -> None:
        from headwise.bench.report import bars, curves

        folder.mkdir(parents=True, exist_ok=True)
        (folder / "bench.json").write_text(json.dumps(document, indent=1) + "\n")
        (folder / "bench.svg").write_text(bars([row for row in rows if "layer" not in row.rule]))
        if points:
            (folder / "time.svg").write_text(curves(points, "ms", "Milliseconds of a forward pass over the length"))
            (folder / "memory.svg").write_text(curves(points, "bytes", "Extra bytes of a forward pass over the length"))
        print(f"\nwritten to {folder}")
