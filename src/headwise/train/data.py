"""
---
title: Batches
summary: Each batch is a pure function of the seed and the step, and documents in one row can be kept apart.
---

# Batches

The sampler has no state: which rows belong to the batch of a step follows from the seed and the step alone.
A run that goes on after an interruption therefore continues with the next batch, and not with the first one.

Rows are pieces of the whole text, so most of them hold the end of one document and the beginning of another. Kept apart, each document
sees only itself, as if it stood in a row alone; nothing is wasted on filling rows up.

*Source.* Krell et al., 2021, "Efficient sequence packing without cross-contamination", https://arxiv.org/abs/2107.02027.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from headwise.mask.documents import Documents
from headwise.train.batch import NO_TARGET, Batch, aligned, padded
from headwise.train.choose_tokenizer import Tokenizer
from headwise.train.data_error import DataError
from headwise.train.token_file import TokenSet

__all__ = ["NO_TARGET", "Batch", "Part", "TextData", "Tokens", "aligned", "padded"]

# Tokens in memory, or in a token file that is mapped into memory.
Tokens = Tensor | np.ndarray


@dataclass(frozen=True, eq=False)
class Part:
    """The tokens of one half, and the places where its documents begin, if they are kept apart."""

    tokens: Tokens
    starts: np.ndarray | None = None

    def rows(self, places: Int[np.ndarray, " B"], context: int, *, restart: bool) -> Batch:
        """The rows of `context` targets that begin at these places."""
        slots = np.asarray(places)[:, None] + np.arange(context + 1)
        # The file holds small numbers; the model wants large ones. Only the rows are converted.
        batch = aligned(torch.as_tensor(np.asarray(self.tokens)[slots].astype(np.int64)))
        return batch if self.starts is None else _apart(batch, slots, self.starts, restart=restart)


def _apart(batch: Batch, slots: np.ndarray, starts: np.ndarray, *, restart: bool) -> Batch:
    """The batch of packed rows: no token sees another document, and none has the first token of the next document as its target."""
    documents = np.searchsorted(starts, slots, side="right") - 1
    ends = torch.from_numpy(documents[:, 1:] != documents[:, :-1])
    targets = batch.targets.masked_fill(ends, NO_TARGET)
    ids = documents[:, :-1] - documents[:, :1]
    # A row inside of one document needs no mask.
    if not ids.any():
        return replace(batch, targets=targets)
    # A document that began before the row stands at the row's first place, as any other text that is cut.
    begins = np.maximum(starts[documents[:, :-1]], slots[:, :1])
    positions = torch.from_numpy(slots[:, :-1] - begins) if restart else None
    return Batch(batch.inputs, targets, Documents(torch.from_numpy(ids)), positions)


@dataclass(frozen=True, eq=False)
class TextData:
    """The tokens of training and validation, and the rows that are cut out of them.

    Where the places at which documents begin are given, documents in one row do not see each other. `restart` is for schemes that
    know absolute positions: they then count from the beginning of each document.
    """

    training: Tokens
    validation: Tokens
    context: int
    training_starts: np.ndarray | None = None
    validation_starts: np.ndarray | None = None
    restart: bool = False

    @classmethod
    def of(cls, texts: tuple[str, str], tokenizer: Tokenizer, *, context: int) -> "TextData":
        """The data of a training text and a validation text, encoded and checked for their length."""
        parts = [tokenizer.encode(text) for text in texts]
        return cls(parts[0], parts[1], context).checked()

    @classmethod
    def of_tokens(cls, tokens: TokenSet, *, context: int, apart: bool = False, restart: bool = False) -> "TextData":
        """The data of a token file."""
        training, validation = tokens.training, tokens.validation
        return cls(
            training.tokens,
            validation.tokens,
            context,
            training.starts if apart else None,
            validation.starts if apart else None,
            restart,
        ).checked()

    def checked(self) -> "TextData":
        """The same data, if both texts are long enough for one row."""
        if self.context < 1:
            raise DataError(f"`context` must be at least 1. Got {self.context}.")
        for name, tokens in (("training", self.training), ("validation", self.validation)):
            if len(tokens) < self.context + 1:
                raise DataError(
                    f"The {name} text must have at least context + 1 = {self.context + 1} tokens. It has {len(tokens)}, "
                    f"after a tenth of the text is set apart for validation; pass a longer text or a smaller `context`."
                )
        return self

    def batch(self, *, seed: int, step: int, rows: int, rank: int = 0, world: int = 1) -> Batch:
        """The batch of one step: rows that begin at places drawn from the seed and the step.

        Of `world` processes, each takes its share of the rows: `rank` says which. All shares together are the batch of one process.
        """
        if not (0 <= rank < world <= rows):
            raise DataError(
                f"Each process must have at least one row of a batch. Got rank={rank}, world={world} and {rows} rows."
            )
        # `default_rng` mixes all the numbers of the tuple, so that (seed 0, step 1) and (seed 1, step 0) have nothing in common.
        draw = np.random.default_rng((seed, step))
        places = draw.integers(0, len(self.training) - self.context, size=rows)
        share = places[rank * rows // world : (rank + 1) * rows // world]
        return Part(self.training, self.training_starts).rows(share, self.context, restart=self.restart)

    def validation_batches(self, *, rows: int, limit: int) -> Iterator[Batch]:
        """At most `limit` rows of the validation text that do not overlap, the same at each call, `rows` of them at a time."""
        # What is left at the end of the text is too short for a row. Where there are more rows than the limit, those that are taken
        # are spread evenly, because the beginning of a text is often unlike the rest of it.
        whole = (len(self.validation) - 1) // self.context
        taken = min(whole, limit)
        places = np.arange(taken) * whole // taken * self.context
        part = Part(self.validation, self.validation_starts)
        for start in range(0, taken, rows):
            yield part.rows(places[start : start + rows], self.context, restart=self.restart)

    def beginning(self, count: int) -> Int[Tensor, " I"]:
        """The first tokens of the validation text."""
        return torch.as_tensor(np.asarray(self.validation[:count]).astype(np.int64))
