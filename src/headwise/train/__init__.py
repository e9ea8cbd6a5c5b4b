"""
---
title: Training
summary: A language model trained on text, from the settings to the last checkpoint.
---

# Training: from a text to a model

The files of this folder turn a text into a language model that writes in the manner of that text. They use the transformer as it is:
its settings say what kind of attention it has. The loop only measures how wrong the predictions of the model are, and changes its
parameters.

Read [the loop](loop.py) first: `fit` is the whole training. The other pages describe what it uses:

* the text: [corpus](corpus.py), [tokenizer](tokenizer.py), [subwords](bpe.py), [data](data.py);
* the update: [loss](loss.py), [optimizer](optimizer.py), [Muon](muon.py), [learning rate](schedule.py);
* what is kept: [run folder](run_folder.py), [checkpoint](checkpoint.py);
* [the settings](config.py), and [the experiment](experiment.py), which is what `headwise train` runs.

A training that was interrupted can be **resumed**: `headwise train --run FOLDER --resume`, or `fit` with `resume=True`, goes on from the
newest checkpoint, and its weights end bit for bit as those of a run that was never interrupted.

`headwise sample FOLDER` writes with the trained model; [generation](../generation/__init__.py) tells how.

`headwise train` takes no mask and no score part of your own. [A rule of your own, trained](../examples/own_rule.py) is the way for
these: one file that builds a model with them and gives it to `fit`.

## What such a training gives

In [the classic experiment](../benchmarks/SHAKESPEARE.md) a model of this library and a small GPT, both with about 800,000 parameters, learn
nine plays of Shakespeare, character by character. The small GPT ends at a validation loss of 1.923 nats per character after 128.8
seconds of CPU time; headwise is there after 48.8 seconds, 0.38x of that time, and ends at 1.847 after 68.7 seconds:

![Validation loss of both models over CPU seconds](../benchmarks/2026-11-30/shakespeare.svg)

After its 560 updates the model of headwise was given the prompt `KING:`. The page of the experiment has the conditions, the settings and
all that it wrote; this is a part of it, as it came:

```text
GLOUCESTER:
Sir, not labry, noow your Thus say for long bons
God that some strength be enten us prant
To rince him ento struck him honour him. AgARTA:
Hast senity blood, with est thorse you down the noble.
```

Speakers, lines and many words are learned by then; sentences are not. In a clone of the repository
`headwise train --config benchmarks/shakespeare.toml` trains the same model.

## When the names are loaded

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
    "split_corpus": "corpus",
    "evaluate": "evaluation",
    "RunFolder": "run_folder",
    "load_run": "build",
}
__all__ = ["ModelConfig", "RunConfig", "TrainConfig", *_WHERE]


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_WHERE[name]}"), name)
