"""
---
title: headwise sample
summary: Lets the model of a run write, one token after the other.
---

# headwise sample
"""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from headwise.commands.outcome import Outcome


@dataclass(frozen=True)
class Sample:
    """Let the model of a run write text."""

    run: tyro.conf.Positional[Path]
    """Folder of a run, as `headwise train` makes it."""
    prompt: str = "\n"
    """Text that the model continues."""
    tokens: int = 500
    """Number of tokens to write."""
    temperature: float = 0.8
    """0 takes the most likely token, 1 draws as the model says, more than 1 is bolder."""
    top_k: int | None = None
    """Draw from this many most likely tokens alone."""
    top_p: float | None = None
    """Draw from the most likely tokens that have this probability together."""
    seed: int = 0
    """Seed of the draws."""
    cache: bool = True
    """Keep keys and values of earlier tokens; the text is the same without it, and slower."""
    json: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    """Print the result as one JSON document in the last line."""

    def __call__(self) -> Outcome:
        from headwise.generation.logits import SamplingError
        from headwise.generation.stream import Sampling, stream
        from headwise.train.build import load_run
        from headwise.train.progress import printable

        if self.tokens < 0:
            raise SamplingError(f"`tokens` counts the tokens to write and must be at least 0. Got {self.tokens}.")
        model, tokenizer, config = load_run(self.run)
        prompt = tokenizer.encode(self.prompt)[None]
        sampling = Sampling(self.temperature, self.top_k, self.top_p, self.seed)
        written: list[int] = []
        shown = ""
        # Each token goes to the screen when it is drawn. The prompt stands before it, without the line break it may begin with.
        sys.stdout.write(printable(self.prompt.lstrip("\n")))
        for drawn in stream(
            model, prompt, count=self.tokens, sampling=sampling, context=config.model.context, cached=self.cache
        ):
            written.append(int(drawn[0]))
            text = tokenizer.decode(written)
            # A character may be spread over several tokens; it is shown when it is whole.
            if not text.endswith("\ufffd"):
                sys.stdout.write(printable(text[len(shown) :]))
                sys.stdout.flush()
                shown = text
        sys.stdout.write("\n")
        return Outcome(
            {
                "run": str(self.run),
                "prompt": self.prompt,
                "text": tokenizer.decode(written),
                "tokens": len(written),
                "seed": self.seed,
            }
        )
