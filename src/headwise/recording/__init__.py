"""
---
title: Recording attention
summary: The attention of a trained model, seen from any engine.
---

# Recording: looking at attention

A fast engine never forms the matrix of weights. This room computes again what you ask for, and no more: chosen layers, heads and
rows, or statistics whose memory does not grow with the square of the sequence. A model needs no change for it, and its numbers stay
the same.

Read [the recorder](recorder.py) first, then [the tape](tape.py) that it returns and [the statistics](statistics.py). `headwise inspect`
shows maps [on a terminal](terminal.py), [in a browser](viewer/__init__.py) or [as pictures](plots.py);
[head studies](heads.py) say what kind of head one is.
"""
