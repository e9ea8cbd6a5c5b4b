"""
---
title: All scores
summary: How do scores become weights?
---

# Scores: how they become weights

The fourth of the four questions. The dot product of a query and a key is a number without bounds, and without any idea of distance;
a score part changes it before the softmax makes shares of it. `Alibi` and `T5Bias` let the distance count, `Softcap` bounds the
number, `Bias` adds what you give, and `Sink` lets a head put its weight on nothing.

Parts compose as a tuple, in order. A new one is one file with one method: read [what a score part is](base.py) first, then
[the soft cap](softcap.py). A function of one pair does as well. What learns must be registered:
a number that a function has captured gets a gradient, and no optimizer knows of it. So a part that learns is a module,
`class Slopes(nn.Module, Score)`, which [the layer registers](../parts.py).

[A rule of your own, trained](../examples/own_rule.py) takes a part that learns from its definition to a trained model.
"""
