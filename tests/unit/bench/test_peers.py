"""Peers of the benchmark: each computes the rule that it is measured by, and is left out where it is not installed."""

import pytest
import torch
from torch import Tensor

import headwise.bench.padded as padded
import headwise.bench.peers as peers_module
from headwise.bench.padded import make_padded_layers
from headwise.bench.peers import by_flex, peers
from headwise.bench.rules import Shape, make_rules
from headwise.bench.suite import measure_padded_layers, measure_rules
from headwise.call import Call
from headwise.functional import attention

SMALL = Shape(1, 2, 384, 16)


def make(rule: str) -> tuple[Call, tuple[Tensor, ...], Tensor]:
    """The rule as a call, its operands, and what the definition gives."""
    arguments, operands = make_rules(SMALL)[rule], SMALL.operands(torch.float32)
    with torch.no_grad():
        return Call.of(*operands, **arguments), operands, attention(*operands, engine="reference", **arguments)


@pytest.mark.parametrize("rule", make_rules(SMALL))
def test_flex_attention_is_given_the_same_rule(rule: str) -> None:
    """Not compiled, which takes seconds and gives the same numbers."""
    from torch.nn.attention.flex_attention import flex_attention

    call, operands, right = make(rule)
    with torch.no_grad():
        found = by_flex(rule, call, eagerly(flex_attention))(*operands)
    torch.testing.assert_close(found, right, rtol=1e-4, atol=1e-5)


def eagerly(function):  # type: ignore[no-untyped-def]
    """FlexAttention warns of being run without a compiler, which is what is wanted here."""

    def run(*tensors: Tensor, **arguments: object) -> Tensor:
        import warnings

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return function(*tensors, **arguments)

    return run


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("rule", make_rules(SMALL))
def test_all_peers_compute_the_rule(rule: str) -> None:
    call, operands, right = make(rule)
    found = peers(call, rule)
    assert "FlexAttention, compiled" in found
    with torch.no_grad():
        for peer in found.values():
            torch.testing.assert_close(peer.run(*operands), right, rtol=1e-4, atol=1e-5)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_padded_layers_agree_on_real_tokens() -> None:
    pytest.importorskip("x_transformers")
    keep = torch.arange(12) < torch.tensor([[12], [7]])
    layers = make_padded_layers(32, 4, keep)
    assert set(layers) == {"headwise", "nn.MultiheadAttention", "x-transformers, flash", "Hugging Face"}
    x = torch.randn(2, 12, 32)
    outputs = {name: layer(x)[keep] for name, layer in layers.items()}
    for output in outputs.values():
        torch.testing.assert_close(output, outputs["headwise"], rtol=1e-4, atol=1e-5)


def test_what_is_not_installed_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peers_module, "installed", lambda name: False)
    monkeypatch.setattr(padded, "installed", lambda name: False)
    monkeypatch.setattr(peers_module, "why_no_compiler", lambda: "there is no C++ compiler g++")
    assert peers(make("causal")[0], "causal") == {}
    keep = torch.ones(1, 4, dtype=torch.bool)
    assert set(make_padded_layers(8, 2, keep)) == {"headwise", "nn.MultiheadAttention"}
    assert {row.contender for row in measure_rules(SMALL, ("causal",), 1, "wall")} >= {"sdpa", "blockwise"}


def test_a_peer_without_gradients_has_no_numbers_of_training(monkeypatch: pytest.MonkeyPatch) -> None:
    forward_only = peers_module.Peer(lambda query, key, value: query.detach(), trains=False)
    monkeypatch.setattr("headwise.bench.suite.peers", lambda call, rule, matrices: {"other": forward_only})
    (row,) = (row for row in measure_rules(SMALL, ("causal",), 1, "wall") if row.contender == "other")
    assert row.training is None and row.training_memory is None and row.forward > 0


def test_padded_layers_carry_their_error() -> None:
    found = list(measure_padded_layers(2, 16, 16, 2, 1, "wall", with_peers=False))
    assert [row.contender for row in found] == ["headwise", "nn.MultiheadAttention"]
    assert all(row.error is not None and row.error < 1e-5 for row in found)
