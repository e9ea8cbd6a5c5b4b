"""Normalisations: their formulas, and their precision in half types."""

import pytest
import torch

from headwise.errors import HeadwiseError, ShapeError
from headwise.norm import LayerNorm, RMSNorm, make_norm


def test_rms_norm_equals_its_formula():
    x = torch.randn(2, 3, 7, dtype=torch.float64)
    norm = RMSNorm(7).double()
    torch.nn.init.normal_(norm.weight)
    wanted = norm.weight * x / (x.square().mean(-1, keepdim=True) + 1e-6).sqrt()
    torch.testing.assert_close(norm(x), wanted, atol=1e-14, rtol=1e-13)


def test_layer_norm_equals_its_formula():
    x = torch.randn(2, 3, 7, dtype=torch.float64)
    wanted = (x - x.mean(-1, keepdim=True)) / (x.var(-1, keepdim=True, correction=0) + 1e-5).sqrt()
    torch.testing.assert_close(LayerNorm(7).double()(x), wanted, atol=1e-14, rtol=1e-13)


def test_rms_norm_equals_torch_with_gradients():
    ours, theirs = RMSNorm(16), torch.nn.RMSNorm(16, eps=1e-6)
    theirs.weight.data = ours.weight.data.normal_().clone()
    x = torch.randn(3, 5, 16)
    grads = []
    for norm in (ours, theirs):
        leaf = x.clone().requires_grad_()
        norm(leaf).square().sum().backward()
        grads.append((leaf.grad, norm.weight.grad))
    torch.testing.assert_close(grads[0], grads[1])


def test_rms_norm_gradients_are_exact_and_finite_at_zero():
    norm = RMSNorm(5).double()
    x = torch.randn(2, 5, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(norm, x)
    zero = torch.zeros(1, 5, requires_grad=True)
    RMSNorm(5)(zero).sum().backward()
    torch.testing.assert_close(zero.grad, torch.full((1, 5), 1000.0))


@pytest.mark.parametrize("name", ["rms", "layer"])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_types_are_computed_in_float32_and_rounded_once(name, dtype):
    x = (torch.randn(4, 64) * 300).to(dtype)
    norm = make_norm(name, 64)
    exact = norm.double()(x.double())
    rounded = (exact.to(dtype).double() - exact).abs().max()
    out = norm.to(dtype)(x)
    assert out.dtype == dtype
    assert (out.double() - exact).abs().max() <= 2 * rounded


def test_squares_beyond_the_range_of_float16_are_no_problem():
    x = torch.full((1, 8), 4000.0, dtype=torch.float16)
    assert torch.equal(RMSNorm(8).half()(x), torch.ones(1, 8, dtype=torch.float16))


@pytest.mark.parametrize("name", ["rms", "layer"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_norms_run_under_autocast_in_both_modes(name, dtype):
    norm, x = make_norm(name, 8), torch.randn(2, 8).to(dtype)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        trained = norm.train()(x)
        assert torch.equal(trained, norm.eval()(x))
    torch.testing.assert_close(trained.float(), norm(x.float()), atol=0.02, rtol=0.02)


def test_a_norm_may_be_a_function_of_the_width():
    assert make_norm(torch.nn.Identity, 8)(torch.ones(8)).sum() == 8
    assert [name for name, _ in make_norm("layer", 8, bias=False).named_parameters()] == ["weight"]
    with pytest.raises(HeadwiseError, match=r"norm must be one of rms, layer.*got 'batch'"):
        make_norm("batch", 8)


def test_rms_norm_refuses_another_width():
    with pytest.raises(ShapeError, match=r"M = 8.*\[2, 7\]"):
        RMSNorm(8)(torch.zeros(2, 7))
