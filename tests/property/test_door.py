"""Whatever is passed to `attention`: it equals the definition, or it raises a `HeadwiseError` that names a remedy."""

import os

import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch.nn.attention.flex_attention import create_block_mask

import headwise as hw
from support.engines import ENGINES

# How many calls are tried; a larger number is for a search by hand.
EXAMPLES = int(os.environ.get("HEADWISE_FUZZ", "150"))

FLOATS = [torch.float32, torch.float64, torch.bfloat16, torch.float16]
TOLERANCE = {torch.float64: 1e-10, torch.float32: 2e-4, torch.bfloat16: 6e-2, torch.float16: 1e-2}


# One thing at most is wrong with a call: the first fault would hide all others.
FAULTS = [
    "sizes",
    "axes",
    "dtype",
    "kind",
    "mask",
    "score",
    "scale",
    "dropout",
    "query_positions",
    "key_positions",
    "engine",
]


@st.composite
def operands(draw, sizes, fault):
    batch, heads, groups, queries, keys, features, values = sizes
    dtype = draw(st.sampled_from(FLOATS))
    shapes = [[batch, heads, queries, features], [batch, groups, keys, features], [batch, groups, keys, values]]
    wrong = draw(st.integers(0, 2))
    if fault == "sizes":
        shapes[wrong][draw(st.integers(0, 3))] = draw(st.integers(0, 5))
    if fault == "axes":
        shapes[wrong] = draw(st.sampled_from([shapes[wrong][1:], [*shapes[wrong], 2], []]))
    arrays = [torch.randn(shape).to(dtype) for shape in shapes]
    if fault == "dtype":
        every = draw(st.booleans())
        other = draw(st.sampled_from([torch.int64, torch.bool, torch.complex64, torch.float64, torch.bfloat16]))
        arrays = [array.to(other) if every or place == wrong else array for place, array in enumerate(arrays)]
    if fault == "kind":
        arrays[wrong] = draw(st.sampled_from([None, [[1.0]], 3.0, "query", arrays[wrong].float().numpy()]))
        return arrays
    # Views of other strides, as they come out of a projection.
    strided = draw(st.booleans())
    return [array.mT.contiguous().mT if strided and array.dim() > 1 else array for array in arrays]


@st.composite
def masks(draw, sizes, fault):
    batch, heads, _, queries, keys, _, _ = sizes
    table = torch.rand(batch, heads, queries, keys) > 0.4
    slots, larger = torch.arange(keys), torch.rand(batch + 1, heads, queries, keys + 1) > 0.4
    size, step = draw(st.integers(1, 4)), draw(st.integers(1, 3))
    good = [
        lambda: None,
        lambda: hw.Causal(),
        lambda: hw.Window(size, ahead=step - 1),
        lambda: hw.Prefix(size - 1),
        lambda: hw.Prefix(torch.arange(batch)),
        lambda: hw.Dilated(size, step),
        lambda: hw.Padding(table[:, 0, 0]),
        lambda: hw.Documents(slots.expand(batch, keys) // 2, torch.arange(queries).expand(batch, queries) // 3),
        lambda: table,
        lambda: table[0, 0],
        lambda: table[:, 0],
        lambda: table[:, :, :1],
        lambda: create_block_mask(lambda b, h, i, j: i >= j, batch, heads, queries, keys, device="cpu", BLOCK_SIZE=2),
        lambda: lambda b, h, i, j: i >= j + h,
        lambda: hw.flex(lambda b, h, i, j: table[b, h, i, j]),
        lambda: lambda b, h, i, j: (i >= j).any(),
        lambda: lambda b, h, i, j: (i - j) % 3,
    ]
    bad = [
        lambda: hw.Window(0),
        lambda: hw.Padding(larger[:, 0, 0]),
        lambda: hw.Documents(slots.expand(1, keys)[:, 1:]),
        lambda: larger,
        lambda: table.float(),
        lambda: create_block_mask(lambda b, h, i, j: i >= j, batch, heads, 7, keys + 1, device="cpu"),
        lambda: hw.flex(lambda b, h, i, j: table[b, h, i + 9, j]),
        lambda: lambda b, h, i, j: i * 0.5,
        lambda: lambda b, h, i: i > 0,
        lambda: lambda b, h, i, j: bool(i > j),
        lambda: hw.Causal,
        lambda: "causal",
    ]
    mask = draw(st.sampled_from(bad if fault else good))()
    other = draw(st.sampled_from([hw.Causal(), hw.Prefix(1), ~hw.Window(2)]))
    return draw(st.sampled_from([lambda: mask, lambda: other & mask, lambda: other | mask, lambda: mask & other]))()


@st.composite
def scores(draw, sizes, fault):
    batch, heads, _, queries, keys, _, _ = sizes
    table = torch.randn(batch, heads, queries, keys)
    good = [
        lambda: hw.Softcap(2.0),
        lambda: hw.Alibi(heads),
        lambda: hw.T5Bias(heads, buckets=8, max_distance=9, bidirectional=draw(st.booleans())),
        lambda: hw.Sink(heads),
        lambda: hw.Bias(table),
        lambda: hw.Bias(table[0, 0]),
        lambda: hw.Bias(table[:, :, :, :1]),
        lambda: hw.flex(lambda s, b, h, i, j: s + table[b, h, i, j]),
        lambda: lambda s, b, h, i, j: s - s.mean() + 0.1 * i,
        lambda: lambda s, b, h, i, j: torch.where(i > j, s, -torch.inf),
        lambda: lambda s, b, h, i, j: s > 0,
    ]
    bad = [
        lambda: hw.Softcap(0.0),
        lambda: hw.Alibi(heads + 1),
        lambda: hw.Sink(heads + 1),
        lambda: hw.Bias(torch.randn(queries + 2, keys + 1)),
        lambda: hw.Bias(table[0]),
        lambda: table,
        lambda: lambda s, b, h, i, j: s * torch.rand(()),
        lambda: lambda s, b, h, i, j: torch.zeros(3) + s,
        lambda: lambda s, b, h, i, j: s * 1j,
        lambda: "alibi",
    ]
    parts = [draw(st.sampled_from(good))() for _ in range(draw(st.integers(0, 2)))]
    return (
        (*parts, draw(st.sampled_from(bad))())
        if fault
        else draw(st.sampled_from([tuple(parts), parts[0] if parts else None]))
    )


def places(batch, length, fault):
    good = [None, None, 0, 7, -3, torch.arange(length) * 2, torch.arange(length) + torch.arange(batch)[:, None]]
    bad = [True, 1.5, "0", torch.arange(length) * 0.5, torch.zeros(2, 2, 2, dtype=torch.long), torch.arange(length + 1)]
    return st.sampled_from(bad if fault else good)


@st.composite
def calls(draw):
    fault = draw(st.sampled_from([None] * len(FAULTS) + FAULTS))
    groups, factor = draw(st.sampled_from([1, 2])), draw(st.sampled_from([1, 2, 3]))
    sizes = (draw(st.integers(1, 3)), groups * factor, groups, *(draw(st.integers(1, 9)) for _ in range(4)))
    wrong = {name: fault == name for name in FAULTS}
    arguments = {
        "mask": draw(masks(sizes, wrong["mask"])),
        "score": draw(scores(sizes, wrong["score"])),
        "scale": draw(st.sampled_from([float("nan"), "1", True, torch.ones(2)] if wrong["scale"] else [None, 0.5, 1])),
        "dropout": draw(st.sampled_from([1.0, -0.1, "0", None] if wrong["dropout"] else [0.0])),
        "query_positions": draw(places(sizes[0], sizes[3], wrong["query_positions"])),
        "key_positions": draw(places(sizes[0], sizes[4], wrong["key_positions"])),
    }
    engine = draw(st.sampled_from(["fast", "", "Sdpa"] if wrong["engine"] else ["auto", *ENGINES]))
    return draw(operands(sizes, fault)), arguments, engine


def check(arrays, arguments, engine, gradient):
    if gradient and all(isinstance(array, torch.Tensor) and array.is_floating_point() for array in arrays):
        arrays = [array.requires_grad_() for array in arrays]
    output, lse = hw.attention(*arrays, engine=engine, return_lse=True, **arguments)
    query, _, value = arrays
    assert output.shape == (*query.shape[:3], value.shape[3]) and output.dtype == query.dtype
    assert lse.shape == query.shape[:3]
    wide = [array.detach().double() for array in arrays]
    wanted, wanted_lse = hw.attention(*wide, engine="reference", return_lse=True, **arguments)
    tolerance = TOLERANCE[query.dtype]
    torch.testing.assert_close(output.double(), wanted, atol=tolerance, rtol=tolerance)
    torch.testing.assert_close(lse.double(), wanted_lse, atol=tolerance, rtol=tolerance)
    if query.requires_grad:
        for grad in torch.autograd.grad(output.sum(), arrays, allow_unused=True):
            assert grad is None or grad.isfinite().all()


@settings(max_examples=EXAMPLES, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(data=st.data(), gradient=st.booleans())
def test_a_call_equals_the_definition_or_raises_an_error_of_the_family(data, gradient):
    try:
        arrays, arguments, engine = data.draw(calls())
        check(arrays, arguments, engine, gradient)
    except hw.HeadwiseError as error:
        assert "Usual fix: " in str(error), error
