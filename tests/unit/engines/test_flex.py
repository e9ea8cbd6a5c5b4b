"""The engine flex: what it refuses, and what its functions of one pair mean, run eagerly on a CPU."""

from typing import Any

import pytest
import torch
from torch.nn.attention.flex_attention import flex_attention

import headwise as hw
from headwise.call import Call
from headwise.engines import flex
from headwise.engines.choose import traced
from headwise.engines.flex import attend, block_mask
from headwise.engines.reference import Reference
from unit.engines.compare import operands

DOCUMENTS = torch.tensor([[0] * 9 + [1] * 8 + [2] * 12, [5] * 29, [3] * 2 + [1] + [9] * 26])
KEEP = torch.arange(29) >= torch.arange(3)[:, None] * 4
MASKS: dict[str, Any] = {
    "full": None,
    "causal": hw.Causal(),
    "window": hw.Window(4, ahead=2),
    "window of flash": hw.Window.from_flash(-1, 3),
    "dilated": hw.Dilated(3, 4),
    "padding": hw.Causal() & hw.Padding(KEEP),
    "documents": hw.Documents(DOCUMENTS) & hw.Causal(),
    "prefix": hw.Causal() | hw.Prefix(torch.tensor([3, 0, 9])),
    "inverse": ~hw.Window(3),
    "function": lambda b, h, i, j: (i + j) % (2 + h) == 0,
    "raw function": hw.flex(lambda b, h, i, j: i >= j),
}
SCORES: dict[str, Any] = {
    "none": None,
    "softcap": hw.Softcap(2.0),
    "alibi": hw.Alibi(4),
    "t5": hw.T5Bias(4, buckets=8, max_distance=20),
    "function": lambda s, b, h, i, j: s * 0.5 + torch.sin(i * 1.0) - h,
    "two": (hw.Alibi(4), hw.Softcap(3.0)),
}


@pytest.fixture(autouse=True)
def no_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flex, "BLOCK_MASKS", type(flex.BLOCK_MASKS)())


def compare(queries: int, **arguments: Any) -> None:
    tensors = operands(3, 4, 2, queries, 29, 16, 16)
    call = Call.of(*(tensor.detach() for tensor in tensors), return_lse=True, **arguments)
    with torch.no_grad():
        output, lse = attend(call, flex_attention)
        expected = Reference().run(call)
    torch.testing.assert_close(output, expected.output, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(lse, expected.lse, rtol=1e-4, atol=1e-5)


@pytest.mark.filterwarnings("ignore:flex_attention called without torch.compile")
@pytest.mark.parametrize("queries", [29, 11])
@pytest.mark.parametrize("mask", MASKS)
def test_masks_as_functions_of_one_pair(mask: str, queries: int) -> None:
    compare(queries, mask=MASKS[mask])


@pytest.mark.filterwarnings("ignore:flex_attention called without torch.compile")
@pytest.mark.parametrize("score", SCORES)
def test_scores_as_functions_of_one_pair(score: str) -> None:
    compare(11, mask=hw.Causal(), score=SCORES[score])


@pytest.mark.filterwarnings("ignore:flex_attention called without torch.compile")
def test_tensors_are_read_at_their_pair() -> None:
    generator = torch.Generator().manual_seed(3)
    dense = torch.rand(3, 1, 11, 29, generator=generator) < 0.5
    bias = torch.randn(1, 4, 11, 29, generator=generator)
    compare(11, mask=dense, score=(hw.Bias(bias), hw.Bias(bias[0, 0])))
    places = {"query_positions": torch.randint(0, 40, (3, 11)), "key_positions": torch.arange(29)[None].expand(3, -1)}
    compare(11, mask=hw.Causal(), score=hw.Alibi(4), **places)


def test_block_masks_are_remembered_until_a_tensor_changes() -> None:
    tensors = tuple(tensor.detach() for tensor in operands(3, 4, 2, 29, 29, 16, 16))
    keep = KEEP.clone()

    def made() -> Any:
        return block_mask(Call.of(*tensors, mask=hw.Causal() & hw.Padding(keep)))

    first = made()
    assert made() is first
    keep[0, 0] = False
    assert made() is not first


def test_without_a_gpu_it_refuses_with_reasons() -> None:
    tensors = operands()
    assert hw.explain(*tensors).refused["flex"] == ["FlexAttention has no gradients on cpu, it is for GPUs"]
    with pytest.raises(hw.EngineRefused, match="engine 'flex' cannot run this call"):
        hw.attention(*tensors, engine="flex")


def test_it_refuses_what_cannot_be_told() -> None:
    reasons = flex.why_not_said(
        Call.of(*operands(dtype=torch.float64), score=(hw.Sink(4), hw.Softcap(3.0)), dropout=0.1)
    )
    assert reasons == [
        "FlexAttention has no dropout",
        "FlexAttention has no float64",
        "no way is known to write Sink as a function of one pair",
    ]


# Dynamo makes an instance of an autograd function while it traces one, and warns of it.
@pytest.mark.filterwarnings("ignore:.*should not be instantiated:DeprecationWarning")
@pytest.mark.parametrize(
    ("mask", "score"),
    [
        ("padding", "alibi"),
        pytest.param("documents", "t5", marks=pytest.mark.slow),
        pytest.param("window", "two", marks=pytest.mark.slow),
        pytest.param("function", "function", marks=pytest.mark.slow),
        pytest.param("full", "softcap", marks=pytest.mark.slow),
    ],
)
def test_flex_is_traced_into_one_graph(mask: str, score: str) -> None:
    """Eagerly on a CPU, so without gradients; the mask is asked anew in each run, so a tensor that was written to counts."""
    query, key, value = (tensor.detach() for tensor in operands(3, 4, 2, 29, 29, 16, 16))
    keep = KEEP.clone()
    chosen = hw.Causal() & hw.Padding(keep) if mask == "padding" else MASKS[mask]

    def call(query: torch.Tensor) -> Call:
        return Call.of(query, key, value, mask=chosen, score=SCORES[score])

    compiled = torch.compile(lambda query: attend(call(query), flex.uncompiled())[0], fullgraph=True, backend="eager")
    for _ in range(2):
        with torch.no_grad():
            torch.testing.assert_close(compiled(query), Reference().run(call(query)).output, rtol=1e-4, atol=1e-5)
        keep[0, 20:] = False
    torch._dynamo.reset()


def test_a_graph_on_a_gpu_takes_flex_where_sdpa_cannot(monkeypatch: pytest.MonkeyPatch) -> None:
    call = Call.of(*operands(3, 4, 2, 11, 29, 16, 16), mask=hw.Causal(), score=hw.Softcap(2.0))
    assert traced(call).name == "reference"
    monkeypatch.setattr(flex.Flex, "why_not", lambda _, call: flex.why_not_said(call))
    assert traced(call).name == "flex"
    assert traced(Call.of(*operands(3, 4, 2, 11, 29, 16, 16), mask=hw.Causal())).name == "sdpa"


def test_in_a_graph_flex_counts_the_pairs_that_it_asks_for(monkeypatch: pytest.MonkeyPatch) -> None:
    call = Call.of(*operands(1, 1, 1, 3000, 3000, 4, 4), mask=hw.Causal())
    assert not flex.Flex().cost(call).quadratic
    monkeypatch.setattr(torch.compiler, "is_compiling", lambda: True)
    assert flex.Flex().cost(call).quadratic
