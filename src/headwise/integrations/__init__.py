"""
---
title: Integrations
summary: headwise inside models of other libraries.
---

Each file meets one library, imports it when it is used, and is all that headwise knows of it. [Hugging Face transformers](transformers.py)
is the one that is met so far.
"""
