"""The embedding: rows in, products with rows out."""

import math

import pytest
import torch

from headwise.errors import HeadwiseError, ShapeError
from headwise.transformer.embedding import Embedding


def test_tokens_become_rows_and_logits_are_products_with_rows():
    embedding, tokens = Embedding(10, 4), torch.tensor([[1, 9, 1]])
    assert torch.equal(embedding(tokens), embedding.weight[[1, 9, 1]][None])
    x = torch.randn(1, 2, 4)
    torch.testing.assert_close(embedding.logits(x), x @ embedding.weight.T)


def test_scale_multiplies_the_way_in_only():
    embedding, tokens = Embedding(10, 4, scale=math.sqrt(4)), torch.tensor([[3]])
    torch.testing.assert_close(embedding(tokens)[0, 0], 2 * embedding.weight[3])
    torch.testing.assert_close(embedding.logits(torch.ones(1, 1, 4))[0, 0], embedding.weight.sum(-1))


def test_rows_start_small():
    torch.manual_seed(0)
    assert Embedding(1000, 160).weight.std().item() == pytest.approx(0.05, rel=0.02)


def test_tokens_must_be_whole_numbers_of_the_vocabulary():
    embedding = Embedding(10, 4)
    with pytest.raises(ShapeError, match=r"tokens must be \[B, L\] long or int.*\[3\]"):
        embedding(torch.tensor([1, 2, 3]))
    with pytest.raises(ShapeError, match=r"torch.float32"):
        embedding(torch.ones(1, 3))
    with pytest.raises(HeadwiseError, match=r"tokens must be a tensor \[B, L\]; got list"):
        embedding([[1, 2]])
    with pytest.raises(HeadwiseError, match=r"tokens must lie in 0\.\.9.*got 2\.\.10"):
        embedding(torch.tensor([[2, 10]]))
    with pytest.raises(HeadwiseError, match="vocab must be a whole number of at least 1; got 0"):
        Embedding(0, 4)
