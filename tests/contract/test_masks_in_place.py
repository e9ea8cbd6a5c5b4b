"""A mask that is written to between a call and its backward pass: gradients are those of the call, or refused."""

import pytest
import torch

import headwise as hw


def dense():
    tensor = torch.ones(6, 6, dtype=torch.bool).tril()
    return hw.Dense(tensor), tensor.logical_not_


def joined():
    mask, change = dense()
    return hw.Window(1) | ~mask, change


def function():
    tensor = torch.ones(6, 6, dtype=torch.bool).tril()
    return (lambda b, h, i, j: tensor[i, j]), tensor.logical_not_


def padding():
    tensor = torch.ones(2, 6, dtype=torch.bool).tril(2)
    return hw.Padding(tensor), tensor.logical_not_


def documents():
    tensor = torch.tensor([[0, 0, 1, 1, 1, 1], [0, 0, 0, 0, 1, 1]])
    return hw.Documents(tensor), lambda: tensor.add_(torch.arange(6))


def prefix():
    tensor = torch.tensor([2, 3])
    return hw.Causal() & hw.Prefix(tensor), lambda: tensor.add_(1)


class Mine(hw.Score):
    def change(self, scores, grid):
        return scores * 1.1


@pytest.mark.parametrize("through_lse", [False, True])
@pytest.mark.parametrize("score", [None, hw.Softcap(2.0), hw.Alibi(3), Mine()], ids=lambda score: type(score).__name__)
@pytest.mark.parametrize("make", [dense, joined, function, padding, documents, prefix])
@pytest.mark.parametrize("engine", ["auto", "sdpa", "blockwise", "reference"])
def test_gradients_are_those_of_the_call_or_refused(make, score, engine, through_lse):
    x = torch.randn(2, 3, 6, 4).requires_grad_()
    refused = (hw.MaskError, RuntimeError)

    def loss(mask):
        output, lse = hw.attention(x, x, x, mask=mask, score=score, engine=engine, return_lse=True)
        return torch.where(lse.isfinite(), lse, 0).square().sum() if through_lse else output.square().sum()

    try:
        (wanted,) = torch.autograd.grad(loss(make()[0]), x)
    except hw.EngineRefused:
        return
    mask, change = make()
    found = loss(mask)
    change()
    try:
        (given,) = torch.autograd.grad(found, x)
    except refused as error:
        assert "a mask must stay as it is until the backward pass" in str(error) or "inplace operation" in str(error)
    else:
        torch.testing.assert_close(given, wanted)


def test_a_mask_that_is_written_to_after_the_backward_pass_is_served():
    tensor, x = torch.ones(6, 6, dtype=torch.bool).tril(), torch.randn(2, 3, 6, 4).requires_grad_()
    for _ in range(3):
        hw.attention(x, x, x, mask=tensor, engine="blockwise").sum().backward()
        tensor.logical_not_()


def test_functions_that_capture_themselves_or_nothing_yet_are_served():
    x = torch.randn(2, 3, 6, 4).requires_grad_()

    def rule(b, h, i, j):
        return (i >= j) & callable(rule) & (not late_is_used or late)

    late_is_used = False
    hw.attention(x, x, x, mask=rule, engine="blockwise").sum().backward()
    late = True
    assert x.grad is not None
