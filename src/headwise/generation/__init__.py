"""
---
title: Generation
summary: Text from a trained model; the draw of a token, and the loop around it.
---

# Generation

`logits.py` holds pure functions from logits to a token, and `stream.py` the loop that writes one token after the other.
"""
