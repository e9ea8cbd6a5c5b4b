"""
---
title: Training
summary: A language model trained on text, from the settings to the last checkpoint.
---

# Training: from a text to a model

This room turns a text into a language model that writes in its manner. It builds on the transformer and adds nothing to attention: the
four questions are answered by the settings of the model, and the loop only asks how wrong its predictions are, and changes the weights.

Read [the loop](loop.py) first: `fit` is the whole training. Around it stand the text ([corpus](corpus.py), [tokenizer](tokenizer.py),
[subwords](bpe.py), [data](data.py)), the update ([loss](loss.py), [optimizer](optimizer.py), [Muon](muon.py), [schedule](schedule.py)), what is
kept ([run folder](run_folder.py), [checkpoint](checkpoint.py)) and [the settings](config.py). [The experiment](experiment.py) joins them to what
`headwise train` does.

The names below are loaded on first use, because the command line reads the settings and should not wait for torch.
"""

import importlib
from typing import TYPE_CHECKING, Any

from headwise.train.config import ModelConfig, RunConfig, TrainConfig

if TYPE_CHECKING:
    from headwise.train.loop import fit as fit
    from headwise.train.tokenizer import CharacterTokenizer as CharacterTokenizer

_WHERE = {
    "fit": "loop",
    "Observer": "observer",
    "Result": "observer",
    "CharacterTokenizer": "tokenizer",
    "TextData": "data",
    "read_corpus": "corpus",
    "evaluate": "evaluation",
    "RunFolder": "run_folder",
    "load_run": "build",
}
__all__ = ["ModelConfig", "RunConfig", "TrainConfig", *_WHERE]


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_WHERE[name]}"), name)
