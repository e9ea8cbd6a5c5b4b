"""
headwise: multi-head attention that can be read, changed and trusted, at kernel speed.

The public names, each loaded on first use: `import headwise` alone imports nothing heavy.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from headwise.version import __version__

if TYPE_CHECKING:
    from headwise.cache import KVCache as KVCache
    from headwise.engines.setting import strict as strict
    from headwise.engines.setting import use_engine as use_engine
    from headwise.errors import ArgumentError as ArgumentError
    from headwise.errors import CacheError as CacheError
    from headwise.errors import EngineRefused as EngineRefused
    from headwise.errors import HeadwiseError as HeadwiseError
    from headwise.errors import MaskError as MaskError
    from headwise.errors import PositionError as PositionError
    from headwise.errors import ScoreError as ScoreError
    from headwise.errors import ShapeError as ShapeError
    from headwise.functional import attention as attention
    from headwise.functional import explain as explain
    from headwise.interop.replace import from_torch as from_torch
    from headwise.layer import MultiHeadAttention as MultiHeadAttention
    from headwise.mask.base import Mask as Mask
    from headwise.mask.causal import Causal as Causal
    from headwise.mask.dense import Dense as Dense
    from headwise.mask.dilated import Dilated as Dilated
    from headwise.mask.documents import Documents as Documents
    from headwise.mask.full import Full as Full
    from headwise.mask.padding import Padding as Padding
    from headwise.mask.prefix import Prefix as Prefix
    from headwise.mask.window import Window as Window
    from headwise.position.learned import Learned as Learned
    from headwise.position.rotary import Rotary as Rotary
    from headwise.position.sinusoidal import Sinusoidal as Sinusoidal
    from headwise.raw_indices import flex as flex
    from headwise.recording.heads import ablate as ablate
    from headwise.recording.recorder import record as record
    from headwise.score.alibi import Alibi as Alibi
    from headwise.score.base import AdditiveScore as AdditiveScore
    from headwise.score.base import Score as Score
    from headwise.score.bias import Bias as Bias
    from headwise.score.sink import Sink as Sink
    from headwise.score.softcap import Softcap as Softcap
    from headwise.score.t5 import T5Bias as T5Bias
    from headwise.source.heads import PrepareForMultiHeadAttention as PrepareForMultiHeadAttention
    from headwise.transformer.autoregressive import AutoregressiveTransformer as AutoregressiveTransformer
    from headwise.transformer.decoder import Decoder as Decoder
    from headwise.transformer.encoder import Encoder as Encoder
    from headwise.transformer.encoder_decoder import EncoderDecoder as EncoderDecoder
    from headwise.transformer.per_layer import PerLayer as PerLayer

# Public name -> the module that defines it. No module bears the name of a public function, because importing it
# would put the module in the function's place.
_HOMES = {
    "attention": "functional",
    "explain": "functional",
    "flex": "raw_indices",
    "use_engine": "engines.setting",
    "strict": "engines.setting",
    "MultiHeadAttention": "layer",
    "PrepareForMultiHeadAttention": "source.heads",
    "KVCache": "cache",
    "from_torch": "interop.replace",
    "Mask": "mask.base",
    "Full": "mask.full",
    "Causal": "mask.causal",
    "Window": "mask.window",
    "Prefix": "mask.prefix",
    "Dilated": "mask.dilated",
    "Padding": "mask.padding",
    "Documents": "mask.documents",
    "Dense": "mask.dense",
    "Score": "score.base",
    "AdditiveScore": "score.base",
    "Softcap": "score.softcap",
    "Alibi": "score.alibi",
    "Bias": "score.bias",
    "T5Bias": "score.t5",
    "Sink": "score.sink",
    "Rotary": "position.rotary",
    "Sinusoidal": "position.sinusoidal",
    "Learned": "position.learned",
    "Encoder": "transformer.encoder",
    "Decoder": "transformer.decoder",
    "EncoderDecoder": "transformer.encoder_decoder",
    "PerLayer": "transformer.per_layer",
    "AutoregressiveTransformer": "transformer.autoregressive",
    "record": "recording.recorder",
    "ablate": "recording.heads",
    "HeadwiseError": "errors",
    "ShapeError": "errors",
    "MaskError": "errors",
    "ScoreError": "errors",
    "PositionError": "errors",
    "CacheError": "errors",
    "ArgumentError": "errors",
    "EngineRefused": "errors",
}

__all__ = ["__version__", *_HOMES]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'headwise' has no attribute {name!r}")
    value = getattr(import_module(f"headwise.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
