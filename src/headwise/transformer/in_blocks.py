"""
---
title: A network in blocks of tokens
summary: The feed-forward network works on a few hundred tokens at a time, so that its wide middle never leaves the cache.
---

# A network in blocks of tokens

The middle of a feed-forward network is the largest tensor of a layer, and it is there for a moment only: written once, read once. For
thousands of tokens it is larger than the cache of a processor, and each of those passes waits for the memory. Here the network does all of
its work for one block of tokens before it turns to the next, and the middle of a block stays in the cache.

The backward pass does the same. It makes the activation again, block by block, from what went into it, which then costs less than
it would to fetch it. The gradient of a matrix is the sum over the blocks, because each token adds to it for itself:

$$\\frac{\\partial L}{\\partial W} = \\sum_{\\text{blocks}} G_{\\text{block}}^\\top X_{\\text{block}}$$

Sums in another order round otherwise in their last digits; apart from this the numbers are those of the plain network.

```python
>>> import torch
>>> import torch.nn.functional as F
>>> up, down = torch.ones(3, 2), torch.ones(2, 3)
>>> plain_in_blocks(torch.ones(1, 5, 2), How(F.relu), (up, None), (down, None))[0, 0].tolist()
[6.0, 6.0]

```
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from headwise.transformer.block_norm import NormKind

# Numbers in the buffers of one block for each thread: 2 MB in single precision. Larger blocks leave the cache; smaller ones are products
# of short matrices, which are slower.
BLOCK = 2**19
FEWEST_TOKENS = 256

Linear = tuple[Tensor, Tensor | None]
aten = torch.ops.aten


@dataclass(frozen=True)
class InPlace:
    """An activation that writes into a buffer, and its gradient, which replaces the gradient that it gets."""

    write: Callable[[Tensor, Tensor], object]
    change: Callable[[Tensor, Tensor], object]


def squared_relu(x: Tensor) -> Tensor:
    """
    $\\max(x, 0)^2$, found by search over small programs.

    *Source*: So et al., 2021, section 3, https://arxiv.org/abs/2109.08668
    """
    return F.relu(x).square()


IN_PLACE: Mapping[Callable[..., Tensor], InPlace] = MappingProxyType(
    {
        F.relu: InPlace(
            lambda x, out: torch.clamp(x, min=0, out=out),
            lambda grad, x: aten.threshold_backward.grad_input(grad, x, 0, grad_input=grad),
        ),
        squared_relu: InPlace(
            lambda x, out: torch.clamp(x, min=0, out=out).square_(),
            lambda grad, x: aten.threshold_backward.grad_input(grad, x, 0, grad_input=grad).mul_(x).mul_(2),
        ),
        F.gelu: InPlace(
            lambda x, out: aten.gelu.out(x, out=out),
            lambda grad, x: aten.gelu_backward.grad_input(grad, x, grad_input=grad),
        ),
        F.silu: InPlace(
            lambda x, out: aten.silu.out(x, out=out),
            lambda grad, x: aten.silu_backward.grad_input(grad, x, grad_input=grad),
        ),
    }
)


@dataclass(frozen=True)
class How:
    """The activation, one of `IN_PLACE`, and the norm in front of the network, if there is one."""

    activation: Callable[..., Tensor]
    norm: NormKind | None = None


def plain_in_blocks(x: Tensor, how: How, *parts: Linear) -> Tensor:
    """$W_2 f(W_1 x + b_1) + b_2$; the parts are the weights of the norm, if there is one, and those of both maps."""
    return _call(_Plain, x, how, parts)


def gated_in_blocks(x: Tensor, how: How, *parts: Linear) -> Tensor:
    """$W_2 (f(W_g x) \\odot W_1 x)$, with biases where there are any; the parts are norm, gate, up and down."""
    return _call(_Gated, x, how, parts)


def _call(function: Any, x: Tensor, how: How, parts: Iterable[Linear]) -> Tensor:
    result: Tensor = function.apply(x.flatten(0, -2), how, *(each for part in parts for each in part))
    return result.unflatten(0, x.shape[:-1])


class _Plain(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, how: How, *weights: Tensor | None) -> Tensor:
        norm, up, down = _parts(how, weights)
        bent, output = x.new_empty(len(x), len(up[0])), x.new_empty(len(x), len(down[0]))
        for rows, (here,) in blocks(bent, 1):
            _write_linear(bent[rows], _normed(how, x[rows], norm)[0], up)
            IN_PLACE[how.activation].write(bent[rows], here)
            _write_linear(output[rows], here, down)
        ctx.how = how
        ctx.save_for_backward(x, bent, *weights)
        return output

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        x, bent, *weights = ctx.saved_tensors
        if torch.is_grad_enabled():
            return _differentiable(_plain, grad, x, ctx.how, weights)
        norm, up, down = _parts(ctx.how, weights)
        grads = [None if each is None else torch.zeros_like(each) for each in weights]
        norm_grad, up_grad, down_grad = _parts(ctx.how, grads)
        x_grad = torch.empty_like(x)
        for rows, (here,) in blocks(bent, 1):
            inputs, statistics = _normed(ctx.how, x[rows], norm)
            IN_PLACE[ctx.how.activation].write(bent[rows], here)
            _add_gradient(down_grad, grad[rows], here)
            # The same buffer holds the middle first and then the gradient of it.
            torch.mm(grad[rows], down[0], out=here)
            IN_PLACE[ctx.how.activation].change(here, bent[rows])
            _add_gradient(up_grad, here, inputs)
            torch.mm(here, up[0], out=x_grad[rows])
            _through_norm(ctx.how, x_grad[rows], x[rows], statistics, norm, norm_grad)
        return x_grad, None, *grads


class _Gated(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, how: How, *weights: Tensor | None) -> Tensor:
        norm, gate, up, down = _parts(how, weights)
        bent, proposed = (x.new_empty(len(x), len(gate[0])) for _ in range(2))
        output = x.new_empty(len(x), len(down[0]))
        for rows, (here,) in blocks(bent, 1):
            inputs, _ = _normed(how, x[rows], norm)
            _write_linear(bent[rows], inputs, gate)
            _write_linear(proposed[rows], inputs, up)
            IN_PLACE[how.activation].write(bent[rows], here)
            _write_linear(output[rows], here.mul_(proposed[rows]), down)
        ctx.how = how
        ctx.save_for_backward(x, bent, proposed, *weights)
        return output

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        x, bent, proposed, *weights = ctx.saved_tensors
        if torch.is_grad_enabled():
            return _differentiable(_gated, grad, x, ctx.how, weights)
        norm, gate, up, down = _parts(ctx.how, weights)
        grads = [None if each is None else torch.zeros_like(each) for each in weights]
        norm_grad, gate_grad, up_grad, down_grad = _parts(ctx.how, grads)
        x_grad = torch.empty_like(x)
        for rows, (opened, middle) in blocks(bent, 2):
            inputs, statistics = _normed(ctx.how, x[rows], norm)
            IN_PLACE[ctx.how.activation].write(bent[rows], opened)
            torch.mul(opened, proposed[rows], out=middle)
            _add_gradient(down_grad, grad[rows], middle)
            # From here on `middle` holds the gradient of the middle, and `opened` that of what was proposed.
            torch.mm(grad[rows], down[0], out=middle)
            opened.mul_(middle)
            _add_gradient(up_grad, opened, inputs)
            torch.mm(opened, up[0], out=x_grad[rows])
            IN_PLACE[ctx.how.activation].change(middle.mul_(proposed[rows]), bent[rows])
            _add_gradient(gate_grad, middle, inputs)
            x_grad[rows].addmm_(middle, gate[0])
            _through_norm(ctx.how, x_grad[rows], x[rows], statistics, norm, norm_grad)
        return x_grad, None, *grads


def blocks(middle: Tensor, buffers: int) -> Iterator[tuple[slice, list[Tensor]]]:
    """The rows of the middle in blocks of nearly equal size, each with buffers of its shape."""
    tokens, width = middle.shape
    # Without numbers there is nothing to keep in a cache.
    size = tokens if middle.is_meta else block_size(tokens, buffers * width)
    whole = [middle.new_empty(size, width) for _ in range(buffers)]
    for start in range(0, tokens, max(1, size)):
        end = min(start + size, tokens)
        yield slice(start, end), [each[: end - start] for each in whole]


def block_size(tokens: int, numbers: int) -> int:
    """Tokens in a block, of which each needs so many numbers in buffers."""
    most = max(FEWEST_TOKENS, BLOCK * torch.get_num_threads() // numbers)
    return -(-tokens // max(1, -(-tokens // most)))


def _parts(how: How, tensors: Any) -> list[Any]:
    """Each matrix with its bias, and the weights of the norm in front of them; None in their place where there is no norm."""
    pairs = list(zip(tensors[::2], tensors[1::2], strict=True))
    return pairs if how.norm else [None, *pairs]


def _normed(how: How, x: Tensor, affine: Any) -> tuple[Tensor, Any]:
    return how.norm.apply(x, affine) if how.norm else (x, None)


def _through_norm(how: How, grad: Tensor, x: Tensor, statistics: Any, affine: Any, sums: Any) -> None:
    """Turns the gradient of what the norm returned into that of what it got."""
    if how.norm is None:
        return
    x_grad, *affine_grads = how.norm.gradients(grad, x, statistics, affine)
    grad.copy_(x_grad)
    for total, each in zip(sums, affine_grads, strict=True):
        if total is not None:
            total.add_(each)


def _write_linear(out: Tensor, x: Tensor, linear: Linear) -> None:
    weight, bias = linear
    if bias is None:
        torch.mm(x, weight.T, out=out)
    else:
        torch.addmm(bias, x, weight.T, out=out)


def _add_gradient(sums: Linear, grad: Tensor, inputs: Tensor) -> None:
    weight, bias = sums
    weight.addmm_(grad.T, inputs)
    if bias is not None:
        bias.add_(grad.sum(0))


def _plain(x: Tensor, how: How, up: Linear, down: Linear) -> Tensor:
    return F.linear(how.activation(F.linear(x, *up)), *down)


def _gated(x: Tensor, how: How, gate: Linear, up: Linear, down: Linear) -> Tensor:
    return F.linear(how.activation(F.linear(x, *gate)) * F.linear(x, *up), *down)


def _differentiable(
    network: Callable[..., Tensor], grad: Tensor, x: Tensor, how: How, weights: list[Tensor | None]
) -> Any:
    """The gradients as a graph, for whoever wants gradients of them: the plain network is run once more."""
    norm, *linears = _parts(how, weights)
    output = network(how.norm.plain(x, norm) if how.norm else x, how, *linears)
    wanted = [each for each in (x, *weights) if each is not None]
    found = iter(torch.autograd.grad(output, wanted, grad, create_graph=True))
    return next(found), None, *(None if each is None else next(found) for each in weights)
