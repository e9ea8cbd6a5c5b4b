"""A sink is one more logit in the denominator, for every engine."""

import pytest
import torch

import headwise as hw
from support.engines import ENGINES


def parts(heads=2, dtype=torch.float64):
    sink = hw.Sink(heads).to(dtype)
    with torch.no_grad():
        sink.logit.copy_(torch.linspace(-1.0, 2.0, heads))
    return sink


def operands():
    return tuple(torch.randn(2, 2, 5, 4, dtype=torch.float64, requires_grad=True) for _ in range(3))


def by_an_extra_key(query, key, value, logit, visible):
    """The same thing by hand: a key whose score is the logit and whose value is 0."""
    scores = torch.where(visible, query @ key.mT / 2, -torch.inf)
    scores = torch.cat([scores, logit[None, :, None, None].expand(2, 2, 5, 1)], -1)
    padded = torch.cat([value, torch.zeros_like(value[:, :, :1])], 2)
    return torch.softmax(scores, -1) @ padded, scores.logsumexp(-1)


def able(engine, *arguments, **keywords):
    return engine not in hw.explain(*arguments, **keywords).refused


@pytest.mark.parametrize("engine", ENGINES)
def test_a_sink_equals_one_more_key_with_value_0(engine):
    query, key, value = operands()
    sink = parts()
    arguments = {"mask": hw.Causal(), "score": sink, "return_lse": True}
    if not able(engine, query, key, value, **arguments):
        assert engine not in ("reference", "blockwise", "sdpa")
        pytest.skip("this engine cannot run here")
    output, lse = hw.attention(query, key, value, engine=engine, **arguments)
    visible = torch.ones(5, 5).tril().bool()
    wanted, wanted_lse = by_an_extra_key(query, key, value, sink.logit, visible)
    torch.testing.assert_close(output, wanted, atol=1e-11, rtol=0)
    torch.testing.assert_close(lse, wanted_lse, atol=1e-11, rtol=0)
    inputs = (query, key, value, sink.logit)
    found = torch.autograd.grad((output.sin().sum() + lse.sin().sum()), inputs)
    right = torch.autograd.grad((wanted.sin().sum() + wanted_lse.sin().sum()), inputs)
    for one, other in zip(found, right, strict=True):
        torch.testing.assert_close(one, other, atol=1e-10, rtol=0)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_keyless_row_with_a_sink_gets_0_and_finite_gradients(engine):
    query, key, value = operands()
    sink = parts()
    keep = torch.tensor([[True] * 5, [False] * 5])
    arguments = {"mask": hw.Padding(keep), "score": sink}
    if not able(engine, query, key, value, **arguments):
        return
    output = hw.attention(query, key, value, engine=engine, **arguments)
    assert not output[1].any()
    for gradient in torch.autograd.grad(output.square().sum(), (query, key, value, sink.logit)):
        assert gradient.isfinite().all()
    _, lse = hw.attention(query, key, value, engine="reference", return_lse=True, **arguments)
    assert (lse[1] == -torch.inf).all() and lse[0].isfinite().all()


def test_weights_sum_to_less_than_1():
    layer = hw.MultiHeadAttention(8, 2, score=hw.Sink(2))
    layer.keep_attention = True
    layer(torch.randn(1, 5, 8))
    assert (layer.attn.sum(-1) < 0.99).all()


def test_no_part_changes_a_sink_and_two_sinks_add_up():
    query, key, value = (torch.zeros(1, 1, 1, 2), torch.zeros(1, 1, 1, 2), torch.ones(1, 1, 1, 2))
    capped = hw.attention(query, key, value, score=(hw.Sink(1), hw.Softcap(0.1)), engine="reference")
    assert capped[0, 0, 0, 0].item() == pytest.approx(1 / 2)
    twice = hw.attention(query, key, value, score=(hw.Sink(1), hw.Sink(1)), engine="reference")
    assert twice[0, 0, 0, 0].item() == pytest.approx(1 / 3)


def test_a_sink_learns_in_the_layer():
    layer = hw.MultiHeadAttention(8, 2, score=hw.Sink(2))
    assert "score.0.logit" in layer.state_dict()
    layer(torch.randn(1, 5, 8)).square().sum().backward()
    assert layer.score.get_submodule("0").logit.grad.abs().sum() > 0


def test_a_sink_works_through_a_cache():
    layer = hw.MultiHeadAttention(8, 2, mask=hw.Causal(), score=hw.Sink(2)).eval()
    x, cache = torch.randn(1, 6, 8), hw.KVCache()
    chunks = [layer(part, cache=cache) for part in x.split([3, 1, 2], dim=1)]
    torch.testing.assert_close(torch.cat(chunks, 1), layer(x))
