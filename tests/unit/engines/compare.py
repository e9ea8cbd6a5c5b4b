"""Comparison of an engine with the definition in float64: output, gradients and lse, within a multiple of plain rounding."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from headwise.call import Call
from headwise.engines.base import Output
from headwise.engines.reference import Reference

# Twice the error of the plain computation, and a floor for results that are exact by chance.
FLOOR = {torch.float64: 1e-12, torch.float32: 2e-6, torch.bfloat16: 2e-2, torch.float16: 3e-3}

Run = Callable[[Call], Output]


def operands(
    batch: int = 2,
    heads: int = 4,
    kv_heads: int = 4,
    queries: int = 37,
    keys: int = 37,
    features: int = 8,
    values: int = 8,
    dtype: torch.dtype = torch.float32,
    seed: int = 0,
) -> tuple[Tensor, Tensor, Tensor]:
    """Query, key and value that want gradients."""
    generator = torch.Generator().manual_seed(seed)
    sizes = ((heads, queries, features), (kv_heads, keys, features), (kv_heads, keys, values))
    return tuple(  # type: ignore[return-value]
        torch.randn(batch, *size, generator=generator).to(dtype).requires_grad_() for size in sizes
    )


def results(run: Run, tensors: tuple[Tensor, ...], learned: tuple[Tensor, ...], **arguments: Any) -> dict[str, Tensor]:
    """Output, lse, and the gradients of a sum that weighs every number of the output (and of the lse) differently."""
    call = Call.of(*tensors, return_lse=True, **arguments)
    output, lse = run(call)
    assert lse is not None, "the lse was asked for"
    weight = torch.linspace(-1, 1, output.numel(), dtype=output.dtype).view_as(output)
    seen = lse.isfinite()
    total = (output * weight).sum() + (torch.where(seen, lse, 0) * torch.linspace(0, 1, lse.numel()).view_as(lse)).sum()
    names = ("query", "key", "value", *(f"learned {place}" for place in range(len(learned))))
    grads = torch.autograd.grad(total, (*tensors, *learned), allow_unused=True)
    found = {"output": output, "lse": lse}
    found |= {
        f"gradient of {name}": torch.zeros_like(tensor) if grad is None else grad
        for name, grad, tensor in zip(names, grads, (*tensors, *learned), strict=True)
    }
    return {name: tensor.detach() for name, tensor in found.items()}


def assert_defined(
    run: Run, tensors: tuple[Tensor, ...], learned: tuple[Tensor, ...] = (), **arguments: Any
) -> dict[str, Tensor]:
    """Assert that an engine gives what the definition gives in float64, and return what it gave."""
    dtype = tensors[0].dtype
    found = results(run, tensors, learned, **arguments)
    plain = results(Reference().run, tensors, learned, **arguments)
    exact = results(Reference().run, tuple(t.detach().double().requires_grad_() for t in tensors), learned, **arguments)
    for name, right in exact.items():
        allowed = 2 * difference(plain[name], right) + FLOOR[dtype] * (1 + size(right))
        error = difference(found[name], right)
        assert error <= allowed, f"{name} is off by {error:.2e}, allowed is {allowed:.2e}"
        if name == "output":
            assert found[name].dtype == dtype
    return found


def difference(one: Tensor, other: Tensor) -> float:
    """The largest difference; infinities must agree."""
    one, other = one.double(), other.double()
    assert torch.equal(one.isinf(), other.isinf()), "infinite in other places"
    return float((torch.where(one.isinf(), 0, one) - torch.where(other.isinf(), 0, other)).abs().max())


def size(tensor: Tensor) -> float:
    """The largest finite magnitude."""
    return float(torch.where(tensor.isinf(), 0, tensor).abs().max())
