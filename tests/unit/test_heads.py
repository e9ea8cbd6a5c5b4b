"""PrepareForMultiHeadAttention: a linear map, then the last axis split into heads."""

import pytest
import torch

import headwise as hw


def make(width=12, heads=3, head_dim=4, bias=True):
    return hw.PrepareForMultiHeadAttention(width, heads, head_dim, bias).double()


@pytest.mark.parametrize("leading", [(), (5,), (5, 2), (2, 5, 3), (0, 2), (1, 1, 1, 1)], ids=str)
def test_any_leading_shape_is_kept_and_the_last_axis_split(leading):
    x = torch.randn(*leading, 12, dtype=torch.float64)
    assert make()(x).shape == (*leading, 3, 4)


def test_a_single_step_equals_its_place_in_the_batch():
    prepare, x = make(), torch.randn(2, 5, 12, dtype=torch.float64)
    torch.testing.assert_close(prepare(x)[1, 3], prepare(x[1, 3]), atol=1e-14, rtol=0)


def test_it_is_a_linear_map():
    prepare = make()
    x = torch.randn(5, 12, dtype=torch.float64)
    by_hand = x @ prepare.linear.weight.T + prepare.linear.bias
    torch.testing.assert_close(prepare(x), by_hand.view(5, 3, 4), atol=1e-14, rtol=0)


def test_head_h_owns_the_rows_of_the_weight_from_h_times_head_dim():
    prepare, x = make(bias=False), torch.randn(12, dtype=torch.float64)
    for head in range(3):
        rows = prepare.linear.weight[4 * head : 4 * head + 4]
        torch.testing.assert_close(prepare(x)[head], rows @ x, atol=1e-14, rtol=0)


def test_the_bias_can_be_left_away():
    assert make(bias=False).linear.bias is None
    assert [name for name, _ in make(bias=False).named_parameters()] == ["linear.weight"]
    assert [name for name, _ in make().named_parameters()] == ["linear.weight", "linear.bias"]


def test_heads_times_head_dim_need_not_be_the_width():
    assert make(12, heads=5, head_dim=7)(torch.randn(2, 12, dtype=torch.float64)).shape == (2, 5, 7)


def test_the_map_is_a_submodule_whose_hooks_fire():
    prepare, calls = make(), []
    prepare.linear.register_forward_hook(lambda module, given, result: calls.append(result.shape))
    prepare(torch.randn(2, 5, 12, dtype=torch.float64))
    assert calls == [(2, 5, 12)]


@pytest.mark.parametrize(
    "x", [torch.randn(2, 5, 11), torch.randn(()), torch.randn(2, 12, 1)], ids=lambda x: str(list(x.shape))
)
def test_another_width_is_refused_with_all_numbers(x):
    with pytest.raises(
        hw.ShapeError, match=r"last axis of x must be M = 12; got x .*" + f"{x.shape[-1] if x.dim() else ''}"
    ):
        make()(x)


def test_another_dtype_is_refused_in_words():
    prepare = hw.PrepareForMultiHeadAttention(8, 2, 4, bias=True)
    with pytest.raises(
        hw.ArgumentError, match=r"x must have the dtype of the layer; got torch.float64.*Usual fix: x.to"
    ):
        prepare(torch.randn(3, 8, dtype=torch.float64))


def test_autocast_takes_another_dtype():
    prepare = hw.PrepareForMultiHeadAttention(8, 2, 4, bias=True)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert prepare(torch.randn(3, 8)).dtype == torch.bfloat16
        assert prepare(torch.randn(3, 8, dtype=torch.bfloat16)).dtype == torch.bfloat16
