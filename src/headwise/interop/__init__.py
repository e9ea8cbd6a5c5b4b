"""
---
title: Meeting other code
summary: Layers, models and habits from elsewhere, taken over without a change of numbers.
---

# Meeting other code

* `torch_layer`: the weights of a `torch.nn.MultiheadAttention` in a layer of this library;
* `torch_signature`: such a layer behind the signature that the replaced module had;
* `replace`: `hw.from_torch(model)`, which does so for every one in a model;
* `classic`: subclasses in the style of annotated code, whose `get_scores` takes two arguments.

The page `coming_from.md` shows pairs of code that give the same numbers.
"""
