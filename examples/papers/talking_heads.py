"""
---
title: Talking heads
summary: Shazeer et al., 2020: heads exchange their scores before the softmax, and their weights behind it.
run: true
---

# Talking heads

In plain attention each head works alone until the last projection. Here two small matrices over the heads mix scores and weights, so that one head
can refine what another has found. An entry then depends on **all** heads of its pair, which no [score part](headwise.score.base.Score) may; it is a
function of its own, built from the same steps.

*Source*: Shazeer et al., 2020, "Talking-Heads Attention", section 4, [arXiv:2003.02436](https://arxiv.org/abs/2003.02436).
"""

import torch

import headwise as hw
from headwise.drawing import squares
from headwise.mask.coerce import as_mask


# The steps are those of [the definition](headwise.reference.attention_steps), with one line more before the softmax and one behind it.
def talking_heads(query, key, value, before, behind, *, mask=None):
    """Attention `[B,H,I,E]` whose heads talk: `before` and `behind` are `[H,H]`, from a head (first axis) to a head."""
    scores_BHIJ = torch.einsum("bhid,bhjd->bhij", query, key) * query.shape[-1] ** -0.5
    talked_BHIJ = torch.einsum("bhij,hg->bgij", scores_BHIJ, before)
    visible = as_mask(mask).table(*scores_BHIJ.shape[-2:]).visible
    # A query that sees no key gets zeros: the finite minimum keeps its softmax from being 0 / 0.
    hidden_BHIJ = talked_BHIJ.masked_fill(~visible, torch.finfo(scores_BHIJ.dtype).min)
    weights_BHIJ = hidden_BHIJ.softmax(dim=-1) * visible
    return torch.einsum("bhij,hg->bgij", weights_BHIJ, behind) @ value, weights_BHIJ


torch.manual_seed(0)
query, key, value = (torch.randn(1, 4, 8, 16) for _ in range(3))

# Heads that do not talk are the identity: then it is plain attention.
silent = torch.eye(4)
output, weights = talking_heads(query, key, value, silent, silent, mask=hw.Causal())
plain = hw.attention(query, key, value, mask=hw.Causal())
print(f"largest difference from plain attention: {(output - plain).abs().max():.0e}")

# With a little talk, head 0 takes over half of what head 1 has found.
talk = torch.eye(4)
talk[1, 0] = 0.5
_, talked = talking_heads(query, key, value, talk, silent, mask=hw.Causal())
squares(
    {"head 1": weights[0, 1], "head 0 alone": weights[0, 0], "head 0 that listens": talked[0, 0]},
    alt="Maps of 8 causal queries: head 0, when it listens, moves weight to where head 1 looks.",
)
