"""A score method that does not fit: one message, whichever way it was given; errors of its own keep their traceback."""

import functools
import traceback

import pytest
import torch
from torch import nn

import headwise as hw
from headwise.interop.classic import ClassicMultiHeadAttention
from support.messages import check

ENGINES = ["auto", "reference", "blockwise"]


def layer_with(method):
    class Mine(hw.MultiHeadAttention):
        get_scores = method

    return lambda engine: Mine(8, 2, engine=engine)(torch.randn(1, 5, 8))


def patched(function):
    def call(engine):
        layer = hw.MultiHeadAttention(8, 2, engine=engine)
        layer.get_scores = function
        return layer(torch.randn(1, 5, 8))

    return call


def functional(function, dtype=torch.float32):
    q = torch.randn(1, 2, 5, 4, dtype=dtype)
    return lambda engine: hw.attention(q, q, q, scores=function, engine=engine)


def dot(q, k, *_):
    return q @ k.mT


class Module(nn.Module):
    def forward(self, query, key):
        return dot(query, key)


class Judge(nn.Module):
    def forward(self, query, key, query_positions, key_positions):
        return dot(query, key)


TAKES = "scores, or the get_scores of a layer, must take 4 arguments in this order, query, key, query_positions, key_positions; got "
RESULT = "the result of get_scores must "
WRONG = {
    "too few": (functional(lambda q, k: dot(q, k)), TAKES + "<lambda>(q, k). Usual fix: take them all"),
    "too many": (functional(lambda q, k, i, j, extra: dot(q, k)), TAKES + "<lambda>(q, k, i, j, extra)"),
    "by name only": (functional(lambda q, k, *, i, j: dot(q, k)), TAKES + "<lambda>(q, k, *, i, j)"),
    "too few in a partial": (functional(functools.partial(dot, 3, k=4)), TAKES + "partial(*, k=4)"),
    "a module": (functional(Module()), TAKES + "Module(query, key)"),
    "too few in a class": (layer_with(lambda self, q, k: dot(q, k)), TAKES + "<lambda>(q, k)"),
    "no self in a class": (layer_with(lambda q, k, i, j: dot(q, k)), TAKES + "<lambda>(k, i, j)"),
    "self in a patch": (patched(lambda self, q, k, i, j: dot(q, k)), TAKES + "<lambda>(self, q, k, i, j)"),
    "no tensor": (functional(lambda *_: None), RESULT + "be a tensor [B,H,i,j]; got NoneType"),
    "no tensor in a class": (layer_with(lambda *_: 0.0), RESULT + "be a tensor [B,H,i,j]; got float"),
    "three axes": (functional(lambda q, k, *_: dot(q, k)[0]), RESULT + "have the axes B H I J, it has 3 axes"),
    "keys cut off": (
        functional(lambda q, k, *_: dot(q, k)[..., :3]),
        "axis J of the result of get_scores must be 5 or 1",
    ),
    "half": (
        functional(lambda q, k, *_: dot(q, k).half()),
        RESULT + "have the dtype and the device of the query that it gets, torch.float32 on cpu; got torch.float16 on cpu",
    ),
    "double": (functional(lambda q, k, *_: dot(q, k).double()), "got torch.float64 on cpu. Usual fix: compute it from"),
    "single of double": (functional(lambda q, k, *_: dot(q, k).float(), torch.float64), "got torch.float32 on cpu"),
    "whole numbers": (functional(lambda q, k, i, j: dot(q, k).long()), "got torch.int64 on cpu"),
    "truth values": (functional(lambda q, k, i, j: dot(q, k) > 0), "got torch.bool on cpu"),
    "complex": (functional(lambda q, k, i, j: dot(q, k) * 1j), "got torch.complex64 on cpu"),
    "another device": (layer_with(lambda self, q, k, *_: dot(q, k).to("meta")), "got torch.float32 on meta"),
}  # fmt: skip


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", WRONG)
def test_a_score_method_that_does_not_fit_is_named_with_the_remedy(name, engine):
    make, words = WRONG[name]
    kind = hw.ShapeError if words.startswith((RESULT + "be", RESULT + "have the axes", "axis")) else hw.ScoreError
    check(lambda: make(engine), kind, words)


def test_a_classic_score_method_takes_two_arguments():
    class Mine(ClassicMultiHeadAttention):
        def get_scores(self, query):
            return query

    with pytest.raises(
        hw.ScoreError, match=r"must take 2 arguments in this order, query, key; got .*get_scores\(query\)"
    ):
        Mine(2, 8, 0.0)(query=torch.randn(5, 1, 8), key=torch.randn(5, 1, 8), value=torch.randn(5, 1, 8))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("wrap", [functional, patched, lambda f: layer_with(lambda self, *given: f(*given))])
def test_an_error_of_the_method_itself_is_not_touched(wrap, engine):
    def own(query, key, query_positions, key_positions):
        return query + len(3)

    with pytest.raises(TypeError, match="has no len") as caught:
        wrap(own)(engine)
    assert traceback.extract_tb(caught.value.__traceback__)[-1].name == "own"
    assert caught.value.__cause__ is None and caught.value.__context__ is None


@pytest.mark.parametrize(
    "function", [dot, lambda *given: dot(*given), lambda q, k, i, j, more=1: dot(q, k), functools.partial(dot), Judge()]
)
def test_every_way_to_take_four_arguments_is_taken(function):
    for make in (functional(function), patched(function)):
        for engine in ENGINES:
            make(engine)


def test_half_precision_may_answer_in_single_and_autocast_as_it_likes():
    functional(lambda q, k, *_: dot(q, k).float(), torch.bfloat16)("reference")
    with torch.autocast("cpu", dtype=torch.bfloat16):
        functional(lambda q, k, *_: torch.einsum("bhid,bhjd->bhij", q, k))("reference")


def test_a_function_is_looked_at_once(monkeypatch):
    looked = []
    signature = hw.checks.inspect.signature
    monkeypatch.setattr("inspect.signature", lambda function: looked.append(function) or signature(function))

    def own(q, k, i, j):
        return dot(q, k)

    make = layer_with(lambda self, *given: own(*given)), patched(own), functional(own)
    for each in (*make, *make):
        each("reference")
    assert len(looked) == 2


def test_a_patched_function_may_ask_for_the_whole_matrix():
    def centred(query, key, query_positions, key_positions):
        return dot(query, key - key.mean(2, keepdim=True))

    centred.whole_matrix = True
    with pytest.raises(hw.EngineRefused, match="the score method needs the whole matrix"):
        patched(centred)("blockwise")
