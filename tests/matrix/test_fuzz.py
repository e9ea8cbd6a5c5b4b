"""Any shapes and types: a call equals the definition, or raises a HeadwiseError in two sentences; nothing else, and never a crash."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import headwise as hw
from headwise.engines import ENGINES
from support.oracle import attend, make_pairs
from support.parts import MASKS, SCORES, Sizes, ruled

TYPES = st.sampled_from(
    [torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.bool, torch.complex64]
)
SMALL = st.integers(0, 5)


@st.composite
def tensors(draw):
    """Query, key and value that fit each other, and then, at times, one axis or type that does not."""
    batch, groups, group, queries, keys, features, width = (draw(st.integers(low, 4)) for low in (0, 1, 1, 0, 0, 1, 1))
    shapes = [
        [batch, groups * group, queries, features],
        [batch, groups, keys, features],
        [batch, groups, keys, width],
    ]
    types = [draw(TYPES)] * 3
    if draw(st.integers(0, 2)) == 0:
        place, axis = draw(st.integers(0, 2)), draw(st.integers(0, 3))
        shapes[place][axis] = draw(SMALL)
    if draw(st.integers(0, 5)) == 0:
        types[draw(st.integers(0, 2))] = draw(TYPES)
    if draw(st.integers(0, 9)) == 0:
        shapes[draw(st.integers(0, 2))].pop()
    return tuple(torch.randn(shape).to(dtype) for shape, dtype in zip(shapes, types, strict=True))


def places(length):
    return st.one_of(
        st.none(),
        st.integers(-3, 9),
        st.sampled_from([torch.arange(length), torch.arange(length)[None], torch.arange(length + 1), torch.zeros(2)]),
    )


@settings(max_examples=400)
@given(given=tensors(), data=st.data(), engine=st.sampled_from(["auto", *ENGINES]))
def test_a_call_equals_the_definition_or_says_what_is_wrong(given, data, engine):
    length = given[0].shape[2] if given[0].dim() > 2 else 3
    sizes = data.draw(
        st.sampled_from(
            [sizes_of(given), Sizes(2, 4, 3, 3)] if all(t.dim() == 4 for t in given) else [Sizes(2, 4, 3, 3)]
        )
    )
    mask, score = data.draw(st.sampled_from(sorted(MASKS))), data.draw(st.sampled_from(sorted(SCORES)))
    places_of = data.draw(places(length))
    if 0 in sizes or sizes.heads not in (1, 2, 4):
        mask, score = "causal", "none"
    # Examples are made outside: what their own constructors refuse is not at issue here.
    arguments = {"mask": MASKS[mask].make(sizes), "score": SCORES[score].make(sizes), "query_positions": places_of}
    try:
        output, lse = hw.attention(*given, engine=engine, return_lse=True, **arguments)
    except hw.HeadwiseError as error:
        assert str(error).count(". ") >= 1, error
        return
    assert sizes == sizes_of(given) or mask not in ("dense BIJ", "dense BHIJ")
    assert output.shape == (*given[0].shape[:3], given[2].shape[3])
    if sizes != sizes_of(given):
        # Parts that do not ask for sizes serve any call; what they mean there, the matrix shows.
        return
    rules = {"sees": ruled(MASKS[mask], sizes), "score": ruled(SCORES[score], sizes)}
    sink = SCORES[score].sink(sizes) if SCORES[score].sink else None
    wide = [tensor.double() for tensor in given]
    if 0 in (given[1].shape[2], given[0].numel()):
        assert output.eq(0).all()
        return
    wanted, wanted_lse = attend(*wide, make_pairs(*sizes, query_positions=places_of), sink=sink, **rules)
    atol = {torch.float64: 1e-6, torch.float32: 1e-4, torch.float16: 2e-2, torch.bfloat16: 1e-1}[given[0].dtype]
    torch.testing.assert_close(output.double(), wanted, atol=atol, rtol=atol)
    torch.testing.assert_close(lse.double(), wanted_lse, atol=atol, rtol=atol)


def sizes_of(given):
    return Sizes(given[0].shape[0], given[0].shape[1], given[0].shape[2], given[1].shape[2])


THINGS = st.sampled_from(
    [
        None, 0, 1, -1, 2.5, float("nan"), "causal", b"x", [], (), {}, object(), torch.tensor(True), torch.ones(2, 3),
        torch.ones(3, 3, dtype=torch.bool), torch.ones(2, 3, dtype=torch.long), hw.Causal, hw.Causal(), hw.Softcap,
        hw.Softcap(2.0), lambda *given: None, lambda *given: "x", lambda b, h, i, j: b,
    ]
)  # fmt: skip


@settings(max_examples=400)
@given(
    name=st.sampled_from(
        ["mask", "score", "scores", "scale", "dropout", "query_positions", "key_positions", "engine", "return_lse"]
    ),
    thing=THINGS,
)
def test_any_thing_as_any_argument_works_or_is_refused_in_words(name, thing):
    query = torch.randn(2, 2, 3, 4)
    try:
        result = hw.attention(query, query, query, **{name: thing})
    except hw.HeadwiseError as error:
        assert len(str(error)) > 20
        return
    output = result[0] if isinstance(result, tuple) else result
    assert output.shape == (2, 2, 3, 4)


@settings(max_examples=200)
@given(
    name=st.sampled_from(["query", "key", "value", "mask", "positions", "cache"]),
    thing=THINGS.filter(lambda thing: not isinstance(thing, type(None))),
)
def test_any_thing_as_any_argument_of_the_layer_works_or_is_refused_in_words(name, thing):
    layer = hw.MultiHeadAttention(4, 2, position=hw.Rotary(2), mask=hw.Causal())
    arguments = {"query": torch.randn(2, 3, 4)} | {name: thing}
    try:
        assert layer(**arguments).shape == (2, 3, 4)
    except hw.HeadwiseError as error:
        assert len(str(error)) > 20


@pytest.mark.parametrize("name", ["d_model", "heads", "kv_heads", "head_dim", "value_dim", "context_dim", "dropout", "bias", "position",
                                  "mask", "score", "qk_norm", "batch_first", "engine"])  # fmt: skip
@settings(max_examples=30)
@given(thing=THINGS)
def test_any_thing_as_any_option_of_the_layer_works_or_is_refused_in_words(name, thing):
    # A class, or a function of the head's features, is called to build the part; what it raises itself is its own.
    if name in ("position", "qk_norm") and callable(thing):
        return
    try:
        layer = hw.MultiHeadAttention(**({"d_model": 4, "heads": 2} | {name: thing}))
    except hw.HeadwiseError as error:
        assert len(str(error)) > 20
        return
    assert isinstance(layer, torch.nn.Module)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"return_lse": 1}, r"return_lse must be True or False; got 1\. Usual fix: return_lse=True"),
        ({"scores": hw.Causal}, r"scores must be a function \(query, key, query_positions, key_positions\) -> scores"),
        (
            {"scores": lambda *given: "x"},
            r"the result of get_scores must be a tensor \[B,H,i,j\]; got str\. Usual fix:",
        ),
        ({"engine": ["sdpa"]}, r"engine must be 'auto' or one of .*; got \['sdpa'\]\. Usual fix:"),
    ],
)
@pytest.mark.parametrize("grad", [True, False])
def test_things_of_a_wrong_kind_are_named_with_the_remedy(arguments, message, grad):
    query = torch.randn(1, 2, 3, 4, requires_grad=grad)
    with pytest.raises(hw.HeadwiseError, match=message):
        hw.attention(query, query, query, **arguments)


@pytest.mark.parametrize("name", ["d_model", "heads"])
def test_a_layer_needs_its_width_and_its_heads(name):
    with pytest.raises(
        hw.ShapeError, match=f"{name} must be a whole number of at least 1; got {name}=None. Usual fix:"
    ):
        hw.MultiHeadAttention(**({"d_model": 8, "heads": 2} | {name: None}))


def test_scores_of_a_wrong_shape_are_refused_by_blockwise_too():
    query = torch.randn(1, 2, 3, 4)
    for engine in ("reference", "blockwise"):
        with pytest.raises(hw.ShapeError, match="the result of get_scores"):
            hw.attention(query, query, query, scores=lambda q, k, i, j: torch.zeros(1, 2, 3, 5), engine=engine)
