"""
---
title: Hugging Face transformers
summary: headwise as the attention of other people's models, so that they can be seen on the fast path.
---

# Hugging Face transformers

```python
from transformers import AutoModelForCausalLM
from headwise.integrations import transformers as integration

integration.register()
model = AutoModelForCausalLM.from_pretrained(path, attn_implementation="headwise")
with hw.record(model, keep="stats") as tape:
    model(**inputs)
```

`register` names headwise as an implementation of attention there. The models stay as they are; each of their attention modules
gets a submodule `attend`, without parameters, through which its calls go and which recordings hook.

*Edge*: which keys a query may see is worked out by transformers, so a query that is padding itself may see other keys here than
with another implementation; nothing reads it. With a static cache the slots that are not filled yet count as keys that nobody sees.
"""

from typing import Any

import torch
from torch import Tensor, nn

from headwise.attend import Attend, weights_of
from headwise.call import Call
from headwise.errors import ArgumentError
from headwise.grid import Grid
from headwise.mask.base import Mask
from headwise.mask.causal import Causal
from headwise.mask.dense import Dense
from headwise.mask.full import Full
from headwise.score.base import Score, SinkScore
from headwise.score.bias import Bias
from headwise.score.softcap import Softcap

NAME = "headwise"


def register(name: str = NAME) -> None:
    """Make `attn_implementation="headwise"` known to transformers. Registering twice changes nothing."""
    if name != NAME:
        raise ArgumentError(f"The name must be {NAME!r}, by which recordings recognise models. Got {name!r}.")
    try:
        from transformers import AttentionInterface, AttentionMaskInterface
    except ImportError:
        raise ArgumentError(
            "This needs the library transformers, which is not installed. Usual fix: pip install 'headwise[transformers]'."
        ) from None
    AttentionInterface.register(name, attend)
    AttentionMaskInterface.register(name, visible_pairs)


def visible_pairs(
    *, q_length: int, kv_length: int, allow_is_causal_skip: bool = True, **arguments: Any
) -> Tensor | None:
    """
    Which keys a query may see, `[B,1,I,J]`, True = may see; None where a plain causal mask says it all.

    Without a mask the last query stands at the last key here, so only a square call may go without.
    """
    from transformers.masking_utils import sdpa_mask

    skip = allow_is_causal_skip and q_length == kv_length
    return sdpa_mask(q_length=q_length, kv_length=kv_length, allow_is_causal_skip=skip, **arguments)


def adopt(model: nn.Module) -> None:
    """Give each attention module of a model that attends by headwise its submodule `attend`, before its first call."""
    for module in list(model.modules()):
        settings = getattr(module, "config", None)
        chosen = getattr(settings, "_attn_implementation", None) == NAME
        if chosen and hasattr(module, "is_causal") and type(module).__name__.endswith("Attention"):
            attend_of(module)


def attend_of(module: nn.Module) -> nn.Module:
    """The submodule through which the calls of an attention module go, made on first use."""
    if not isinstance(module._modules.get("attend"), Attend):
        module.add_module("attend", Attend())
    return module.get_submodule("attend")


def attend(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    scaling: float | None = None,
    dropout: float = 0.0,
    **others: Any,
) -> tuple[Tensor, Tensor | None]:
    """
    What transformers calls: output `[B,I,H,E]`, and the weights `[B,H,I,J]` if the model is asked for them, else None.

    The mask holds windows and padding already. Soft capping, sinks and position biases come as further arguments.
    """
    if others.get("head_mask") is not None:
        raise ArgumentError("headwise has no head_mask. Usual fix: headwise.recording.heads.ablate switches heads off.")
    causal = others.get("is_causal")
    causal = getattr(module, "is_causal", True) if causal is None else causal
    mask, scores = parts(attention_mask, causal and query.shape[2] > 1, others)
    call = Call.of(query, key, value, mask=mask, score=tuple(scores), scale=scaling, dropout=dropout)
    output_BHIE = attend_of(module)(call)
    weights_BHIJ = weights_of(call) if others.get("output_attentions") else None
    return output_BHIE.transpose(1, 2).contiguous(), weights_BHIJ


def parts(attention_mask: Tensor | None, causal: bool, others: dict[str, Any]) -> tuple[Mask, list[Score]]:
    """Mask and score parts, in the order in which the models apply them."""
    scores: list[Score] = []
    if others.get("position_bias") is not None:
        scores.append(Bias(others["position_bias"]))
    if others.get("softcap") is not None:
        scores.append(Softcap(others["softcap"]))
    mask: Mask = Causal() if causal else Full()
    if attention_mask is not None and attention_mask.dtype == torch.bool:
        mask = Dense(attention_mask)
    elif attention_mask is not None:
        # A mask of the user's own may be numbers to add, of which the lowest ones hide.
        visible = attention_mask > torch.finfo(attention_mask.dtype).min / 2
        mask = Dense(visible)
        scores.append(Bias(torch.where(visible, attention_mask, 0.0)))
    if others.get("s_aux") is not None:
        scores.append(GivenSink(others["s_aux"]))
    return mask, scores


class GivenSink(SinkScore):
    """The sink logits of a model, one for each head."""

    def __init__(self, logits: Tensor) -> None:
        self.logits = logits

    def sink(self, grid: Grid) -> Tensor:
        return self.logits
