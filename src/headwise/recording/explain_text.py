"""
---
title: A text, explained
summary: For each token that a model wrote: how likely it was, what else was likely, and which tokens the model looked at.
---

# A text, explained

Probabilities are those of the model itself, before temperature, top-k and top-p. What the model looked at is the mean weight over all
layers and heads, of the query that the token was drawn from. One pass over each window of the text gives all of it; the windows are
those that the model saw when it wrote.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from itertools import groupby
from typing import Any

import torch
from jaxtyping import Int
from rich.console import Console
from rich.style import Style
from rich.text import Text
from torch import Tensor, nn

from headwise.recording.recorder import record
from headwise.recording.terminal import has_colours, label, print_line, rgb
from headwise.recording.tokens import visible


@dataclass(frozen=True)
class Choice:
    """A token that could have come, or that was looked at, with its probability or weight; `place` counts from the first token of the text."""

    text: str
    share: float
    place: int | None = None


@dataclass(frozen=True)
class Explained:
    """One token; the entropy, of the model's choice, is in nats."""

    place: int
    text: str
    probability: float
    entropy: float
    alternatives: list[Choice]
    attended: list[Choice]

    def as_document(self) -> dict[str, Any]:
        """The same as plain values, shares to four places."""
        document = asdict(self) | {"probability": round(self.probability, 4), "entropy": round(self.entropy, 4)}
        document["alternatives"] = [
            {"text": each.text, "probability": round(each.share, 4)} for each in self.alternatives
        ]
        document["attended"] = [
            {"place": each.place, "text": each.text, "weight": round(each.share, 4)} for each in self.attended
        ]
        return document


@torch.no_grad()
def explain_text(
    model: nn.Module,
    tokens: Int[Tensor, " N"],
    text_of: Callable[[int], str],
    *,
    first: int,
    window: Callable[[int], int] = lambda length: 0,
    most: int = 3,
) -> list[Explained]:
    """
    Explain the tokens from place `first` on, which must be at least 1: nothing predicts the first token of a text.

    `window` says at which token the model began to read a text of so many tokens; at the first one if not given.
    """
    found: list[Explained] = []
    for start, group in groupby(range(first, len(tokens)), key=window):
        places = list(group)
        rows = [place - 1 - start for place in places]
        with record(model, rows=rows) as tape:
            logits = model(tokens[None, start : places[-1]])[0, rows]
        weights_IJ = torch.stack([records[0].weights[0].mean(0) for records in tape.values()]).mean(0)
        chances_IV = logits.float().softmax(-1)
        for place, chances, weights in zip(places, chances_IV, weights_IJ, strict=True):
            found.append(explain_token(place, tokens, text_of, chances, weights, start, most))
    return found


def explain_token(
    place: int, tokens: Tensor, text_of: Callable[[int], str], chances: Tensor, weights: Tensor, start: int, most: int
) -> Explained:
    """Explain one token; `start` is the place of the first key."""
    token = int(tokens[place])
    likely, looked = chances.topk(min(most + 1, len(chances))), weights.topk(min(most, place - start))
    others = [(int(other), float(share)) for share, other in zip(*likely, strict=True) if int(other) != token]
    attended = [(start + int(key), float(weight)) for weight, key in zip(*looked, strict=True) if weight > 0]
    return Explained(
        place,
        text_of(token),
        float(chances[token]),
        float(torch.special.entr(chances).sum()),
        [Choice(text_of(other), share) for other, share in others[:most]],
        [Choice(text_of(int(tokens[key])), weight, key) for key, weight in attended],
    )


def print_explained(console: Console, explained: list[Explained]) -> None:
    """A line for each token; the colour of a token says how likely it was."""
    print_line(
        console, Text(f"{'':>4}{'token':<10} {'chance':>6} {'entropy':>7}  {'instead':<27}  looked at", style="bold")
    )
    for each in explained:
        line = Text(
            label(each.place, visible(each.text)), style=style_of(each.probability) if has_colours(console) else ""
        )
        instead = "  ".join(f"{visible(other.text)} {other.share:.2f}" for other in each.alternatives)
        looked = "  ".join(f"{visible(key.text)}({key.place}) {key.share:.2f}" for key in each.attended)
        line.append(
            f" {each.probability:>6.3f} {each.entropy:>7.2f}  {instead:<27}  {looked}",
            style=Style(color="default", bgcolor="default"),
        )
        print_line(console, line)


def style_of(probability: float) -> Style:
    """Dark where the token was likely, pale where it was a surprise."""
    return Style(color="rgb(255,255,255)" if probability > 0.45 else "rgb(0,0,0)", bgcolor=rgb(probability))
