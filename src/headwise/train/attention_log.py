"""
---
title: What the heads do
summary: Five numbers per layer and head, measured without keeping attention weights, for the log of a run.
---

# What the heads do

`headwise train --debug attention` looks at the attention weights of one batch at each report. A head that copies the previous
token has a distance near 1; a head that does nothing often rests on the first token; a head whose entropy falls to 0 has made up its mind.

*Units.* Each number is a mean over the batch and over the queries. Entropy is in nats, the distance in tokens.
"""

import torch
from torch import nn

from headwise.recording.recorder import record
from headwise.recording.statistics import averaged
from headwise.train.batch import Batch

Statistics = dict[str, dict[str, list[float]]]
LOGGED = ("entropy", "max", "distance", "first", "self")


@torch.no_grad()
def attention_statistics(model: nn.Module, batch: Batch) -> Statistics:
    """Statistics by name of the layer; each is a list with one number per head."""
    training = model.training
    model.eval()
    try:
        # The weights are measured a block at a time, so long rows cost no more memory here than in training.
        with record(model, keep=LOGGED) as tape:
            model(batch.inputs, **batch.call)
    finally:
        model.train(training)
    return {
        name: {each: numbers.tolist() for each, numbers in averaged(records[0].stats).items()}
        for name, records in tape.items()
    }
