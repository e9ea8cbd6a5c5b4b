"""
---
title: How good a model is
summary: Loss, bits per byte and perplexity on the whole validation text, or on another one.
---

# How good a model is

The loss of a report is measured on some rows of the validation text. Here it is measured on all of them, and in four units:

* nats per token, what the training minimises; its exponential, the *perplexity*, is the number of tokens among which the model wavers;
* nats per character and bits per *byte*, in which models with unlike tokenizers can be compared.

*Edge.* Rows do not overlap, so the first tokens of each row are predicted from few others. With a longer context the loss is lower.
"""

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from headwise.train.baselines import bits
from headwise.train.build import load_run
from headwise.train.config import ConfigError
from headwise.train.corpus import open_corpus
from headwise.train.data import TextData
from headwise.train.data_error import DataError
from headwise.train.loss import mean_loss
from headwise.train.material import Material
from headwise.train.run_folder import RunFolder
from headwise.train.split import Split, survey
from headwise.train.token_file import tokens_of


@dataclass(frozen=True)
class Evaluation:
    """A loss in nats per token, on how many tokens, and how many of them make a character and a byte."""

    loss: float
    tokens: int
    tokens_per_character: float
    tokens_per_byte: float

    @property
    def perplexity(self) -> float:
        """The exponential of the loss; infinite where it is too large for a number."""
        return math.exp(self.loss) if self.loss < 700 else math.inf

    @property
    def per_character(self) -> float:
        """The loss in nats per character."""
        return self.loss * self.tokens_per_character

    @property
    def bits_per_byte(self) -> float:
        """The loss in bits per byte of the text in UTF-8."""
        return bits(self.loss * self.tokens_per_byte)


def evaluate(path: Path, *, data: str | None = None, encoding: str = "utf-8", rows: int | None = None) -> Evaluation:
    """The model of a run folder, measured on its validation text or on the whole of another text; at most `rows` rows of it."""
    if rows is not None and rows < 1:
        raise ConfigError(f"`rows` must be at least 1. Got {rows}; leave it out to measure all rows.")
    model, tokenizer, config = load_run(path)
    apart = config.documents == "apart"
    restart = config.model.position != "rotary"
    if data is None:
        material = Material.of(config, tokenizer)
        RunFolder.open(path).check_digest(material.survey.digest, config.data)
        tokens, text = material.tokens, material.data
    else:
        corpus = open_corpus(data, encoding)
        facts = survey(corpus.documents())
        # All documents are held out, because the model has learned from none of them.
        split = Split(np.ones(len(facts.sizes), dtype=bool), facts.characters)
        tokens = tokens_of(corpus, facts, tokenizer, name=f"{data} to measure", seed=-1, apart=apart, split=split)
        validation = tokens.validation
        starts = validation.starts if apart else None
        if len(validation.tokens) < config.model.context + 1:
            raise DataError(
                f"The text to measure must have at least context + 1 = {config.model.context + 1} tokens. "
                f"{data} has {len(validation.tokens)}; pass a longer text."
            )
        text = TextData(validation.tokens, validation.tokens, config.model.context, starts, starts, restart)
    limit = len(text.validation) if rows is None else rows
    batches = list(text.validation_batches(rows=config.train.batch, limit=limit))
    loss = mean_loss(model, batches, precision=config.train.precision)
    length = len(tokens.validation.tokens)
    return Evaluation(
        loss,
        sum(batch.count for batch in batches),
        length / tokens.validation.characters,
        length / tokens.validation.bytes,
    )
