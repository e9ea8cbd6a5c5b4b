"""Calls that go wrong, and what every message must look like."""

import re

import pytest
import torch

import headwise as hw


def t(*shape, dtype=torch.float32):
    return torch.zeros(shape, dtype=dtype)


def attend(query=None, key=None, value=None, **options):
    query = t(2, 4, 5, 8) if query is None else query
    key = t(2, 2, 7, 8) if key is None else key
    return hw.attention(query, key, t(*key.shape) if value is None else value, **options)


def layer(*inputs, d_model=12, heads=3, call=None, **options):
    return hw.MultiHeadAttention(d_model, heads, **options)(*(inputs or (t(2, 5, 12),)), **(call or {}))


def check(make, kind, words):
    """The error is of this kind and says these words; its last sentence says what to do; wrapped errors are not shown."""
    with pytest.raises(kind) as caught:
        make()
    message = str(caught.value)
    assert words in message
    assert re.search(r"Usual fix: .+\.$", message)
    assert caught.value.__cause__ is None
