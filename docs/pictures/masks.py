"""
---
title: Masks, drawn
summary: Every mask of the library for twelve tokens, and what comes of joining them.
run: true
---

# Masks, drawn

This page was run when it was built: each picture is what the line above it drew. A row is a query, a column is a key, and a filled
square says that the query [may see](headwise.mask.base.Mask) the key.
"""

import torch

import headwise as hw

LENGTH = 12

# ## Rules about positions
#
# A model that writes from left to right sees itself and what came before: [the causal mask](headwise.mask.causal.Causal).
hw.Causal().table(LENGTH, LENGTH)

# [A window](headwise.mask.window.Window) keeps the nearest tokens, its own counted. The cost of a long text then grows with its length and not
# with the square of it.
hw.Window(4).table(LENGTH, LENGTH)

# Every second token, and four of them: [a dilated window](headwise.mask.dilated.Dilated) looks twice as far for the same price.
hw.Dilated(4, 2).table(LENGTH, LENGTH)

# ## Rules about what a token is
#
# Sequences of a batch have different lengths. [Padding](headwise.mask.padding.Padding) hides the slots that hold no token: here the last three.
keep = torch.arange(LENGTH)[None] < 9
hw.Padding(keep).table(LENGTH, LENGTH)

# Several documents can share one sequence. Each token then sees its own [document](headwise.mask.documents.Documents) and no other.
documents = hw.Documents.from_lengths([3, 5, 4])
documents.table(LENGTH, LENGTH)

# ## Rules joined
#
# Packed documents of a model that writes: both rules must agree.
(documents & hw.Causal()).table(LENGTH, LENGTH)

# A [prefix](headwise.mask.prefix.Prefix) is read in both directions, and what follows is written from left to right: one of two rules is enough.
(hw.Causal() | hw.Prefix(5)).table(LENGTH, LENGTH)

# The first token stays visible when a window has moved on. Models put much weight there, and break when it vanishes.
(hw.Causal() & (hw.Window(4) | hw.Prefix(1))).table(LENGTH, LENGTH)

# ## New queries over a cache
#
# Two new tokens stand behind ten that a cache holds: the last query is at the last key, so its row is full.
hw.Causal().table(2, LENGTH)
