"""
---
title: Integrations
summary: headwise inside models of other libraries.
---
"""
