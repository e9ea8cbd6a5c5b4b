"""Which engine runs: by name, by use_engine, by strict, and what explain says of it."""

import pytest
import torch

import headwise as hw
from headwise.engines.setting import SETTING, Setting
from unit.engines.compare import operands

LONG = tuple(torch.empty(1, 2, 4096, 64) for _ in range(3))


def whole(query, key, query_positions, key_positions):
    return query @ key.mT


whole.whole_matrix = True


def test_use_engine_holds_inside_and_only_there() -> None:
    tensors = operands()
    with hw.use_engine("reference"):
        assert hw.explain(*tensors).engine == "reference"
        with hw.use_engine("blockwise"):
            assert hw.explain(*tensors).engine == "blockwise"
            assert hw.explain(*tensors, engine="sdpa").engine == "sdpa"
        assert hw.explain(*tensors).engine == "reference"
    assert hw.explain(*tensors).engine == "sdpa"


def test_use_engine_is_put_back_after_an_error() -> None:
    with (
        pytest.raises(hw.EngineRefused, match="engine 'sdpa' cannot run this call"),
        hw.use_engine("sdpa"),
        hw.strict(),
    ):
        hw.attention(*operands(), score=hw.Softcap(5.0))
    assert Setting() == SETTING


def test_use_engine_wants_a_name() -> None:
    with pytest.raises(hw.ArgumentError, match=r"must be 'auto' or one of sdpa, .*; got 'fast'"), hw.use_engine("fast"):
        pass


def test_strict_forbids_quadratic_memory() -> None:
    with hw.strict():
        assert hw.explain(*LONG, mask=hw.Window(256)).engine == "blockwise"
        with pytest.raises(hw.EngineRefused, match="quadratic in the sequence, which strict"):
            hw.explain(*LONG, mask=hw.Window(256), engine="reference")
        with pytest.raises(hw.EngineRefused, match=r"the cheapest, 'reference', needs [\d,]+ bytes"):
            hw.explain(*LONG, scores=whole)
    assert hw.explain(*LONG, scores=whole).engine == "reference"


def test_explain_names_strategy_blocks_and_memory() -> None:
    found = hw.explain(*LONG, mask=hw.Window(256))
    assert (found.engine, found.strategy, found.blocks) == ("blockwise", "rectangles", 2 * 32 * 32)
    assert 2 * 32 * 2 <= found.visited < 2 * 32 * 3
    assert "blockwise  takes it: strategy rectangles, 1" in str(found) and "of 2,048 blocks of 128 x 128 pairs" in str(
        found
    )
    assert hw.explain(*LONG, mask=hw.Causal(), score=hw.Softcap(20.0)).strategy == "softcap"
    assert hw.explain(*LONG, mask=lambda b, h, i, j: i % 2 == j % 2).strategy == "rows"
    assert hw.explain(*LONG, score=lambda s, b, h, i, j: s * 2).strategy == "body"
    assert hw.explain(*LONG).strategy == ""


def test_long_padded_sequences_leave_padding_out() -> None:
    """The fused kernel computes hidden slots like all others; for short sequences looking for them costs more than it saves."""
    keep = torch.arange(4096) < torch.tensor([[3000]])
    assert hw.explain(*LONG, mask=hw.Padding(keep)).strategy == "rectangles"
    short = tuple(tensor[:, :, :64] for tensor in LONG)
    assert hw.explain(*short, mask=hw.Padding(keep[:, :64])).engine == "sdpa"


def test_hidden_slots_may_hold_numbers_that_overflow() -> None:
    query, key, value = (torch.randn(1, 2, 9, 8) for _ in range(3))
    keep = torch.arange(9) < torch.tensor([[6]])
    wild = [tensor.clone() for tensor in (key, value)]
    for tensor in wild:
        tensor[:, :, 6:] = 1e30
    found = hw.attention(query * 1e10, *wild, mask=hw.Padding(keep), engine="blockwise")
    torch.testing.assert_close(found, hw.attention(query * 1e10, key, value, mask=hw.Padding(keep), engine="blockwise"))
