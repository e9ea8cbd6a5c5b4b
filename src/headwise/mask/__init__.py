"""
---
title: All masks
summary: Which keys may a query see?
---

# Masks: which keys a query may see

This is the third of the four questions about attention. A mask answers it for each pair of a query and a key; in the whole library
True means *may see*. Each file holds one rule: with `Causal` a query sees itself and what came before it, with `Window` what is
near, with `Padding` only slots that hold a token, with `Documents` only its own text among several in one row. Rules combine with
`&`, `|` and `~`, so that their number stays small.

A new mask is a class with one method, `sees`. It may stand in a file of your own: nothing has to be registered or exported, and every
call takes it. Read [what a mask is](base.py) first, then [the causal mask](causal.py), which is a short and complete example.

[A rule of your own, trained](../examples/own_rule.py) takes such a mask from its definition to a trained model.
"""
