"""
---
title: What a loss is worth
summary: The loss of two models that need no training, so that a number like 1.7 nats can be judged.
---

# What a loss is worth

A loss says little alone. It is read beside what two simple models reach on the same validation text:
the *unigram* model knows how frequent each character is, and the *bigram* model knows which one follows which.
A transformer that does not get below the bigram line has not used its attention.

*Units.* Nats per character; divided by $\\ln 2$ they are bits per character.
"""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from headwise.train.data import NO_TARGET, Batch, Tokens

# Tokens that are counted at once; a token file may be larger than the memory.
CHUNK = 1 << 20


@dataclass(frozen=True)
class Baselines:
    """Cross-entropy of the two models in nats per token, on the same places where the transformer is measured."""

    unigram: float
    bigram: float

    @classmethod
    def of(cls, training: Tokens, validation: Iterable[Batch], *, vocab: int) -> "Baselines":
        """Counts on the training tokens, measured on the batches of the validation."""
        batches = list(validation)
        inputs = torch.cat([batch.inputs[batch.targets != NO_TARGET] for batch in batches])
        targets = torch.cat([batch.targets[batch.targets != NO_TARGET] for batch in batches])
        return cls(unigram_loss(training, targets, vocab=vocab), bigram_loss(training, inputs, targets, vocab=vocab))


def unigram_loss(training: Tokens, targets: Int[Tensor, " N"], *, vocab: int) -> float:
    """The loss of a model that knows the frequencies alone."""
    # One is added to each count: a character that the training text lacks would otherwise have probability 0 and an infinite loss.
    counts_V = _unigrams(training, vocab).double() + 1
    log_probability_V = (counts_V / counts_V.sum()).log()
    return -log_probability_V[targets].mean().item()


def bigram_loss(training: Tokens, inputs: Int[Tensor, " N"], targets: Int[Tensor, " N"], *, vocab: int) -> float:
    """The loss of a model that knows the previous character."""
    counts_VV = _bigrams(training, vocab).double().unflatten(0, (vocab, vocab))
    # Each row is mixed with the unigram frequencies as if one more pair had been seen. Adding one to each count instead would
    # drown rare characters in a uniform distribution, and make the line too easy to pass.
    unigram_V = _unigrams(training, vocab).double() + 1
    smooth_VV = counts_VV + unigram_V / unigram_V.sum()
    log_probability_VV = (smooth_VV / smooth_VV.sum(dim=1, keepdim=True)).log()
    return -log_probability_VV[inputs, targets].mean().item()


def _unigrams(training: Tokens, vocab: int) -> Int[Tensor, " V"]:
    counts = torch.zeros(vocab, dtype=torch.long)
    for chunk in _chunks(training, overlap=0):
        counts += torch.bincount(chunk, minlength=vocab)
    return counts


def _bigrams(training: Tokens, vocab: int) -> Int[Tensor, " P"]:
    """How often each pair stands in the text; the pair (a, b) has the number a * V + b."""
    counts = torch.zeros(vocab * vocab, dtype=torch.long)
    # Neighbouring chunks share one token, so that no pair is lost between them.
    for chunk in _chunks(training, overlap=1):
        counts += torch.bincount(chunk[:-1] * vocab + chunk[1:], minlength=vocab * vocab)
    return counts


def _chunks(tokens: Tokens, *, overlap: int) -> Iterator[Int[Tensor, " T"]]:
    for start in range(0, len(tokens), CHUNK):
        yield torch.as_tensor(np.asarray(tokens[start : start + CHUNK + overlap]).astype(np.int64))


def bits(nats: float) -> float:
    """The same amount of information in bits."""
    return nats / math.log(2)
