"""
---
title: The transformer
summary: Attention, a feed-forward network and two normalisations make a layer; layers make a model.
---

# The transformer: layers built from attention

Attention lets tokens look at each other; a feed-forward network then works on each token alone, and a normalisation before each of the
two keeps their numbers in bounds. That is one layer, and a stack of them is a model. The four questions are asked in each layer, and
their answers are passed through: masks, scores and positions are the same small parts as everywhere.

Read in this order: [feed-forward](feed_forward.py), [embedding](embedding.py), [layer](layer.py), [encoder](encoder.py),
[the autoregressive transformer](autoregressive.py); then [per layer](per_layer.py), [initialise](initialise.py) and [places](places.py), which they
use, and [decoder](decoder.py) and [encoder-decoder](encoder_decoder.py), which read a second text.
"""
