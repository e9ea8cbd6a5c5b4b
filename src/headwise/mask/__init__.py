"""
---
title: Masks
summary: Which pairs may see each other?
---

# Masks: which pairs may see each other

The third of the four questions. A mask answers it for each pair of a query and a key, and True means *may see*, everywhere.
Each file holds one rule: `Causal` looks back, `Window` looks near, `Padding` skips what is no token, `Documents` keeps packed
texts apart. Rules combine with `&`, `|` and `~`, so that their number stays small.

A new mask is one file with one method, `sees`. Read [what a mask is](base.py) first, then [the causal mask](causal.py), which is
a complete example in three lines. No engine has to be told of it.
"""
