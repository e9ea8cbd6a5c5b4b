r"""---
title: The causal mask
summary: Each position sees itself and what came before.
---
Position $i$ sees position $j$ if $j \le i$.
"""


class Causal:
    """No look ahead."""

    def __call__(self, scores):
        # The lower triangle stays.
        return scores.tril()
