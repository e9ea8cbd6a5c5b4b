"""
---
title: headwise data
summary: What a text holds, and the tokens that it becomes.
---

# headwise data
"""

from dataclasses import dataclass
from typing import Annotated, Literal

import tyro

from headwise.commands.outcome import Outcome


@dataclass(frozen=True)
class Data:
    """Say what a text holds, and make its tokens."""

    action: tyro.conf.Positional[Literal["info"]]
    """What to do with the text: `info` describes it."""
    source: tyro.conf.Positional[str] = "manual"
    """The text, as in `headwise train --data`."""
    encoding: str = "utf-8"
    """Encoding of the files."""
    tokenizer: str = "characters"
    """What a token is: characters, bytes, bpe (learned from the text), or a tokenizer.json."""
    vocab: int = 1024
    """Number of tokens of bpe."""
    documents: Literal["joined", "apart"] = "joined"
    """Documents as one text, or kept apart."""
    seed: int = 1
    """Seed of the split into training and validation."""
    json: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    """Print the result as one JSON document in the last line."""

    def __call__(self) -> Outcome:
        from headwise.train.information import described, information

        facts = information(
            self.source,
            encoding=self.encoding,
            tokenizer=self.tokenizer,
            vocab=self.vocab,
            documents=self.documents,
            seed=self.seed,
        )
        for name, value in described(facts):
            print(f"{name:<11} {value}")
        return Outcome(facts)
