"""
---
title: What a text holds
summary: Documents, characters, tokens and where they are kept, as `headwise data info` shows them.
---

# What a text holds
"""

import dataclasses
from typing import Any, Literal

import numpy as np

from headwise.train.config import ModelConfig, RunConfig, TrainConfig
from headwise.train.material import Material
from headwise.train.token_file import TokenPart


def information(
    source: str,
    *,
    encoding: str = "utf-8",
    tokenizer: str = "characters",
    vocab: int = 1024,
    documents: Literal["joined", "apart"] = "joined",
    seed: int = 1,
) -> dict[str, Any]:
    """What `source` holds; its tokens are made and kept, so that a training with the same settings finds them."""
    # A context of one token, because a text may be described that is too short to learn from.
    config = RunConfig(
        data=source,
        encoding=encoding,
        tokenizer=tokenizer,
        vocab=vocab,
        documents=documents,
        model=ModelConfig(context=1),
    )
    config = dataclasses.replace(config, train=TrainConfig(seed=seed))
    config.check()
    material = Material.of(config)
    survey, tokens = material.survey, material.tokens
    return {
        "name": material.corpus.name,
        "documents": len(survey.sizes),
        "characters": survey.characters,
        "alphabet": survey.alphabet,
        "shortest": int(survey.sizes.min()),
        "median": int(np.median(survey.sizes)),
        "longest": int(survey.sizes.max()),
        "sha256": survey.digest,
        "tokenizer": tokenizer,
        "vocab": material.tokenizer.vocab,
        "training": _half(tokens.training),
        "validation": _half(tokens.validation),
        "file": None if tokens.path is None else str(tokens.path),
        "reused": tokens.reused,
    }


def described(facts: dict[str, Any]) -> list[tuple[str, str]]:
    """The same in words, a name and a value for each line."""
    shown = facts["alphabet"] if len(facts["alphabet"]) <= 200 else facts["alphabet"][:200] + "..."
    lengths = f"{facts['shortest']:,} to {facts['longest']:,} characters, {facts['median']:,} in the middle"
    lines = [
        ("text", f"{facts['name']}: {facts['documents']:,} documents, {facts['characters']:,} characters"),
        ("documents", lengths),
        ("alphabet", f"{len(facts['alphabet']):,} characters: {shown!r}"),
        ("sha256", facts["sha256"]),
        ("tokens", f"{facts['tokenizer']}, {facts['vocab']:,} different ones"),
    ]
    for name in ("training", "validation"):
        half = facts[name]
        ratio = half["bytes"] / half["tokens"]
        lines.append((name, f"{half['tokens']:,} tokens, {half['characters']:,} characters, {ratio:.2f} bytes a token"))
    state = "was there" if facts["reused"] else "is new"
    lines.append(("file", "kept nowhere" if facts["file"] is None else f"{facts['file']} {state}"))
    return lines


def _half(part: TokenPart) -> dict[str, int]:
    return {"tokens": len(part.tokens), "characters": part.characters, "bytes": part.bytes}
