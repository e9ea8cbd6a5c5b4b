"""
---
title: The transformer
summary: Attention, a feed-forward network and two normalisations make a layer; layers make a model.
---

# The transformer

Read in this order: `norm`, `feed_forward`, `embedding`, `layer`, `encoder`, `autoregressive`.
"""
