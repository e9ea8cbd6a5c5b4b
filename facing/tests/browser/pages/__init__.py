"""---
title: A sample
summary: A small library, to look at in a browser.
---
Begin with [attention](attention.py), then [masks](mask/causal.py#Causal), then the [guide](guide.md).
"""
