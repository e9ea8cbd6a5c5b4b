"""The compiled steps of blockwise: the numbers of the plain ones, gradients of what a function captures included."""

from typing import Any

import pytest
import torch
from torch import Tensor

import headwise as hw
from headwise.engines import compiler
from headwise.engines.setting import SETTING
from headwise.engines.strategies import body
from headwise.engines.strategies.compiled import COMPILED, kind_of
from headwise.score.function import FunctionScore
from unit.engines.compare import operands


def looked_up(table: Tensor) -> Any:
    return lambda s, b, h, i, j: s + table[(i - j) & 7] * torch.sin(s)


@pytest.fixture
def eager_backend(monkeypatch: pytest.MonkeyPatch):  # type: ignore[no-untyped-def]
    """Dynamo and autograd without machine code, which takes long to make."""
    make = torch.compile
    monkeypatch.setattr(torch, "compile", lambda function, **options: make(function, backend="aot_eager", **options))
    monkeypatch.setattr(body, "BLOCK_SCORES", 2000)
    monkeypatch.setattr(body, "LEAST_ROWS", 8)
    monkeypatch.setattr("headwise.engines.choose.why_no_compiler", lambda: None)
    torch._dynamo.reset()
    COMPILED.clear()
    yield
    torch._dynamo.reset()
    COMPILED.clear()


def results(compiled: bool, table: Tensor, tensors: tuple[Tensor, ...], **arguments: Any) -> list[Tensor]:
    with hw.use_engine("blockwise", compiled=compiled):
        output, lse = hw.attention(*tensors, score=looked_up(table), return_lse=True, **arguments)
    # The backward pass runs outside of the setting, as it does in a training.
    total = (output * torch.linspace(-1, 1, output.numel()).view_as(output)).sum() + lse.sum()
    return [output, lse, *torch.autograd.grad(total, (*tensors, table))]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "mask",
    [
        hw.Causal(),
        pytest.param(None, marks=pytest.mark.slow),
        pytest.param(lambda b, h, i, j: (i + j) % 3 != 1, marks=pytest.mark.slow),
    ],
)
@pytest.mark.usefixtures("eager_backend")
def test_compiled_steps_give_the_numbers_of_the_plain_ones(mask: Any) -> None:
    tensors = operands(queries=40, keys=40, kv_heads=2)
    table = torch.linspace(-1, 1, 8).requires_grad_()
    plain, found = (results(compiled, table, tensors, mask=mask) for compiled in (False, True))
    assert COMPILED
    for one, other in zip(found, plain, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_machine_code_gives_the_numbers_of_the_plain_steps() -> None:
    if compiler.why_no_compiler() is not None:
        pytest.skip("no compiler")
    tensors = operands(queries=300, keys=300)
    table = torch.linspace(-1, 1, 8).requires_grad_()
    plain, found = (results(compiled, table, tensors, mask=hw.Causal()) for compiled in (False, True))
    for one, other in zip(found, plain, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)


def test_a_function_made_anew_is_of_the_same_kind() -> None:
    one, other = (FunctionScore(looked_up(torch.zeros(8))) for _ in range(2))
    assert kind_of(one) is kind_of(other)
    assert kind_of(one) is not kind_of(FunctionScore(lambda s, b, h, i, j: s))


@pytest.mark.usefixtures("eager_backend")
def test_a_broken_function_is_named_before_anything_is_compiled() -> None:
    with hw.use_engine("blockwise", compiled=True), pytest.raises(hw.HeadwiseError, match="must work for one pair"):
        hw.attention(*operands(), score=lambda s, b, h, i, j: s + torch.zeros(3))


def test_without_a_compiler_it_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", "no-such-compiler")
    with (
        pytest.raises(hw.EngineRefused, match="there is no C\\+\\+ compiler no-such-compiler"),
        hw.use_engine("blockwise", compiled=True),
    ):
        pass
    assert not SETTING.compiled


def test_other_engines_have_no_steps_to_compile() -> None:
    with (
        pytest.raises(hw.EngineRefused, match="compiled=True is for the engine 'blockwise'"),
        hw.use_engine("sdpa", compiled=True),
    ):
        pass


def test_the_setting_is_put_back() -> None:
    if compiler.why_no_compiler() is not None:
        pytest.skip("no compiler")
    with hw.use_engine("auto", compiled=True):
        assert SETTING.compiled
        with hw.use_engine("reference"):
            assert not SETTING.compiled
        assert SETTING.compiled
    assert not SETTING.compiled
