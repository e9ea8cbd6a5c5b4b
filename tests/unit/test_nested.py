"""Nested tensors: each sequence as it would be alone."""

from typing import Any

import pytest
import torch
from torch import Tensor

import headwise as hw

pytestmark = pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors is in prototype")


def make(lengths: list[int], heads: int = 4, features: int = 8, seed: int = 0) -> tuple[list[Tensor], Tensor]:
    """Sequences `[L,H,D]`, and the nested tensor `[B,H,L,D]` of them."""
    generator = torch.Generator().manual_seed(seed)
    sequences = [torch.randn(length, heads, features, generator=generator) for length in lengths]
    return sequences, torch.nested.nested_tensor(sequences, layout=torch.jagged).transpose(1, 2)


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"mask": hw.Causal()},
        {"mask": hw.Window(3)},
        {"mask": hw.Causal(), "score": hw.Alibi(4)},
        {"score": hw.Softcap(2.0)},
    ],
)
def test_each_sequence_is_as_it_would_be_alone(arguments: dict[str, Any]) -> None:
    lengths = [5, 0, 9, 1]
    (queries, query), (keys, key), (values, value) = make(lengths), make(lengths, 2, seed=1), make(lengths, 2, seed=2)
    output, lse = hw.attention(query, key, value, return_lse=True, **arguments)
    assert output.is_nested and torch.equal(output.transpose(1, 2).offsets(), query.transpose(1, 2).offsets())
    for place, (q, k, v) in enumerate(zip(queries, keys, values, strict=True)):
        if len(q) == 0:
            continue
        alone = (tensor.transpose(0, 1)[None] for tensor in (q, k, v))
        expected, expected_lse = hw.attention(*alone, engine="reference", return_lse=True, **arguments)
        torch.testing.assert_close(
            output.transpose(1, 2).unbind()[place].transpose(0, 1), expected[0], rtol=1e-4, atol=1e-5
        )
        torch.testing.assert_close(
            lse.transpose(1, 2).unbind()[place].transpose(0, 1), expected_lse[0], rtol=1e-4, atol=1e-5
        )


def test_gradients_reach_the_sequences() -> None:
    values = torch.randn(14, 2, 8, requires_grad=True)
    nested = torch.nested.nested_tensor_from_jagged(values, torch.tensor([0, 5, 14])).transpose(1, 2)
    hw.attention(nested, nested, nested, mask=hw.Causal()).transpose(1, 2).values().square().sum().backward()
    assert values.grad is not None and values.grad.abs().sum() > 0
    (alone,) = torch.autograd.grad(
        hw.attention(*3 * [values[:5].transpose(0, 1)[None]], mask=hw.Causal(), engine="reference").square().sum(),
        values,
    )
    torch.testing.assert_close(values.grad[:5], alone[:5], rtol=1e-4, atol=1e-5)


def test_queries_may_have_lengths_of_their_own_where_distances_do_not_matter() -> None:
    (queries, query), (keys, key) = make([2, 3]), make([4, 6], seed=1)
    output = hw.attention(query, key, key)
    first = (tensor.transpose(0, 1)[None] for tensor in (queries[0], keys[0], keys[0]))
    torch.testing.assert_close(
        output.transpose(1, 2).unbind()[0].transpose(0, 1), hw.attention(*first)[0], rtol=1e-4, atol=1e-5
    )
    with pytest.raises(hw.ArgumentError, match="distances need queries and keys of the same lengths"):
        hw.attention(query, key, key, mask=hw.Causal())


def test_what_counts_slots_is_refused() -> None:
    _, query = make([2, 3])
    with pytest.raises(hw.ArgumentError, match="FunctionScore, Dense may count slots"):
        hw.attention(query, query, query, mask=torch.ones(5, 5, dtype=torch.bool), score=lambda s, b, h, i, j: s)
    with pytest.raises(hw.ArgumentError, match="nested tensors stand at their slots"):
        hw.attention(query, query, query, query_positions=3)


def test_all_three_must_be_nested_alike() -> None:
    _, query = make([2, 3])
    with pytest.raises(hw.ArgumentError, match="key is a tensor that is not nested"):
        hw.attention(query, torch.zeros(2, 4, 3, 8), query)
    with pytest.raises(hw.ArgumentError, match=r"got \[2, 3\], \[2, 3\] and \[3, 2\]"):
        hw.attention(query, query, make([3, 2])[1])
