"""Muon: all directions of an update have nearly the same length."""

import pytest
import torch

import headwise as hw
from headwise.train.config import TrainConfig
from headwise.train.muon import Muon, orthogonalised
from headwise.train.optimizer import build_optimizers, set_learning_rate


@pytest.mark.parametrize("shape", [(3, 5, 9), (2, 9, 5), (1, 6, 6)])
def test_singular_values_come_near_1_and_singular_vectors_stay(shape):
    torch.manual_seed(0)
    matrices = torch.randn(shape, dtype=torch.float64)
    changed = orthogonalised(matrices)
    values = torch.linalg.svdvals(changed)
    assert values.min() > 0.5
    assert values.max() < 1.3
    # With the same singular vectors, the product with the transposed matrix is symmetric and positive.
    product = changed @ matrices.mT if shape[1] <= shape[2] else changed.mT @ matrices
    torch.testing.assert_close(product, product.mT)
    assert torch.linalg.eigvalsh(product).min() > 0


def test_the_scale_of_a_gradient_plays_no_part():
    gradient = torch.randn(1, 4, 7, dtype=torch.float64)
    torch.testing.assert_close(orthogonalised(gradient), orthogonalised(1e-6 * gradient))


def test_a_gradient_of_zero_moves_nothing():
    assert torch.equal(orthogonalised(torch.zeros(1, 3, 4)), torch.zeros(1, 3, 4))


def test_an_update_has_the_size_of_one_of_adamw():
    torch.manual_seed(0)
    weight = torch.nn.Parameter(torch.zeros(40, 60))
    weight.grad = torch.randn(40, 60)
    Muon([weight], lr=0.1, weight_decay=0.0).step()
    assert weight.square().mean().sqrt().item() == pytest.approx(0.1 * 0.2, rel=0.25)
    assert (weight * weight.grad).sum() < 0


def test_stacked_matrices_are_updated_as_alone():
    gradients = torch.randn(3, 4, 6)
    together = [torch.nn.Parameter(torch.ones(4, 6)) for _ in gradients]
    alone = [torch.nn.Parameter(torch.ones(4, 6)) for _ in gradients]
    for pair, gradient in zip(zip(together, alone, strict=True), gradients, strict=True):
        for parameter in pair:
            parameter.grad = gradient.clone()
    Muon(together, lr=0.1).step()
    for parameter in alone:
        Muon([parameter], lr=0.1).step()
    for left, right in zip(together, alone, strict=True):
        torch.testing.assert_close(left, right)


@pytest.mark.parametrize("tied", [True, False])
def test_each_parameter_belongs_to_one_optimizer(tied):
    model = hw.AutoregressiveTransformer(7, 8, 2, 2, tied=tied, bias=True)
    optimizers = build_optimizers(model, TrainConfig(optimizer="muon"))
    owned = [id(each) for optimizer in optimizers for group in optimizer.param_groups for each in group["params"]]
    assert sorted(owned) == sorted(id(each) for each in model.parameters())
    of_muon = {id(each) for each in optimizers[0].param_groups[0]["params"]}
    inside = {name for name, each in model.named_parameters() if id(each) in of_muon}
    assert inside
    assert not any(
        "embedding" in name or name.startswith("generator") or "norm" in name or "bias" in name for name in inside
    )


def test_vectors_are_not_decayed():
    model = hw.AutoregressiveTransformer(7, 8, 2, 1, bias=True)
    (adamw,) = build_optimizers(model, TrainConfig(weight_decay=0.3))
    decays = {(group["weight_decay"], each.ndim >= 2) for group in adamw.param_groups for each in group["params"]}
    assert decays == {(0.3, True), (0.0, False)}


def test_all_optimizers_get_the_learning_rate():
    optimizers = build_optimizers(hw.AutoregressiveTransformer(7, 8, 2, 1), TrainConfig(optimizer="muon"))
    set_learning_rate(optimizers, 0.125)
    assert {group["lr"] for optimizer in optimizers for group in optimizer.param_groups} == {0.125}
