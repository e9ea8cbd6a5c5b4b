"""
---
title: headwise eval
summary: Measures the model of a run: loss, bits per byte, perplexity.
---

# headwise eval
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from headwise.commands.outcome import Outcome


@dataclass(frozen=True)
class Eval:
    """Measure the model of a run: loss, bits per byte, perplexity."""

    run: tyro.conf.Positional[Path]
    """Folder of a run, as `headwise train` makes it."""
    data: str | None = None
    """Another text, all of which is measured; by default the validation text of the run."""
    encoding: str = "utf-8"
    """Encoding of the files of `--data`."""
    rows: int | None = None
    """Measure this many rows, spread evenly over the text; all by default."""
    json: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    """Print the result as one JSON document in the last line."""

    def __call__(self) -> Outcome:
        from headwise.train.baselines import bits
        from headwise.train.evaluation import evaluate

        found = evaluate(self.run, data=self.data, encoding=self.encoding, rows=self.rows)
        print(f"tokens         {found.tokens:,}")
        print(f"loss           {found.loss:.4f} nats per token, {bits(found.loss):.4f} bits")
        print(f"per character  {found.per_character:.4f} nats, {bits(found.per_character):.4f} bits")
        print(f"per byte       {found.bits_per_byte:.4f} bits")
        print(f"perplexity     {found.perplexity:.3f} tokens")
        return Outcome(
            {
                "run": str(self.run),
                "tokens": found.tokens,
                "loss": found.loss,
                "loss_per_character": found.per_character,
                "bits_per_byte": found.bits_per_byte,
                "perplexity": found.perplexity,
            }
        )
