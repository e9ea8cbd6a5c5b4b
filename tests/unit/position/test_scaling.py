"""The recipes for long texts, against their formulas written out pair by pair."""

import math

import pytest
import torch

from headwise.errors import HeadwiseError, PositionError
from headwise.position import DynamicNTK, Linear, Llama3, LongRope, Proportional, Rotary, Scaling, Yarn

DIM, BASE = 16, 10000.0
PLAIN = [BASE ** (-2 * m / DIM) for m in range(DIM // 2)]


def frequencies(scaling, length=None, dim=DIM):
    return Rotary(dim, scaling=scaling).frequencies(length).tolist()


def test_the_base_changes_nothing():
    assert frequencies(Scaling()) == frequencies(None) == pytest.approx(PLAIN, rel=1e-14)


def test_linear_slows_every_pair():
    assert frequencies(Linear(4.0)) == pytest.approx([f / 4 for f in PLAIN], rel=1e-14)


def test_linear_equals_divided_positions():
    x = torch.randn(1, 16, dtype=torch.float64)
    torch.testing.assert_close(Rotary(16, scaling=Linear(4.0))(x, 12), Rotary(16)(x, 3))


def test_dynamic_ntk_starts_beyond_the_trained_length():
    scaling = DynamicNTK(2.0, 64)
    assert frequencies(scaling, 10) == frequencies(scaling, 64) == pytest.approx(PLAIN, rel=1e-14)
    base = BASE * (2.0 * 256 / 64 - 1.0) ** (DIM / (DIM - 2))
    assert frequencies(scaling, 256) == pytest.approx([base ** (-2 * m / DIM) for m in range(DIM // 2)], rel=1e-12)


def test_dynamic_ntk_slows_the_slowest_pair_by_the_growth():
    growth = 2.0 * 256 / 64 - 1.0
    scaled = frequencies(DynamicNTK(2.0, 64), 256)
    assert scaled[0] == 1.0
    assert scaled[-1] == pytest.approx(PLAIN[-1] / growth, rel=1e-12)


def test_yarn_equals_the_published_ramp():
    scaling = Yarn(4.0, 2048)

    def pair(turns):
        return DIM * math.log(2048 / (turns * 2 * math.pi)) / (2 * math.log(BASE))

    low, high = max(math.floor(pair(32)), 0), min(math.ceil(pair(1)), DIM - 1)
    wanted = []
    for m, f in enumerate(PLAIN):
        slowed = min(max((m - low) / (high - low), 0.0), 1.0)
        wanted.append(f / 4 * slowed + f * (1 - slowed))
    assert frequencies(scaling) == pytest.approx(wanted, rel=1e-14)
    assert wanted[0] == PLAIN[0] and wanted[-1] == PLAIN[-1] / 4


def test_yarn_sharpens_the_softmax():
    x = torch.randn(1, 16, dtype=torch.float64)
    size = 0.1 * math.log(4.0) + 1.0
    assert Rotary(16, scaling=Yarn(4.0, 2048))(x, 7).norm().item() == pytest.approx(size * x.norm().item(), rel=1e-12)
    assert Yarn(4.0, 2048, attention=1.0).magnitude() == 1.0


def test_llama3_equals_the_published_cases():
    scaling = Llama3(factor=8.0, trained_length=256, low=1.0, high=4.0)
    wanted = []
    for f in PLAIN:
        wavelength = 2 * math.pi / f
        if wavelength < 256 / 4.0:
            wanted.append(f)
        elif wavelength > 256 / 1.0:
            wanted.append(f / 8.0)
        else:
            smooth = (256 / wavelength - 1.0) / 3.0
            wanted.append((1 - smooth) * f / 8.0 + smooth * f)
    assert frequencies(scaling) == pytest.approx(wanted, rel=1e-12)
    assert any(f / 8 < w < f for f, w in zip(PLAIN, wanted, strict=True))


def test_long_rope_changes_its_list_at_the_trained_length():
    short, long = tuple(1.0 + m / 10 for m in range(8)), tuple(2.0 + m for m in range(8))
    scaling = LongRope(short, long, 64, factor=4.0)
    assert frequencies(scaling, 64) == pytest.approx([f / s for f, s in zip(PLAIN, short, strict=True)], rel=1e-14)
    assert frequencies(scaling, 65) == pytest.approx([f / s for f, s in zip(PLAIN, long, strict=True)], rel=1e-14)
    assert scaling.magnitude() == pytest.approx(math.sqrt(1 + math.log(4.0) / math.log(64)))
    assert LongRope(short, long, 64).magnitude() == 1.0


def test_proportional_keeps_the_fastest_pairs_and_stops_the_others():
    assert frequencies(Proportional(0.25)) == pytest.approx([*PLAIN[:2], 0, 0, 0, 0, 0, 0], rel=1e-14)
    x = torch.randn(1, 16)
    out = Rotary(16, scaling=Proportional(0.25))(x, 9)
    still = [*range(2, 8), *range(10, 16)]
    assert torch.equal(out[:, still], x[:, still])


@pytest.mark.parametrize("scaling", [DynamicNTK(2.0, 8), LongRope((1.0,) * 8, (4.0,) * 8, 8)], ids=["ntk", "long"])
def test_results_for_a_length_do_not_depend_on_earlier_lengths(scaling):
    """P12: a longer text before, or after, leaves no trace."""
    rotary, x = Rotary(16, scaling=scaling), torch.randn(2, 2, 6, 16)
    first = rotary(x, 0, length=6)
    longer = rotary(x, 0, length=30)
    assert not torch.equal(first, longer)
    assert torch.equal(rotary(x, 0, length=6), first)
    assert torch.equal(rotary(x, 0, length=30), longer)


@pytest.mark.parametrize(
    "scaling", [Linear(2.0), Yarn(2.0, 64), Llama3(2.0, 64), Proportional(0.5)], ids=lambda s: type(s).__name__
)
def test_recipes_without_length_say_so(scaling):
    assert not scaling.depends_on_length
    assert frequencies(scaling, 3) == frequencies(scaling, 3000)


def test_recipes_refuse_numbers_without_meaning():
    for make in (
        lambda: Linear(0.5),
        lambda: DynamicNTK(0.5, 8),
        lambda: Yarn(0.5, 8),
        lambda: Llama3(0.5),
        lambda: LongRope((), (), 8, 0.5),
    ):
        with pytest.raises(HeadwiseError, match=r"\(factor\) must be at least 1.*got 0.5"):
            make()
    with pytest.raises(HeadwiseError, match=r"Yarn\(trained_length\) must be at least 2.*got 0"):
        Yarn(2.0, 0)
    with pytest.raises(HeadwiseError, match=r"Rotary\(scaling\) must be a recipe.*got 'yarn'"):
        Rotary(8, scaling="yarn")
    with pytest.raises(HeadwiseError, match="0 < low < high"):
        Llama3(low=4.0, high=4.0)
    with pytest.raises(HeadwiseError, match=r"share\) must lie in 0..1; got 1.5"):
        Proportional(1.5)
    with pytest.raises(HeadwiseError, match=r"one factor for each of the 8 pairs.*got 2"):
        frequencies(LongRope((1.0, 1.0), (1.0, 1.0), 8), 4)
    with pytest.raises(PositionError, match="LongRope needs the number of tokens"):
        frequencies(LongRope((1.0,) * 8, (1.0,) * 8, 8))


@pytest.mark.parametrize("scaling", [DynamicNTK(2.0, 8), LongRope((1.0,) * 8, (4.0,) * 8, 8)], ids=["ntk", "long"])
def test_each_sequence_may_have_its_length(scaling):
    rotary, x = Rotary(16, scaling=scaling), torch.randn(3, 2, 6, 16)
    out = rotary(x, 0, length=torch.tensor([6, 9, 30]))
    for row, length in enumerate([6, 9, 30]):
        torch.testing.assert_close(out[row], rotary(x[row], 0, length=length))
    positions = torch.arange(6).expand(3, 6)
    assert torch.equal(rotary(x, positions, length=torch.tensor([6, 9, 30])), out)
