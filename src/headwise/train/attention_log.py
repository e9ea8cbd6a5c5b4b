"""
---
title: What the heads do
summary: Five numbers per layer and head, measured on kept attention weights, for the log of a run.
---

# What the heads do

`headwise train --debug attention` looks at the attention weights of one batch at each report. A head that copies the previous
token has a distance near 1; a head that does nothing often rests on the first token; a head whose entropy falls to 0 has made up its mind.

*Units.* Each number is a mean over the batch and over the queries. Entropy is in nats, the distance in tokens.
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from headwise.layer import MultiHeadAttention
from headwise.train.data import Batch

Statistics = dict[str, dict[str, list[float]]]


@torch.no_grad()
def attention_statistics(model: nn.Module, batch: Batch) -> Statistics:
    """Statistics by name of the layer; each is a list with one number per head."""
    layers = {name: module for name, module in model.named_modules() if isinstance(module, MultiHeadAttention)}
    before = {name: layer.keep_attention for name, layer in layers.items()}
    training = model.training
    # Keeping the weights costs memory that grows with the square of the length, so it is on for this one pass and off again.
    for layer in layers.values():
        layer.keep_attention = True
    model.eval()
    try:
        model(batch.inputs, mask=batch.mask)
        return {name: head_statistics(layer.attn) for name, layer in layers.items() if layer.attn is not None}
    finally:
        model.train(training)
        for name, layer in layers.items():
            layer.keep_attention = before[name]
            layer.attn = None


def head_statistics(weights: Float[Tensor, "B H I J"]) -> dict[str, list[float]]:
    """The statistics of one layer.

    >>> table = head_statistics(torch.tensor([[[[1.0, 0.0], [0.5, 0.5]]]]))
    >>> {name: [round(number, 3) for number in numbers] for name, numbers in table.items()}
    {'entropy': [0.347], 'max': [0.75], 'distance': [0.25], 'first': [0.75], 'self': [0.75]}
    """
    queries, keys = weights.shape[-2:]
    # The last query stands at the last key, also where there are more keys than queries.
    slot_I = torch.arange(keys - queries, keys)
    distance_IJ = (slot_I[:, None] - torch.arange(keys)).to(weights.dtype)
    table_BHI = {
        # $0 \log 0$ is 0, and `xlogy` says so; the product with `log` would be NaN.
        "entropy": -torch.special.xlogy(weights, weights).sum(-1),
        "max": weights.amax(-1),
        "distance": (weights * distance_IJ).sum(-1),
        "first": weights[..., 0],
        "self": weights.diagonal(keys - queries, dim1=-2, dim2=-1),
    }
    return {name: numbers_BHI.mean((0, 2)).tolist() for name, numbers_BHI in table_BHI.items()}
