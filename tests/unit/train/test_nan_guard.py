"""A loss that is not finite is traced to the first layer."""

import pytest
import torch

import headwise as hw
from headwise.train.data import aligned
from headwise.train.nan_guard import first_not_finite


@pytest.fixture
def transformer():
    return hw.AutoregressiveTransformer(7, 8, 2, 3)


BATCH = aligned(torch.tensor([[1, 2, 3, 4]]))


def test_a_broken_weight_is_named(transformer):
    name, weight = list(transformer.named_parameters())[3]
    with torch.no_grad():
        weight.view(-1)[0] = float("nan")
    assert first_not_finite(transformer, BATCH) == f"the weight {name} is not finite"


def test_the_innermost_layer_that_broke_first_is_named(transformer):
    names = [name for name, module in transformer.named_modules() if isinstance(module, torch.nn.Linear)]
    broken = names[len(names) // 2]
    handle = transformer.get_submodule(broken).register_forward_hook(lambda module, inputs, output: output / 0)
    assert first_not_finite(transformer, BATCH) == f"{broken} is the first layer whose output is not finite"
    handle.remove()
    assert "all outputs of layers are finite" in first_not_finite(transformer, BATCH)
    assert not any(module._forward_hooks for module in transformer.modules() if isinstance(module, torch.nn.Linear))
