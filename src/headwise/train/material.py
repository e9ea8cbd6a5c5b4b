"""
---
title: What a run learns from
summary: From the settings to the text, its tokenizer, its tokens and what a loss on it is worth.
---

# What a run learns from
"""

import json
from dataclasses import dataclass
from pathlib import Path

from headwise.train.baselines import Baselines
from headwise.train.choose_tokenizer import Tokenizer, build_tokenizer
from headwise.train.config import RunConfig
from headwise.train.corpus import CorpusStream, open_corpus
from headwise.train.data import TextData
from headwise.train.decode import regrouped
from headwise.train.kept_tokenizer import kept_tokenizer
from headwise.train.split import Split, Survey, joined, part, survey
from headwise.train.subwords import train_bpe
from headwise.train.token_file import TokenSet, tokens_of
from headwise.train.tokenizer import CharacterTokenizer


@dataclass(frozen=True, eq=False)
class Material:
    """A text with its tokenizer and its tokens."""

    corpus: CorpusStream
    survey: Survey
    tokenizer: Tokenizer
    tokens: TokenSet
    data: TextData

    @classmethod
    def of(cls, config: RunConfig, stored: Tokenizer | None = None) -> "Material":
        """Reads the text that the settings name, a piece at a time."""
        corpus = open_corpus(config.data, config.encoding)
        facts = survey(corpus.documents())
        tokenizer = stored or learned_tokenizer(config, corpus, facts)
        apart = config.documents == "apart"
        tokens = tokens_of(corpus, facts, tokenizer, name=_name(config), seed=config.train.seed, apart=apart)
        # Rotary positions know distances alone, and those inside of a document are the same wherever it begins.
        restart = config.model.position != "rotary"
        data = TextData.of_tokens(tokens, context=config.model.context, apart=apart, restart=restart)
        return cls(corpus, facts, tokenizer, tokens, data)

    @property
    def tokens_per_character(self) -> float:
        """How many tokens of the validation text make one of its characters, on average.

        A loss is per token. Times this number it is per character, and then runs with unlike tokenizers can be compared.
        """
        return len(self.data.validation) / self.tokens.validation.characters

    @property
    def tokens_per_byte(self) -> float:
        """The same for a byte of the text in UTF-8."""
        return len(self.data.validation) / self.tokens.validation.bytes

    def baselines(self, config: RunConfig) -> Baselines:
        """The baselines per character; where tokens are something else, they are measured on the characters of the same text."""
        rows = config.train.batch
        if isinstance(self.tokenizer, CharacterTokenizer):
            batches = self.data.validation_batches(rows=rows, limit=config.train.validation_rows)
            return Baselines.of(self.data.training, batches, vocab=self.tokenizer.vocab)
        characters = CharacterTokenizer.of(self.survey.alphabet)
        name = f"{_name(config)} in characters"
        tokens = tokens_of(self.corpus, self.survey, characters, name=name, seed=config.train.seed)
        data = TextData.of_tokens(tokens, context=config.model.context)
        batches = data.validation_batches(rows=rows, limit=len(data.validation))
        return Baselines.of(data.training, batches, vocab=characters.vocab)


def learned_tokenizer(config: RunConfig, corpus: CorpusStream, facts: Survey) -> Tokenizer:
    """The tokenizer of the settings; one that learns sees the training text alone."""
    split = Split.of(facts.sizes, seed=config.train.seed)
    pieces = regrouped(joined(part(split, corpus.documents(), held_out=False)))
    if config.tokenizer != "bpe":
        return build_tokenizer(config, training=pieces, alphabet=facts.alphabet)
    return kept_tokenizer(
        lambda: train_bpe(pieces, vocab=config.vocab),
        facts,
        name=corpus.name,
        seed=config.train.seed,
        vocab=config.vocab,
    )


def planned_vocab(config: RunConfig) -> tuple[int, int]:
    """The number of tokens that the settings would lead to, without learning a tokenizer, and the characters of the text."""
    facts = survey(open_corpus(config.data, config.encoding).documents())
    # The number is that of the settings; a small text may have too few pairs of tokens to reach it.
    vocab = (
        config.vocab
        if config.tokenizer == "bpe"
        else build_tokenizer(config, training=[], alphabet=facts.alphabet).vocab
    )
    return vocab, facts.characters


def _name(config: RunConfig) -> str:
    """What a token file is for: the same words in another folder can mean another text."""
    path = Path(config.data.partition("[")[0])
    place = str(path.resolve()) if path.exists() else ""
    return json.dumps([config.data, place, config.encoding, config.tokenizer, config.vocab])
