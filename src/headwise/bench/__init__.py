"""
---
title: The benchmark
summary: Every engine and every installed peer side by side, on the machine of whoever asks.
---
"""
