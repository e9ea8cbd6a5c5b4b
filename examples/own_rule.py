"""
---
title: A rule of your own, trained
summary: A mask and a score part in one file of yours: checked on two engines, put into a model, and trained.
run: true
---

# A rule of your own, trained

This file is complete. It defines a mask and a score part, holds both to the definition of attention, puts them into a transformer, and trains
that on text. Copy it and change the two classes.

`headwise train` trains the models that [its settings](../train/config.py) can name, and takes no rule from a file of yours. This page is the way
for all others: [`fit`](../train/loop.py) is what that command calls, and it trains any model that maps tokens to logits.
"""

from dataclasses import dataclass

import torch
from torch import nn

import headwise as hw
from headwise.drawing import curves
from headwise.train import CharacterTokenizer, Observer, TextData, TrainConfig, fit, read_corpus, split_corpus

torch.manual_seed(0)
torch.set_num_threads(1)


# ## 1. The mask
# A rule about pairs, as a class with one method: True where the query may see the key. This one shows each key whose position is a multiple of
# `every`. [The grid](../grid.py) has the positions; `key_position` is `[1,1,1,j]` or `[B,1,1,j]`, and so is the answer.
@dataclass(frozen=True)
class Landmarks(hw.Mask):
    every: int

    def sees(self, grid):
        return grid.key_position % self.every == 0


# The rule says nothing about the order of things, so it is joined with `Causal()`: of what lies behind it, a query sees the last four positions,
# its own included, and all landmarks.
rule = hw.Causal() & (hw.Window(4) | Landmarks(every=8))
rule.table(24, 24)


# ## 2. The score part
# What learns is a module with parameters. Each head has a number, its rate; the score of a pair falls by it with the logarithm of the distance.
# The rates begin at 0, where the part changes nothing. A part that does more than add derives from `hw.Score` and defines `change(scores, grid)`.
class Falling(nn.Module, hw.AdditiveScore):
    def __init__(self, heads):
        super().__init__()
        self.rate = nn.Parameter(torch.zeros(heads))

    def bias(self, grid):
        return -self.rate[:, None, None] * grid.distance.abs().log1p()


# ## 3. Is it the same on every engine?
# Two engines compute the same calls, and the definition, `reference`, says what is right: for the mask alone, then with the score part.
# Gradients are compared, too: of the queries, of the keys, of the values, and of the rates, because these shall learn.
query, key, value = (torch.randn(1, 2, 300, 16, requires_grad=True) for _ in range(3))
falling = Falling(heads=2)
falling.rate = nn.Parameter(torch.full((2,), 0.3))


def results(engine, parts):
    output = hw.attention(query, key, value, mask=rule, score=parts, engine=engine)
    return output.detach(), *torch.autograd.grad(output.sum(), [query, key, value, *(part.rate for part in parts)])


for engine in ("sdpa", "blockwise"):
    for name, parts in (("mask alone", ()), ("mask and score", (falling,))):
        pairs = zip(results(engine, parts), results("reference", parts), strict=True)
        output, *gradients = [float((mine - right).abs().max()) for mine, right in pairs]
        print(f"{engine}, {name}: output off by {output:.0e}, gradients by {max(gradients):.0e}")
        assert max(output, *gradients) < 1e-3

# Where the difference is 0, both engines took the steps of the definition, a block of rows at a time: no kernel has gradients for a part that learns.

# ## 4. The text
# The language reference that ships with Python, so nothing is fetched. Whole documents are held back to measure on; a token is a character.
texts = split_corpus(read_corpus("manual"), seed=0)
tokenizer = CharacterTokenizer.of(texts[0])
data = TextData.of(texts, tokenizer, context=64)


# ## 5. The model, and its training
# An observer is told how it goes. This one keeps each measurement of the loss.
class Diary(Observer):
    def __init__(self):
        self.losses = []

    def reported(self, report):
        self.losses.append((report.step, report.validation_loss))


# The same training, three times: plain, with the mask, and with both. `position=None` takes rotary positions away, so that nothing but
# the rule says how far a key is. A mask is handed over as an object and all layers share it; `Falling` is handed over as the class, so that
# each layer makes one of its own, for its number of heads.
config = TrainConfig(steps=60, batch=16, learning_rate=5e-3, validation_rows=32, report_every=10)
losses = {}
for name, mask, score in (("plain", hw.Causal(), None), ("with mask", rule, None), ("with both", rule, Falling)):
    torch.manual_seed(0)
    model = hw.AutoregressiveTransformer(tokenizer.vocab, 64, 4, 2, position=None, mask=mask, score=score)
    diary = Diary()
    result = fit(model, data, config, observer=diary)
    # The first report comes before the first update; it would press the curves flat.
    losses[name] = diary.losses[1:]
    print(f"{name}: from {diary.losses[0][1]:.2f} to {result.validation_loss:.2f} nats per character")

curves(
    losses,
    alt="Three falling curves of the validation loss. The plain one ends highest, the one with mask and score lowest.",
    across="updates",
    up="validation loss, nats per character",
)

# ## 6. What was learned
# The rates have left 0, and all are above it: the heads have learned that near characters matter more than far ones.
for name, parameter in model.named_parameters():
    if name.endswith("rate"):
        print(name, [round(rate, 2) for rate in parameter.tolist()])

# ## 7. And now
# Sixty updates show that a rule can be trained; which of two rules is better, only longer trainings with several seeds can say.
#
# `fit(..., run=RunFolder.create(None, name="own"))` keeps a log, checkpoints and the weights in `runs/own`; after an interruption
# `fit(..., run=RunFolder(Path("runs/own")), resume=True)` goes on there. The commands that read a run build its model from the settings and do
# not know your rule: build the model as above, read its weights with `safetensors.torch.load_model`, and let it
# [write](headwise.generation.stream.write).
