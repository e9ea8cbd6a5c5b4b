"""The public names."""

from sample.attention import Attention
from sample.mask.causal import Causal

__all__ = ["Attention", "Causal"]
