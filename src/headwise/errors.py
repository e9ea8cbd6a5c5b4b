"""
---
title: Errors
summary: One family of errors; each message says what must hold, what came, and the usual fix.
---

# Errors

Bad input gets one clear message: what must hold, what came, which argument it was, and the usual fix.
Every error of this library is a `HeadwiseError`, and every `HeadwiseError` is a `ValueError`.
"""


class HeadwiseError(ValueError):
    """The family: catch this one to catch them all."""


class ShapeError(HeadwiseError):
    """Sizes do not fit together. Raised by `headwise.shapes` alone."""


class MaskError(HeadwiseError):
    """Something is not a mask, or cannot serve as one in this call."""


class ScoreError(HeadwiseError):
    """Something is not a score part, or its numbers make no sense."""


class PositionError(HeadwiseError):
    """Positions are of the wrong kind, or beyond what a position scheme knows."""


class CacheError(HeadwiseError):
    """A cache cannot serve this call."""


class ArgumentError(HeadwiseError):
    """An argument has a value that it cannot have."""


class EngineRefused(HeadwiseError):
    """A named engine cannot run this call. The message lists every reason."""
