"""
---
title: headwise sample
summary: Lets the model of a run write, one token after the other.
---

# headwise sample
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

from headwise.commands.outcome import Outcome


@dataclass(frozen=True)
class Sample:
    """Let the model of a run write text."""

    run: tyro.conf.Positional[Path]
    """Folder of a run, as `headwise train` makes it."""
    prompt: str | None = None
    """Text that the model continues; a line break by default, or the first token where the tokenizer has no line break."""
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
    when_full: Literal["recompute", "evict"] = "recompute"
    """Beyond the context: read half of the window again, or forget the oldest keys."""
    explain: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    """Say of each token how likely it was, what else was, and what the model looked at: a table on a terminal, JSON elsewhere."""
    json: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    """Print the result as one JSON document in the last line."""

    def __call__(self) -> Outcome:
        from headwise.generation.logits import SamplingError
        from headwise.generation.stream import Sampling, stream
        from headwise.train.build import load_run
        from headwise.train.progress import printable

        if self.tokens < 0:
            raise SamplingError(f"`tokens` counts the tokens to write and must be at least 0. Got {self.tokens}.")
        if self.explain and self.when_full == "evict":
            raise SamplingError(
                "`explain` reads the text again in windows. Got `when_full='evict'`, which does not; leave one of them away."
            )
        model, tokenizer, config = load_run(self.run)
        asked, prompt = self._prompt(tokenizer)
        sampling = Sampling(self.temperature, self.top_k, self.top_p, self.seed)
        written: list[int] = []
        shown = ""
        # Each token goes to the screen when it is drawn. The prompt stands before it, without the line break it may begin with.
        # Explained to a program, the output is JSON alone.
        quiet = self.explain and not sys.stdout.isatty()
        write: Callable[[str], Any] = (lambda text: None) if quiet else sys.stdout.write
        write(printable(asked.lstrip("\n")))
        for drawn in stream(
            model,
            prompt,
            count=self.tokens,
            sampling=sampling,
            context=config.model.context,
            cached=self.cache,
            when_full=self.when_full,
        ):
            written.append(int(drawn[0]))
            text = tokenizer.decode(written)
            # A character may be spread over several tokens; it is shown when it is whole.
            if not text.endswith("\ufffd"):
                write(printable(text[len(shown) :]))
                sys.stdout.flush()
                shown = text
        write("\n")
        document: dict[str, Any] = {
            "run": str(self.run),
            "prompt": asked,
            "text": tokenizer.decode(written),
            "tokens": len(written),
            "seed": self.seed,
        }
        if self.explain:
            document["explanation"] = self._explain(model, tokenizer, prompt, written, config.model.context)
        return Outcome(document)

    def _prompt(self, tokenizer: Any) -> tuple[str, Any]:
        """The text to continue, and its tokens in a batch of one row."""
        from headwise.train.tokenizer import TokenizerError

        if self.prompt is not None:
            return self.prompt, tokenizer.encode(self.prompt)[None]
        try:
            return "\n", tokenizer.encode("\n")[None]
        except TokenizerError:
            # A text in one line has taught no line break. Its first character in the order of the alphabet is as good a beginning.
            first = tokenizer.decode([0])
            return first, tokenizer.encode(first)[None]

    def _explain(
        self, model: Any, tokenizer: Any, prompt: Any, written: list[int], context: int
    ) -> list[dict[str, Any]]:
        """Explain what was written, and show it, unless the document that follows holds it."""
        import json

        import torch
        from rich.console import Console

        from headwise.generation.window import window_start
        from headwise.recording.explain_text import explain_text, print_explained

        tokens = torch.cat([prompt[0], torch.tensor(written, dtype=prompt.dtype)])
        explained = explain_text(
            model,
            tokens,
            lambda token: tokenizer.decode([token]),
            first=prompt.shape[1],
            window=lambda length: window_start(length, context),
        )
        documents = [each.as_document() for each in explained]
        console = Console(highlight=False)
        if console.is_terminal:
            print_explained(console, explained)
        elif not self.json:
            # A line for each token, which other programs read one by one.
            for each in documents:
                print(json.dumps(each, ensure_ascii=False))
        return documents
