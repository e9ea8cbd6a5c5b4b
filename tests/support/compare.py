"""How results are compared: with a tolerance that the dtype itself sets."""

import torch

from headwise.call import Call
from support.engines import ENGINES


def operands(sizes, groups, features=6, value_features=6, dtype=torch.float64, requires_grad=True):
    batch, heads, queries, keys = sizes
    shapes = ((batch, heads, queries, features), (batch, groups, keys, features), (batch, groups, keys, value_features))
    return tuple(torch.randn(shape, dtype=torch.float64).to(dtype).requires_grad_(requires_grad) for shape in shapes)


def copies(tensors, dtype=torch.float64):
    """The same numbers in another dtype, as leaves of their own."""
    return tuple(tensor.detach().to(dtype).requires_grad_(tensor.requires_grad) for tensor in tensors)


def gradients(tensors, output, lse=None):
    """Gradients of a loss that weighs every entry differently; rows whose lse is not finite are left out of it."""
    loss = (output * torch.cos(torch.arange(output.numel()).view(output.shape)).to(output)).sum()
    if lse is not None:
        finite = torch.where(lse.isfinite(), lse, 0)
        loss = loss + (finite * torch.sin(torch.arange(lse.numel()).view(lse.shape)).to(lse)).sum()
    return torch.autograd.grad(loss, tensors, allow_unused=True, materialize_grads=True)


def close(found, wanted, atol, rtol=0.0):
    torch.testing.assert_close(found, wanted.to(found.dtype), atol=atol, rtol=rtol, check_dtype=False)


def error(found, truth):
    """The largest error, finite entries only; the others must agree in kind."""
    found, truth = found.detach().double(), truth.detach()
    assert torch.equal(found.isfinite(), truth.isfinite())
    wrong = torch.where(truth.isfinite(), found - truth, 0).abs()
    return wrong.max().item() if wrong.numel() else 0.0


# PyTorch's CPU kernel takes exponentials that are right to 20 bits, in float32 and less.
KERNEL_EPS = {"sdpa": 2.0**-20, "blockwise": 2.0**-20}


def bound(plain_error, truth, dtype, engine="reference"):
    """Twice the error of the plain computation in that dtype, and never less than a rounding of the result itself."""
    size = torch.where(truth.isfinite(), truth, 0).abs().max().item() if truth.numel() else 0.0
    eps = max(torch.finfo(dtype).eps, KERNEL_EPS.get(engine, 0.0) if dtype != torch.float64 else 0.0)
    return 2 * plain_error + eps * max(size, 1e-3)


def able(query, key, value, **arguments):
    """Names of the engines that run this call; the others refuse it with reasons."""
    call = Call.of(query, key, value, **arguments)
    return [name for name, engine in ENGINES.items() if not engine.why_not(call)]
