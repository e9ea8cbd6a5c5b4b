"""The visibility probe: one number a query that names the keys it sees."""

import torch


def probe(queries, keys, *, batch=1, heads=1, groups=None, dtype=torch.float64):
    """Query and key 0, so that all scores are equal; the value of key j is 2**j."""
    groups = heads if groups is None else groups
    query = torch.zeros(batch, heads, queries, 2, dtype=dtype)
    key = torch.zeros(batch, groups, keys, 2, dtype=dtype)
    value = (2.0 ** torch.arange(keys, dtype=dtype))[None, None, :, None].expand(batch, groups, keys, 2).clone()
    return query, key, value


def seen(output, visible_count):
    """The bit set of the keys that each query sees, from the output of the probe and the number of keys that it sees."""
    return (output[..., 0] * visible_count).round().long()


def bits(visible):
    """The bit set of each row of a table of visible pairs."""
    return (visible.long() * 2 ** torch.arange(visible.shape[-1])).sum(-1)
