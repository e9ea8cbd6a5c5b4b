"""
---
title: The original transformer
summary: Vaswani et al., 2017: an encoder reads, a decoder writes, and attention is all that moves information.
run: true
---

# The original transformer

Translation was done by recurrent networks, which read one word after the other and squeezed a sentence through one state. This paper kept only the
attention: the encoder's words all see each other at once, the decoder's words see what has been written and the whole source.

*Source*: Vaswani et al., 2017, "Attention Is All You Need", [arXiv:1706.03762](https://arxiv.org/abs/1706.03762), table 3, row "base".
"""

import torch

import headwise as hw


# The base model: width 512, 8 heads, 6 layers on each side, one table of 37,000 tokens for source, target and generator. The normalisation
# stands **behind** each sum, and positions are added to the embeddings as waves.
def base(vocab=37000, d_model=512, heads=8, layers=6):
    """The model with its published sizes."""
    return hw.EncoderDecoder(
        vocab, d_model, heads, layers, position=hw.Sinusoidal, width=4 * d_model, pre_norm=False, dropout=0.1
    )


# The paper's table says 65 million weights.
with torch.device("meta"):
    print(f"{sum(weight.numel() for weight in base().parameters()):,} weights")

# Three kinds of attention, three masks. The encoder sees every token of the source; the last three slots hold none.
keep = torch.arange(10)[None] < 7
hw.Padding(keep).table(10, 10)

# The decoder must not read ahead.
hw.Causal().table(8, 8)

# Between the two, each token of the target sees each real token of the source.
hw.Padding(keep).table(8, 10)

# A small one at work: the scores of the next token at each of eight places.
model = base(vocab=100, d_model=32, heads=4, layers=2)
source, target = torch.randint(100, (1, 10)), torch.randint(100, (1, 8))
print(tuple(model(source, target, source_mask=hw.Padding(keep)).shape))
