"""
---
title: The feed-forward network
summary: After attention has moved information between tokens, each token is processed alone.
---

# The feed-forward network

Two linear maps with a bend between them, applied to each token alone. The middle is wider than the ends.

```python
>>> import torch
>>> from headwise.transformer.feed_forward import make_feed_forward
>>> network = make_feed_forward("swiglu", 128)
>>> network(torch.zeros(2, 5, 128)).shape, network.width
(torch.Size([2, 5, 128]), 344)

```
"""

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType

import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from headwise.checks import check_share, check_size
from headwise.errors import ArgumentError
from headwise.transformer.again import again
from headwise.transformer.block_norm import Affine, NormKind
from headwise.transformer.in_blocks import IN_PLACE, How, gated_in_blocks, plain_in_blocks, squared_relu
from headwise.transformer.plainly import computes_plainly, is_plain

Activation = Callable[[Tensor], Tensor]


class FeedForward(nn.Module):
    """
    The plain network: $y = W_2\\, f(W_1 x + b_1) + b_2$.

    `width` is the size of the middle, by default 4 times the model.

    *Shapes*: `[..., M]` -> `[..., M]`

    *Source*: Vaswani et al., 2017, section 3.3, https://arxiv.org/abs/1706.03762
    """

    # Layers that spare memory in training set it.
    lean = False

    def __init__(
        self,
        d_model: int,
        width: int | None = None,
        *,
        activation: Activation = F.relu,
        dropout: float = 0.0,
        bias: bool = True,
    ) -> None:
        super().__init__()
        self.width = 4 * d_model if width is None else check_size("width", width, "width=4 * d_model")
        self.up = nn.Linear(d_model, self.width, bias=bias)
        self.activation = activation
        self.dropout = nn.Dropout(check_share("dropout", dropout))
        self.down = nn.Linear(self.width, d_model, bias=bias)

    def forward(self, x: Float[Tensor, "... M"]) -> Float[Tensor, "... M"]:
        if in_blocks(self, x):
            return run_in_blocks(self, x)
        up = self.up(x)
        return again(lambda: self.dropout(self.activation(up)), self.down, when=spares(self))


class GatedFeedForward(nn.Module):
    """
    The gated network: one map proposes, another one decides how much of it passes,
    $y = W_2 \\big( f(W_g x) \\odot W_1 x \\big)$.

    `width` is by default $\\frac83 M$, rounded up to a multiple of 8: three matrices then have about as many parameters
    as the two of the plain network.

    *Shapes*: `[..., M]` -> `[..., M]`

    *Source*: Shazeer, 2020, section 2, https://arxiv.org/abs/2002.05202
    """

    # Layers that spare memory in training set it.
    lean = False

    def __init__(
        self,
        d_model: int,
        width: int | None = None,
        *,
        activation: Activation = F.silu,
        dropout: float = 0.0,
        bias: bool = True,
    ) -> None:
        super().__init__()
        self.width = 8 * -(-d_model // 3) if width is None else check_size("width", width, "width=8 * d_model // 3")
        self.gate = nn.Linear(d_model, self.width, bias=bias)
        self.up = nn.Linear(d_model, self.width, bias=bias)
        self.activation = activation
        self.dropout = nn.Dropout(check_share("dropout", dropout))
        self.down = nn.Linear(self.width, d_model, bias=bias)

    def forward(self, x: Float[Tensor, "... M"]) -> Float[Tensor, "... M"]:
        if in_blocks(self, x):
            return run_in_blocks(self, x)
        gate, up = self.gate(x), self.up(x)
        spare = spares(self)

        def middle() -> Tensor:
            return self.dropout(again(lambda: self.activation(gate), lambda opened: opened * up, when=spare))

        return again(middle, self.down, when=spare)


def spares(network: FeedForward | GatedFeedForward) -> bool:
    """Whether the middle of the network is made again for the backward pass; drawn anew, dropout would be another one."""
    return network.lean and network.training and network.dropout.p == 0.0


def in_blocks(network: FeedForward | GatedFeedForward, x: Tensor) -> bool:
    """Whether the network may work block by block: on a processor, with parts that nobody has changed and nobody watches."""
    if not computes_plainly(x) or not spares(network) or network.activation not in IN_PLACE:
        return False
    return all(is_plain(each, x) for each in network.children() if each is not network.dropout)


def run_in_blocks(
    network: FeedForward | GatedFeedForward, x: Tensor, norm: NormKind | None = None, affine: Affine | None = None
) -> Tensor:
    """The network, block by block, behind a norm if one is given with its weights."""
    linears = (
        (network.up, network.down) if isinstance(network, FeedForward) else (network.gate, network.up, network.down)
    )
    parts = [(each.weight, each.bias) for each in linears]
    run = plain_in_blocks if isinstance(network, FeedForward) else gated_in_blocks
    return run(x, How(network.activation, norm), *([affine] if affine else []), *parts)


FeedForwardChoice = str | Callable[[int], nn.Module]

FEED_FORWARDS: Mapping[str, Callable[..., nn.Module]] = MappingProxyType(
    {
        "relu": partial(FeedForward, activation=F.relu),
        "gelu": partial(FeedForward, activation=F.gelu),
        "squared_relu": partial(FeedForward, activation=squared_relu),
        "swiglu": partial(GatedFeedForward, activation=F.silu),
        "geglu": partial(GatedFeedForward, activation=F.gelu),
        "reglu": partial(GatedFeedForward, activation=F.relu),
    }
)


def make_feed_forward(
    choice: FeedForwardChoice, d_model: int, width: int | None = None, *, bias: bool = True
) -> nn.Module:
    """Build a network: from a name of `FEED_FORWARDS`, or from a function that takes the width of the model."""
    if not isinstance(choice, str):
        # A function of your own decides about its sizes by itself, so a width beside it would be dropped in silence.
        if width is not None:
            raise ArgumentError(
                f"width must be None beside a feed_forward of your own; got width={width}. Usual fix: partial(YourNetwork, width={width})."
            )
        return choice(d_model)
    if choice not in FEED_FORWARDS:
        raise ArgumentError(
            f"feed_forward must be one of {', '.join(FEED_FORWARDS)}, or a function d_model -> module; got {choice!r}. "
            "Usual fix: feed_forward='swiglu'."
        )
    return FEED_FORWARDS[choice](d_model, width, bias=bias)
