"""
---
title: Errors of texts
summary: The error for a text that cannot be read or used.
---
"""

from headwise.errors import HeadwiseError


class DataError(HeadwiseError):
    """A text that cannot be read, or that is too short to learn from."""
