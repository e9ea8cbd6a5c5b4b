"""Every strategy of blockwise against the definition: output, gradients and lse, where rows, columns and blocks do not fit neatly."""

from typing import Any

import pytest
import torch
from torch import Tensor

import headwise as hw
from headwise.call import Call
from headwise.engines import summary
from headwise.engines.base import Output
from headwise.engines.by_strategy import hide_keyless
from headwise.engines.strategies import STRATEGIES, body, folded, rectangles, rows, softcap
from headwise.engines.strategies.definition import Definition
from headwise.mask.window import HalfWindow
from unit.engines.compare import assert_defined, operands

NAMES = {strategy.name: strategy for strategy in (*STRATEGIES, Definition())}


def run_by(name: str) -> Any:
    def run(call: Call) -> Output:
        assert NAMES[name].why_not(call) is None
        output, lse = NAMES[name].run(call)
        return Output(output, hide_keyless(call, lse))

    return run


def refusal(name: str, *tensors: Tensor, **arguments: Any) -> str | None:
    return NAMES[name].why_not(Call.of(*tensors, **arguments))


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks far smaller than the calls of these tests, so that each has many."""
    monkeypatch.setattr(rectangles, "NARROW_ROWS", 5)
    monkeypatch.setattr(rectangles, "LEARNED_ROWS", 7)
    monkeypatch.setattr(rectangles, "WIDE_ROWS", 8)
    monkeypatch.setattr(rows, "BLOCK_NUMBERS", 2000)
    monkeypatch.setattr(rows, "LEAST_ROWS", 6)
    monkeypatch.setattr(body, "BLOCK_SCORES", 2000)
    monkeypatch.setattr(body, "LEAST_ROWS", 4)
    monkeypatch.setattr(summary, "TILE", 2)
    monkeypatch.setattr(summary, "GAP", 2)
    monkeypatch.setattr(summary, "MEMORY", summary.Memory())
    monkeypatch.setattr(rectangles, "MEMORY", summary.Memory())
    monkeypatch.setattr(softcap, "TILE_COLUMNS", 12)
    monkeypatch.setattr(softcap, "TILE_PAIRS", 2000)


def right_padding(batch: int, keys: int) -> Tensor:
    return torch.arange(keys) < keys - 4 * torch.arange(batch)[:, None]


def left_padding(batch: int, keys: int) -> Tensor:
    return torch.arange(keys) >= 4 * torch.arange(batch)[:, None]


def sizes(**changed: int) -> dict[str, int]:
    return {"batch": 3, "heads": 4, "kv_heads": 2, "queries": 29, "keys": 29} | changed


MASKS = {
    "full": lambda b, i, j: hw.Full(),
    "causal": lambda b, i, j: hw.Causal(),
    "window": lambda b, i, j: hw.Window(7),
    "window ahead": lambda b, i, j: hw.Window(4, ahead=3),
    "left padding": lambda b, i, j: hw.Causal() & hw.Padding(left_padding(b, j)),
    "right padding": lambda b, i, j: hw.Padding(right_padding(b, j)),
    "empty sequence": lambda b, i, j: hw.Padding(right_padding(b, j) & (torch.arange(b) > 0)[:, None]),
    "window padding": lambda b, i, j: hw.Window(5) & hw.Padding(left_padding(b, j)),
}


@pytest.mark.parametrize(("queries", "keys"), [(29, 29), (11, 29), (29, 11), (1, 29), (2, 3)])
@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("name", ["rectangles", "rows", "body", "definition"])
def test_masks_are_those_of_the_definition(name: str, mask: str, queries: int, keys: int) -> None:
    tensors = operands(**sizes(queries=queries, keys=keys))
    assert_defined(run_by(name), tensors, mask=MASKS[mask](3, queries, keys))


@pytest.mark.parametrize("name", ["rectangles", "rows", "body"])
@pytest.mark.parametrize("mask", ["full", "causal", "window ahead", "left padding"])
@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.float16])
def test_every_dtype(name: str, mask: str, dtype: torch.dtype) -> None:
    assert_defined(run_by(name), operands(**sizes(), dtype=dtype), mask=MASKS[mask](3, 29, 29), score=hw.Alibi(4))


@pytest.mark.parametrize("name", ["rectangles", "rows", "body"])
@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("queries", [29, 11])
def test_alibi_with_every_mask(name: str, mask: str, queries: int) -> None:
    tensors = operands(**sizes(queries=queries))
    assert_defined(run_by(name), tensors, mask=MASKS[mask](3, queries, 29), score=hw.Alibi(4))


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("queries", [29, 11])
def test_t5_table_learns_by_distance(mask: str, queries: int) -> None:
    part = hw.T5Bias(4, buckets=8, max_distance=20)
    tensors = operands(**sizes(queries=queries))
    found = assert_defined(
        run_by("rectangles"), tensors, (part.table,), mask=MASKS[mask](3, queries, 29), score=(part, hw.Alibi(4))
    )
    assert found["gradient of learned 0"].abs().sum() > 0


@pytest.mark.parametrize("name", ["rectangles", "rows", "body"])
@pytest.mark.parametrize("mask", ["causal", "window ahead", "left padding", "empty sequence"])
def test_sinks_learn(name: str, mask: str) -> None:
    sinks = (hw.Sink(4), hw.Sink(4))
    for sink in sinks:
        torch.nn.init.normal_(sink.logit)
    learned = tuple(sink.logit for sink in sinks)
    assert_defined(run_by(name), operands(**sizes()), learned, mask=MASKS[mask](3, 29, 29), score=sinks)


DOCUMENTS = torch.tensor([[0] * 9 + [1] * 13 + [2] * 7, [5] * 29, [3] * 2 + [1] * 1 + [9] * 26])


@pytest.mark.parametrize("name", ["rectangles", "rows", "body"])
@pytest.mark.parametrize("queries", [29, 11])
@pytest.mark.parametrize("beside", [hw.Full(), hw.Causal(), hw.Window(6), hw.Padding(right_padding(3, 29))])
def test_documents_see_themselves(name: str, queries: int, beside: hw.Mask) -> None:
    assert_defined(run_by(name), operands(**sizes(queries=queries)), mask=hw.Documents(DOCUMENTS) & beside)


def test_documents_with_numbers_of_their_own_for_queries() -> None:
    ids = torch.tensor([[1] * 4 + [0] * 4 + [7] * 3, [0] * 11, [2] * 11])
    mask = hw.Documents(DOCUMENTS, ids)
    assert_defined(run_by("rectangles"), operands(**sizes(queries=11)), mask=mask)


def test_documents_that_change_are_found_anew() -> None:
    ids = DOCUMENTS.clone()
    tensors = operands(**sizes())
    assert_defined(run_by("rectangles"), tensors, mask=hw.Documents(ids))
    ids[1, 20:] = 8
    assert_defined(run_by("rectangles"), tensors, mask=hw.Documents(ids))


def test_a_document_in_two_places_is_no_rectangle() -> None:
    ids = torch.tensor([[0, 1, 0]])
    tensors = operands(1, 2, 2, 3, 3)
    assert "more than a few rectangles" in str(refusal("rectangles", *tensors, mask=hw.Documents(ids)))
    assert_defined(run_by("rows"), tensors, mask=hw.Documents(ids) & hw.Causal())


def test_positions_as_whole_numbers_shift_the_band() -> None:
    places = {"query_positions": 40, "key_positions": 31}
    for mask in (hw.Causal(), hw.Window(6), hw.Window(3, ahead=8)):
        assert_defined(run_by("rectangles"), operands(**sizes(queries=13)), mask=mask, **places)
        assert_defined(run_by("rectangles"), operands(**sizes(queries=13)), mask=mask, score=hw.Alibi(4), **places)


def test_positions_as_tensors_go_by_rows() -> None:
    places = {"query_positions": torch.randperm(29), "key_positions": torch.randperm(29)}
    tensors = operands(**sizes())
    assert (
        refusal("rectangles", *tensors, mask=hw.Causal(), **places)
        == "positions are tensors, so distances are no vector"
    )
    assert_defined(run_by("rows"), tensors, mask=hw.Causal(), score=hw.Alibi(4), **places)


def test_values_of_another_width() -> None:
    assert_defined(run_by("rectangles"), operands(**sizes(values=3)), mask=hw.Window(6))
    assert_defined(run_by("rectangles"), operands(**sizes(values=13)), mask=hw.Causal())


def test_features_that_do_not_stand_side_by_side() -> None:
    tensors = tuple(tensor.detach().mT.contiguous().mT.requires_grad_() for tensor in operands(**sizes()))
    assert_defined(run_by("rectangles"), tensors, mask=hw.Window(6))


@pytest.mark.parametrize("mask", [hw.Causal(), hw.Window(29, ahead=2)])
@pytest.mark.parametrize("kv_heads", [4, 2])
def test_keys_whose_weight_vanishes_are_left_out(mask: hw.Mask, kv_heads: int) -> None:
    """With slopes this steep all but the nearest keys have a weight of 0 in float32."""
    steep = hw.Alibi(4, slopes=(40.0, 0.0, 200.0, 200.0))
    tensors = operands(**sizes(kv_heads=kv_heads))
    call = Call.of(*tensors, score=steep, mask=mask)
    table = rectangles.make_table(call)
    assert table[2].isinf().sum() > table[1].isinf().sum()
    pieces = [piece for near in rectangles.nearer(call, table) for piece in near]
    widths = {
        piece.heads: max(p.columns[1] - p.columns[0] for p in pieces if p.heads == piece.heads) for piece in pieces
    }
    if kv_heads == 4:
        assert set(widths) == {(0, 1), (1, 2), (2, 4)} and widths[2, 4] < widths[1, 2]
    else:
        assert set(widths) == {None}
    assert_defined(run_by("rectangles"), tensors, mask=mask, score=steep)
    assert_defined(run_by("rectangles"), tensors, mask=mask, score=(steep, hw.Sink(4)))


SCATTERED = torch.rand(29, 29, generator=torch.Generator().manual_seed(5)) < 0.08
SCATTERED[3] = False


@pytest.mark.parametrize(
    "mask",
    [
        hw.Dense(SCATTERED),
        hw.Dense(SCATTERED) & hw.Causal(),
        hw.Causal() | hw.Prefix(5),
        hw.Dilated(4, 5),
        ~hw.Window(9, ahead=9),
        lambda b, h, i, j: ((i + j) % 13 == h) & (j < 20),
    ],
)
def test_gaps_between_visible_keys_are_skipped_and_merged(mask: Any) -> None:
    tensors = operands(**sizes())
    assert_defined(run_by("rows"), tensors, mask=mask)
    assert_defined(run_by("rows"), tensors, mask=mask, score=(hw.Alibi(4), hw.Sink(4)))


def test_a_summary_is_remembered_until_the_tensor_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    look = summary.look
    monkeypatch.setattr(summary, "look", lambda *arguments: asked.append(1) or look(*arguments))
    dense = SCATTERED.clone()
    tensors = operands(**sizes())

    def ask(mask: Any) -> bool:
        asked.clear()
        found = summary.summarise(Call.of(*tensors, mask=mask), 6)
        assert found == tuple(
            s
            for block in summary.by_band(Call.of(*tensors, mask=mask), 6)
            for s in look(Call.of(*tensors, mask=mask), block)
        )
        return bool(asked)

    assert ask(hw.Dense(dense)) and not ask(hw.Dense(dense))
    dense[20, 20] = True
    assert ask(hw.Dense(dense)) and not ask(hw.Dense(dense))
    assert ask(hw.Dense(dense.clone()))
    assert ask(hw.Causal() | hw.Prefix(4)) and not ask(hw.Causal() | hw.Prefix(4)) and ask(hw.Causal() | hw.Prefix(5))
    function = lambda b, h, i, j: i >= j  # noqa: E731
    assert ask(function) and ask(function)


def test_a_bias_that_learns_is_refused_by_rows() -> None:
    bias = torch.zeros(29, 29, requires_grad=True)
    assert "learns" in str(refusal("rows", *operands(**sizes()), score=hw.Bias(bias)))
    assert_defined(run_by("rows"), operands(**sizes()), score=hw.Bias(torch.randn(29, 29)), mask=hw.Causal())


@pytest.mark.parametrize("queries", [29, 11, 40])
@pytest.mark.parametrize("mask", MASKS)
def test_soft_caps_with_every_mask(mask: str, queries: int) -> None:
    tensors = operands(**sizes(queries=queries, values=5))
    assert_defined(run_by("softcap"), tensors, mask=MASKS[mask](3, queries, 29), score=hw.Softcap(2.5))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("cap", [0.5, 30.0, 70.0])
def test_soft_caps_of_every_size_and_dtype(cap: float, dtype: torch.dtype) -> None:
    tensors = operands(**sizes(), dtype=dtype)
    assert_defined(
        run_by("softcap"), tensors, mask=hw.Documents(DOCUMENTS) & hw.Causal(), score=hw.Softcap(cap), scale=3.0
    )


def test_what_the_soft_cap_strategy_leaves_to_others() -> None:
    tensors = operands()
    assert "above 70" in str(refusal("softcap", *tensors, score=hw.Softcap(100.0)))
    assert "not one Softcap" in str(refusal("softcap", *tensors, score=(hw.Alibi(4), hw.Softcap(10.0))))
    assert "dropout" in str(refusal("softcap", *tensors, score=hw.Softcap(10.0), dropout=0.1))


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("queries", [29, 11])
def test_captured_tensors_of_a_score_function_learn(mask: str, queries: int) -> None:
    table = torch.randn(64, requires_grad=True)

    def score(s: Tensor, b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
        return s + table[(i - j) & 63] * torch.sin(s) * (1 + h)

    assert_defined(
        run_by("body"), operands(**sizes(queries=queries)), (table,), mask=MASKS[mask](3, queries, 29), score=score
    )


def test_a_score_method_sees_blocks_of_rows() -> None:
    def scores(query: Tensor, key: Tensor, query_positions: Tensor, key_positions: Tensor) -> Tensor:
        return -torch.cdist(query, key) - 0.1 * (query_positions[:, None, :, None] - key_positions[:, None, None]).abs()

    assert_defined(run_by("body"), operands(**sizes()), mask=hw.Causal(), scores=scores)


def test_dropout_drops_the_same_weights_in_the_backward_pass() -> None:
    """With values and gradients of 1 the output of a query and the sum of its values' gradients are the same share of kept weights."""
    query, key, _ = operands(**sizes())
    value = torch.ones(3, 2, 29, 8, requires_grad=True)
    torch.manual_seed(3)
    output = hw.attention(query, key, value, dropout=0.4, engine="blockwise")
    (grad,) = torch.autograd.grad(output.sum(), value)
    torch.testing.assert_close(grad.sum(), output.sum())
    assert 0.9 < output.mean() < 1.1 and output.std() > 0.05
    torch.manual_seed(3)
    torch.testing.assert_close(hw.attention(query, key, value, dropout=0.4, engine="blockwise"), output)
    assert not torch.equal(hw.attention(query, key, value, dropout=0.4, engine="blockwise"), output)


def test_broken_operands_go_by_the_definition() -> None:
    query, key, value = (tensor.detach() for tensor in operands())
    value[:, :, 20] = torch.nan
    output = hw.attention(query, key, value, mask=hw.Window(5), engine="blockwise")
    assert (
        output[:, :, :20].isfinite().all() and output[:, :, 20:25].isnan().all() and output[:, :, 25:].isfinite().all()
    )


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("values", [8, 5])
@pytest.mark.parametrize(("queries", "keys"), [(37, 37), (21, 37), (37, 21)])
@pytest.mark.parametrize("mask", [hw.Window(7), hw.Window(4, ahead=3), hw.Window(1), HalfWindow(-9, -2)])
def test_a_folded_window_is_a_window(
    mask: hw.Mask, queries: int, keys: int, values: int, dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folded, "ROWS", 3)
    monkeypatch.setattr(rectangles, "ROWS", 3)
    folds = []
    monkeypatch.setattr(rectangles, "run_folded", lambda *arguments: folds.append(1) or folded.run_folded(*arguments))
    tensors = operands(2, 3, 3, queries, keys, values=values, dtype=dtype)
    tensors = tuple(tensor.detach().transpose(1, 2).contiguous().transpose(1, 2) for tensor in tensors)
    call = Call.of(*tensors, mask=mask, return_lse=True)
    found, expected = run_by("rectangles")(call), Definition().run(call)
    allowed = {"rtol": 2e-2, "atol": 2e-2} if dtype == torch.bfloat16 else {"rtol": 1e-5, "atol": 2e-6}
    torch.testing.assert_close(found.output, expected[0], **allowed)
    torch.testing.assert_close(found.lse, expected[1], rtol=1e-4, atol=1e-5)
    assert folds or queries > keys or mask == HalfWindow(-9, -2)


def test_second_derivatives_are_refused() -> None:
    query, key, value = operands(dtype=torch.float64)
    output = hw.attention(query, key, value, mask=hw.Window(5), engine="blockwise")
    (grad,) = torch.autograd.grad(output.sum(), query, create_graph=True)
    with pytest.raises(hw.EngineRefused, match="'blockwise' has first derivatives in reverse mode only"):
        grad.pow(2).sum().backward()


def test_functional_gradients_are_those_of_autograd() -> None:
    query, key, value = operands()

    def total(query: Tensor) -> Tensor:
        return hw.attention(query, key, value, mask=hw.Window(5), engine="blockwise").square().sum()

    torch.testing.assert_close(torch.func.grad(total)(query.detach()), torch.autograd.grad(total(query), query)[0])
