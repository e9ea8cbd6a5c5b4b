"""
---
title: The transformer
summary: Attention, a feed-forward network and two normalisations make a layer; layers make a model.
---

# The transformer

Read in this order: `feed_forward`, `embedding`, `layer`, `encoder`, `autoregressive`; then `per_layer`, `initialise`
and `places`, which they use, and `decoder` and `encoder_decoder`, which read a second text.
"""
