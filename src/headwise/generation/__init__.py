"""
---
title: Generation
summary: Text from a trained model; the draw of a token, and the loop around it.
---

# Generation: a model writes

A trained model scores each possible next token; one is drawn, appended, and the model is asked again. Nothing of attention is defined here:
a cache keeps the keys and values of the tokens before, and the four questions are asked for the new token only, with the same answers.

Read [from logits to a token](logits.py) first: temperature, top-k and top-p are pure functions. Then [the loop](stream.py) that writes one token
after the other.
"""
