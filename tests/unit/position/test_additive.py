"""Positions that are added to the embedding: sinusoidal and learned."""

import math

import pytest
import torch

from headwise.errors import HeadwiseError, PositionError, ShapeError
from headwise.position import Learned, Sinusoidal


def test_sinusoidal_equals_the_published_formula():
    out = Sinusoidal(6)(torch.zeros(1, 4, 6, dtype=torch.float64), 3)
    for row in range(4):
        for pair in range(3):
            angle = (row + 3) * 10000.0 ** (-2 * pair / 6)
            assert out[0, row, 2 * pair].item() == pytest.approx(math.sin(angle), abs=1e-15)
            assert out[0, row, 2 * pair + 1].item() == pytest.approx(math.cos(angle), abs=1e-15)


def test_sinusoidal_of_odd_width_has_one_more_sine():
    """P16."""
    odd, even = (Sinusoidal(width).table(torch.arange(7)) for width in (5, 6))
    assert odd.shape == (7, 5)
    exponents = torch.tensor([0.0, 2.0, 4.0], dtype=torch.float64) / 5
    angles = torch.arange(7).double()[:, None] * 10000.0**-exponents
    assert torch.equal(odd[:, 0::2], angles.sin())
    assert torch.equal(odd[:, 1::2], angles.cos()[:, :2])
    assert torch.equal(odd[:, :2], even[:, :2])


def test_sinusoidal_keeps_the_type_and_rounds_once():
    x = torch.zeros(1, 1, 8, dtype=torch.bfloat16)
    assert torch.equal(Sinusoidal(8)(x, 4095)[0, 0], Sinusoidal(8).table(torch.tensor([4095]))[0].bfloat16())


@pytest.mark.parametrize("scheme", [Sinusoidal(6), Learned(6, 20)], ids=["sinusoidal", "learned"])
def test_each_sequence_has_its_positions(scheme):
    x = torch.randn(2, 3, 6)
    rows = torch.tensor([[0, 1, 2], [9, 4, 4]])
    out = scheme(x, rows)
    assert torch.equal(out[:1], scheme(x[:1], 0))
    assert torch.equal(out[1:], scheme(x[1:], rows[1]))
    assert scheme.acts_on == "embedding"


@pytest.mark.parametrize("scheme", [Sinusoidal(6), Learned(6, 20)], ids=["sinusoidal", "learned"])
def test_a_chunk_with_its_offset_equals_the_whole(scheme):
    x = torch.randn(2, 7, 6)
    assert torch.equal(scheme(x[:, 4:], 4), scheme(x, 0)[:, 4:])


def test_learned_adds_rows_of_its_table():
    scheme = Learned(4, 10)
    x = torch.randn(1, 3, 4)
    assert torch.equal(scheme(x, torch.tensor([5, 0, 5])), x + scheme.weight[[5, 0, 5]])
    assert [name for name, _ in scheme.named_parameters()] == ["weight"]


def test_learned_gradient_reaches_the_rows_in_use():
    scheme = Learned(4, 10)
    scheme(torch.zeros(2, 3, 4), 2).sum().backward()
    assert scheme.weight.grad[:, 0].tolist() == [0, 0, 2, 2, 2, 0, 0, 0, 0, 0]


@pytest.mark.parametrize("positions", [8, torch.tensor([8, 9, 10]), -1, torch.tensor([-1, 0, 1])])
def test_learned_refuses_positions_without_a_row(positions):
    with pytest.raises(PositionError, match=r"must lie in 0\.\.9.*max_len=10.*got (8\.\.10|-1\.\.1)"):
        Learned(4, 10)(torch.zeros(1, 3, 4), positions)


def test_widths_must_agree():
    for scheme in (Sinusoidal(6), Learned(6, 20)):
        with pytest.raises(ShapeError, match="M = 6"):
            scheme(torch.zeros(1, 3, 5), 0)
    with pytest.raises(HeadwiseError, match=r"Sinusoidal\(d_model\) must be a whole number of at least 1; got 0"):
        Sinusoidal(0)


@pytest.mark.parametrize("scheme", [Sinusoidal(6), Learned(6, 20)], ids=["sinusoidal", "learned"])
def test_positions_are_whole_numbers(scheme):
    for positions in ("3", True, 1.5):
        with pytest.raises(PositionError, match="positions must be a tensor or a whole number"):
            scheme(torch.zeros(1, 3, 6), positions)


def test_tables_have_sizes():
    with pytest.raises(HeadwiseError, match=r"Learned\(max_len\) must be a whole number of at least 1; got 0"):
        Learned(4, 0)
