"""A model that is small enough to train in a test, and a text for it."""

import pytest
import torch
from torch import Tensor, nn

from headwise.train.corpus import Corpus, split_corpus
from headwise.train.data import TextData
from headwise.train.tokenizer import CharacterTokenizer


class Pairs(nn.Module):
    """Predicts the next token from the present one alone, with a dropout and with weights that are tied."""

    def __init__(self, vocab: int, width: int = 8, dropout: float = 0.0) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocab, width)
        self.mix = nn.Linear(width, width, bias=False)
        self.norm = nn.LayerNorm(width)
        self.dropout = nn.Dropout(dropout)
        self.generator = nn.Linear(width, vocab, bias=False)
        self.generator.weight = self.embedding.weight

    def forward(self, tokens: Tensor, *, mask: object = None, positions: object = None, cache: object = None) -> Tensor:
        return self.generator(self.dropout(self.norm(self.mix(self.embedding(tokens)))))


@pytest.fixture
def pairs() -> type[Pairs]:
    return Pairs


@pytest.fixture
def corpus() -> Corpus:
    return Corpus("alphabet", ("the quick brown fox jumps over the lazy dog\n" * 40,))


@pytest.fixture
def tokenizer(corpus: Corpus) -> CharacterTokenizer:
    return CharacterTokenizer.of(corpus.text)


@pytest.fixture
def data(corpus: Corpus, tokenizer: CharacterTokenizer) -> TextData:
    return TextData.of(split_corpus(corpus, seed=0), tokenizer, context=16)


@pytest.fixture
def model(tokenizer: CharacterTokenizer) -> Pairs:
    torch.manual_seed(0)
    return Pairs(tokenizer.vocab)
