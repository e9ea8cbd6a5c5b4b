"""Which engine runs a call, and why no other does: explained before, and true."""

import pytest
import torch
from torch import nn

import headwise as hw
from headwise.engines import ENGINES
from support.parts import MASKS, SCORES, Sizes


def operands(length=6, keys=None, features=8, value_features=8, **options):
    keys = length if keys is None else keys
    shapes = ((2, 4, length, features), (2, 2, keys, features), (2, 2, keys, value_features))
    return [torch.randn(shape, **options) for shape in shapes]


@pytest.mark.parametrize("score", ["none", "alibi", "function", "sink", "bias BHIJ"])
@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("gradients", [True, False])
def test_the_explained_engine_is_the_one_that_runs(mask, score, gradients, monkeypatch):
    """A13: nothing is taken in silence; each other engine has a refusal or a reason."""
    sizes, ran = Sizes(2, 4, 6, 6), []
    arguments = {"mask": MASKS[mask].make(sizes), "score": SCORES[score].make(sizes)}
    given = operands(requires_grad=gradients)
    explained = hw.explain(*given, **arguments)
    for name, engine in ENGINES.items():
        run = engine.run
        monkeypatch.setattr(
            engine, "run", lambda call, run=run, name=name: ran.append(name) or run(call), raising=False
        )
    hw.attention(*given, **arguments)
    assert ran[0] == explained.engine
    assert {explained.engine, *explained.refused, *explained.considered} == set(ENGINES)
    assert all(reasons and all(reasons) for reasons in explained.refused.values())
    assert all(explained.considered.values())
    # What is refused there is refused by name, with the same reasons.
    for name, reasons in explained.refused.items():
        with pytest.raises(hw.EngineRefused) as caught:
            hw.attention(*given, engine=name, **arguments)
        assert all(reason in str(caught.value) for reason in reasons)


CALLS = {
    "a bias that learns": lambda: {"score": hw.Bias(nn.Parameter(torch.zeros(6, 6)))},
    "a mask of three axes": lambda: {"mask": torch.ones(2, 6, 6, dtype=torch.bool)},
    "dropout": lambda: {"dropout": 0.5},
    "the lse": lambda: {"return_lse": True},
    "positions": lambda: {"query_positions": torch.arange(6), "mask": hw.Causal()},
    "scores": lambda: {"scores": lambda q, k, i, j: q @ k.transpose(2, 3)},
}


@pytest.mark.parametrize("call", CALLS)
def test_every_engine_is_mentioned_whatever_is_asked(call):
    """A13: the calls for which other libraries change to a slow kernel without a word."""
    given = operands(value_features=12, requires_grad=True)
    explained = hw.explain(*given, **CALLS[call]())
    assert {explained.engine, *explained.refused, *explained.considered} == set(ENGINES)
    assert len(str(explained).splitlines()) == len(ENGINES)


def test_an_engine_asked_for_by_name_is_explained_as_that():
    explained = hw.explain(*operands(), engine="reference")
    assert explained.engine == "reference"
    assert explained.considered["sdpa"] == "'reference' was asked for by name"


def test_explaining_an_engine_that_cannot_is_refused_like_running_it():
    with pytest.raises(hw.EngineRefused, match="engine 'sdpa' cannot run this call: Softcap changes scores"):
        hw.explain(*operands(), score=hw.Softcap(1.0), engine="sdpa")


def test_nothing_is_computed():
    """Explained in an instant, for tensors without any storage."""
    given = [tensor.to("meta") for tensor in operands()]
    assert hw.explain(*given, mask=hw.Causal()).engine in ENGINES


def long(**options):
    return operands(4096, features=16, value_features=16, device="cpu", **options)


@pytest.mark.parametrize(
    "arguments",
    [
        {"mask": hw.Causal()},
        {"mask": hw.Window(64)},
        {"mask": hw.Causal(), "score": hw.Alibi(4)},
        {"mask": hw.Causal(), "score": hw.Softcap(5.0)},
        {"mask": lambda b, h, i, j: i - j < 7},
        {"score": lambda s, b, h, i, j: s - (i - j).abs()},
        {"mask": hw.Documents(torch.arange(4096).expand(2, -1) // 512)},
        {"mask": hw.Padding(torch.ones(2, 4096, dtype=torch.bool))},
    ],
    ids=["causal", "window", "alibi", "softcap", "mask function", "score function", "documents", "padding"],
)
@pytest.mark.parametrize("gradients", [True, False])
def test_long_sequences_run_in_linear_memory(arguments, gradients):
    """A04 and A13: `auto` puts linear memory before everything else."""
    with torch.set_grad_enabled(gradients):
        explained = hw.explain(*long(requires_grad=gradients), **arguments)
    assert not explained.cost.quadratic
    assert explained.engine != "reference"


def test_plain_calls_take_the_fused_kernel_without_extra_memory():
    explained = hw.explain(*operands(), mask=hw.Causal())
    assert explained.engine == "sdpa"
    assert explained.cost.extra_bytes == 0
    first, *others = str(explained).splitlines()
    assert first.startswith("sdpa")
    assert "takes it: " in first
    assert "0 bytes of extra memory" in first
    assert len(others) == len(ENGINES) - 1
    assert all("can, but" in line or "cannot:" in line for line in others)


def test_one_new_query_over_many_keys_needs_no_mask():
    """The step of a model that writes: causal is open for the last query."""
    explained = hw.explain(*operands(1, keys=500), mask=hw.Causal())
    assert explained.engine == "sdpa"
    assert explained.cost.extra_bytes == 0
