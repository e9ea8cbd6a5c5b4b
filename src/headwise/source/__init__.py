"""
---
title: Sources
summary: Where do queries, keys and values come from?
---

# Sources: where queries, keys and values come from

The first of the four questions. Each of the three is a linear map of a sequence, and its features are split into heads, so that one
layer can look for several things at once. In self-attention all three read the same sequence; a decoder takes its keys and values
from another text, and a cache from the tokens before.

Read [heads](heads.py) first: the map and the split are ten lines. Then [keys and values](keys.py) says which tokens they belong to,
and [normalised queries and keys](qk_norm.py) what may happen in between.
"""
