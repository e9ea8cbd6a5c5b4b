import pytest
import torch

import headwise as hw


@pytest.fixture
def model() -> hw.AutoregressiveTransformer:
    torch.manual_seed(0)
    return hw.AutoregressiveTransformer(vocab=17, d_model=24, heads=4, layers=3, kv_heads=2).eval()


@pytest.fixture
def tokens() -> torch.Tensor:
    return torch.randint(17, (2, 11), generator=torch.Generator().manual_seed(1))
