"""---
title: Masks
summary: Which pairs see each other.
---
"""

from sample.mask.causal import Causal as Causal
