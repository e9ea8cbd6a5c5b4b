"""Each refusal in words: what must hold; what came, with names and numbers; the usual fix."""

import re

import pytest
import torch

import headwise as hw


def t(*shape, dtype=torch.float32):
    return torch.zeros(shape, dtype=dtype)


def attend(query=None, key=None, value=None, **options):
    query = t(2, 4, 5, 8) if query is None else query
    key = t(2, 2, 7, 8) if key is None else key
    return hw.attention(query, key, t(*key.shape) if value is None else value, **options)


def layer(*inputs, d_model=12, heads=3, call=None, **options):
    return hw.MultiHeadAttention(d_model, heads, **options)(*(inputs or (t(2, 5, 12),)), **(call or {}))


ALL = "query [B H I D] = [2, 4, 5, 8], key [B G J D] = [2, 2, 7, 8], value [B G J E] = "
MASK_FIX = "make it bool (mask > 0 for 0/1, mask == 0 for 0/-inf), or, if its numbers are to be added to the scores"

SHAPES = {
    "three axes": (
        lambda: attend(t(4, 5, 8)),
        "query must have the four axes B H I D, it has 3; got query [B H I D] = [4, 5, 8], key",
    ),
    "batch": (
        lambda: attend(t(3, 4, 5, 8)),
        "B must be equal, it is 3 in query and 2 in key; got query [B H I D] = [3, 4, 5, 8]",
    ),
    "features": (lambda: attend(t(2, 4, 5, 9)), "D must be equal, it is 9 in query and 8 in key"),
    "length": (
        lambda: attend(value=t(2, 2, 6, 8)),
        f"J must be equal, it is 7 in key and 6 in value; got {ALL}[2, 2, 6, 8]",
    ),
    "key heads": (
        lambda: attend(value=t(2, 1, 7, 8)),
        f"G must be equal, it is 2 in key and 1 in value; got {ALL}[2, 1, 7, 8]",
    ),
    "heads": (lambda: attend(t(2, 3, 5, 8)), "H must be a multiple of G, 3 is not a multiple of 2"),
    "heads and positions swapped": (
        lambda: attend(t(2, 5, 4, 8)),
        "H must be a multiple of G, 5 is not a multiple of 2",
    ),
    "no features": (lambda: attend(t(2, 4, 5, 0), t(2, 2, 7, 0)), "D, H and G must be at least 1"),
    "no heads": (lambda: attend(t(2, 0, 5, 8), t(2, 2, 7, 8)), "D, H and G must be at least 1"),
    "mask rows": (
        lambda: attend(mask=t(4, 7, dtype=torch.bool)),
        "axis I of mask must be 5 or 1, it is 4 (this call has B=2, H=4, I=5, J=7)",
    ),
    "mask keys": (lambda: attend(mask=t(5, 5, dtype=torch.bool)), "axis J of mask must be 7 or 1, it is 5"),
    "mask of fused batch and heads": (
        lambda: attend(mask=t(8, 5, 7, dtype=torch.bool)),
        "axis B of mask must be 2 or 1, it is 8",
    ),
    "mask of one axis": (
        lambda: attend(mask=t(7, dtype=torch.bool)),
        "a mask must have the axes I J, B I J or B H I J, it has 1; got mask [?] = [7]",
    ),
    "bias": (lambda: attend(score=hw.Bias(t(5, 6))), "axis J of Bias(tensor) must be 7 or 1, it is 6"),
    "bias of three axes": (lambda: hw.Bias(t(2, 5, 7)), "Bias(tensor) must have the axes I J or B H I J"),
    "padding": (
        lambda: attend(mask=hw.Padding(t(2, 5, dtype=torch.bool))),
        "Padding(keep) must be [B J] with B=2, J=7; got Padding(keep) [B J] = [2, 5]",
    ),
    "documents": (
        lambda: attend(mask=hw.Documents(t(2, 5, dtype=torch.long))),
        "Documents(ids) must be [B J] with B=2, J=7",
    ),
    "query documents": (
        lambda: attend(mask=hw.Documents(t(2, 7, dtype=torch.long), t(2, 4, dtype=torch.long))),
        "Documents(query_ids) must be [B I] with B=2, I=5",
    ),
    "documents of more queries than keys": (
        lambda: attend(t(2, 4, 9, 8), mask=hw.Documents(t(2, 7, dtype=torch.long))),
        "Documents without query_ids needs at most as many queries as keys, I=9 and J=7",
    ),
    "alibi": (
        lambda: attend(score=hw.Alibi(8)),
        "Alibi(heads) must equal the query heads of the call; got heads=8, H=4. Usual fix: Alibi(4).",
    ),
    "positions": (
        lambda: attend(query_positions=torch.arange(4)),
        "query_positions must be [L] or [B, L] with B=2, L=5; got query_positions",
    ),
    "float positions": (
        lambda: attend(key_positions=t(7)),
        "key_positions must hold whole numbers in one or two axes (torch.float32)",
    ),
    "positions of three axes": (
        lambda: attend(key_positions=t(1, 1, 7, dtype=torch.long)),
        "key_positions must hold whole numbers in one or two axes",
    ),
    "the swap of classic code": (
        lambda: hw.MultiHeadAttention(8, 512),
        "d_model must be at least heads; got d_model=8, heads=512. Usual fix: swap them, d_model comes first here and heads first in "
        "classic code: MultiHeadAttention(d_model=512, heads=8).",
    ),
    "heads that do not divide": (
        lambda: hw.MultiHeadAttention(12, 5),
        "heads must divide d_model; got d_model=12, heads=5",
    ),
    "key heads that do not divide": (
        lambda: hw.MultiHeadAttention(12, 6, kv_heads=4),
        "kv_heads must divide heads; got heads=6, kv_heads=4",
    ),
    "no heads in a layer": (
        lambda: hw.MultiHeadAttention(12, 0),
        "heads must be a whole number of at least 1; got heads=0",
    ),
    "half a head": (
        lambda: hw.MultiHeadAttention(12, 3, head_dim=2.5),
        "head_dim must be a whole number of at least 1; got head_dim=2.5",
    ),
    "no width": (
        lambda: hw.MultiHeadAttention(True, 1),
        "d_model must be a whole number of at least 1; got d_model=True",
    ),
    "two axes in a layer": (
        lambda: layer(t(5, 12)),
        "query must have the three axes B I M, it has 2; got query [B I M] = [5, 12]",
    ),
    "width in a layer": (lambda: layer(t(2, 5, 11)), "the last axis of query must be 12 wide, it is 11"),
    "width of keys in a layer": (
        lambda: layer(t(2, 5, 12), t(2, 5, 9)),
        "the last axis of key must be 12 wide, it is 9",
    ),
    "no context": (lambda: layer(context_dim=9), "a layer with context_dim=9 attends to another sequence, it got none"),
    "batch in a layer": (
        lambda: layer(t(2, 5, 12), t(3, 5, 12)),
        "the batch must be equal in all inputs, it is {'query': 2, 'key': 3}",
    ),
    "length in a layer": (lambda: layer(t(2, 5, 12), t(2, 6, 12), t(2, 7, 12)), "key and value must be equally long"),
    "positions in a layer": (
        lambda: layer(call={"positions": torch.arange(4)}),
        "positions must be [L] or [B, L] with B=2, L=5",
    ),
    "classic layout": (
        lambda: layer(t(5, 2, 12), t(6, 3, 12), batch_first=False),
        "the batch must be equal in all inputs, it is {'query': 2, 'key': 3}; got query [I B M] = [5, 2, 12], key [J B C] = [6, 3, 12]",
    ),
}

KINDS = {
    "float mask": (
        lambda: attend(mask=t(5, 7)),
        hw.MaskError,
        f"a mask must be bool, True = may see; got a tensor of float32. Usual fix: {MASK_FIX}",
    ),
    "0/1 float mask": (
        lambda: attend(mask=torch.tensor([[0, 0, 0, 1.0]])),
        hw.MaskError,
        "pass it as score=Bias(tensor)",
    ),
    "integer mask": (lambda: attend(mask=t(5, 7, dtype=torch.uint8)), hw.MaskError, "got a tensor of uint8"),
    "long mask": (lambda: layer(call={"mask": t(5, 5, dtype=torch.long)}), hw.MaskError, "got a tensor of int64"),
    "float mask in the classic layout": (
        lambda: layer(batch_first=False, call={"mask": t(5, 5)}),
        hw.MaskError,
        MASK_FIX,
    ),
    "class as mask": (
        lambda: attend(mask=hw.Causal),
        hw.MaskError,
        "mask must be an instance, not the class Causal. Usual fix: write Causal()",
    ),
    "word as mask": (
        lambda: attend(mask="causal"),
        hw.MaskError,
        "mask must be None, a bool tensor, a Mask or a function (b, h, i, j) -> bool; got str",
    ),
    "True as mask": (
        lambda: attend(mask=True),
        hw.MaskError,
        "mask must be None, a bool tensor, a Mask or a function (b, h, i, j) -> bool; got bool",
    ),
    "mask in an operator": (lambda: hw.Causal() & t(5, 7), hw.MaskError, MASK_FIX),
    "function of floats as mask": (
        lambda: attend(mask=lambda b, h, i, j: i - 0.5 * j),
        hw.MaskError,
        "a mask function must return bool",
    ),
    "window of 0": (
        lambda: hw.Window(0),
        hw.MaskError,
        "Window(size) must be a whole number of at least 1, it counts the query's own key; got size=0",
    ),
    "window behind": (
        lambda: hw.Window(4, ahead=-1),
        hw.MaskError,
        "Window(ahead) must be a whole number of at least 0; got ahead=-1",
    ),
    "float padding": (
        lambda: hw.Padding(t(2, 7)),
        hw.MaskError,
        "Padding(keep) must be a bool tensor [B, J], True = a real token; got a tensor of float32",
    ),
    "padding of one axis": (
        lambda: hw.Padding(t(7, dtype=torch.bool)),
        hw.MaskError,
        "a tensor of bool with shape [7]",
    ),
    "float documents": (
        lambda: hw.Documents(t(2, 7)),
        hw.MaskError,
        "Documents(ids) must be a tensor of whole numbers [B, J]; got torch.float32 [2, 7]",
    ),
    "float mask of another library": (
        lambda: hw.Dense.from_mha(t(5, 7)),
        hw.MaskError,
        "Dense.from_mha(mask) needs a bool tensor, True = hidden",
    ),
    "cap of 0": (
        lambda: hw.Softcap(0.0),
        hw.ScoreError,
        "Softcap(cap) must be a finite number above 0; got cap=0.0. Usual fix: to switch it off",
    ),
    "cap below 0": (lambda: hw.Softcap(-5), hw.ScoreError, "Softcap(cap) must be a finite number above 0; got cap=-5"),
    "mask as bias": (
        lambda: hw.Bias(t(5, 7, dtype=torch.bool)),
        hw.ScoreError,
        "Bias(tensor) must be a float tensor; got bool. Usual fix: a bool tensor is a mask",
    ),
    "tensor as score": (
        lambda: attend(score=t(5, 7)),
        hw.ScoreError,
        "got a tensor. Usual fix: score=Bias(tensor) adds a tensor.",
    ),
    "class as score": (lambda: attend(score=hw.Alibi), hw.ScoreError, "score must be an instance, not the class Alibi"),
    "word in a tuple of scores": (
        lambda: attend(score=(hw.Alibi(4), "cap")),
        hw.ScoreError,
        "a tuple of them; got str",
    ),
    "slopes that learn": (
        lambda: hw.Alibi(2, torch.nn.Parameter(t(2))),
        hw.ScoreError,
        "Alibi(slopes) must be plain numbers, it got a tensor that learns",
    ),
    "slopes of another number": (
        lambda: hw.Alibi(2, (0.5,)),
        hw.ScoreError,
        "Alibi(slopes) must be 2 finite numbers, one a head; got [0.5]",
    ),
    "no tensor": (
        lambda: attend([1.0]),
        hw.ArgumentError,
        "query must be a tensor; got list. Usual fix: torch.as_tensor(query).",
    ),
    "no tensor as value": (
        lambda: hw.attention(t(1, 1, 2, 2), t(1, 1, 2, 2), None),
        hw.ArgumentError,
        "value must be a tensor; got NoneType",
    ),
    "no tensor in a layer": (lambda: layer([1.0]), hw.ArgumentError, "query must be a tensor; got list"),
    "no tensor as key of a layer": (
        lambda: layer(t(2, 5, 12), "keys"),
        hw.ArgumentError,
        "key must be a tensor; got str",
    ),
    "eight bits": (
        lambda: attend(*(t(2, 2, 7, 8).to(torch.float8_e4m3fn) for _ in range(3))),
        hw.ArgumentError,
        "float16, bfloat16, float32 or float64, and one device; got query torch.float8_e4m3fn on cpu",
    ),
    "two types": (
        lambda: attend(key=t(2, 2, 7, 8, dtype=torch.float64)),
        hw.ArgumentError,
        "query torch.float32 on cpu, key torch.float64 on cpu",
    ),
    "whole numbers": (
        lambda: attend(*(t(2, 2, 7, 8, dtype=torch.long) for _ in range(3))),
        hw.ArgumentError,
        "query, key and value must have one dtype, float16, bfloat16, float32 or float64, and one device; got query torch.int64",
    ),
    "scale": (
        lambda: attend(scale=float("nan")),
        hw.ArgumentError,
        "scale must be a finite number; got nan. Usual fix: leave it away for 1/sqrt(head_dim)",
    ),
    "scale that learns": (lambda: attend(scale=t(1)), hw.ArgumentError, "a scale that learns is a score function"),
    "dropout of 1": (lambda: attend(dropout=1.0), hw.ArgumentError, "dropout must be a number in [0, 1); got 1.0"),
    "dropout below 0": (lambda: attend(dropout=-0.1), hw.ArgumentError, "dropout must be a number in [0, 1); got -0.1"),
    "dropout of a layer": (
        lambda: hw.MultiHeadAttention(12, 3, dropout=1.5),
        hw.ArgumentError,
        "dropout must be a number in [0, 1); got 1.5",
    ),
    "scores": (
        lambda: attend(scores="dot"),
        hw.ArgumentError,
        "scores must be a function (query, key, query_positions, key_positions) -> scores; got str",
    ),
    "positions of no kind": (
        lambda: attend(query_positions=[0, 1]),
        hw.ArgumentError,
        "query_positions must be None, a whole number (the position of the first one)",
    ),
    "engine": (lambda: attend(engine="spda"), hw.ArgumentError, "engine must be 'auto' or one of sdpa, "),
    "engine of a layer": (
        lambda: hw.MultiHeadAttention(12, 3, engine="fast"),
        hw.ArgumentError,
        "got 'fast'. Usual fix: leave it away for 'auto'.",
    ),
    "bias of a layer": (
        lambda: hw.MultiHeadAttention(12, 3, bias=("keys",)),
        hw.ArgumentError,
        "names among query, key, value, output; got ('keys',)",
    ),
    "place of a position scheme": (
        lambda: hw.MultiHeadAttention(12, 3, position=hw.Sinusoidal(12)),
        hw.PositionError,
        "position of a layer must act on queries and keys, Sinusoidal acts on the embedding",
    ),
    "engine that cannot": (
        lambda: attend(score=hw.Softcap(1.0), scores=lambda q, k, i, j: q @ k.transpose(2, 3), engine="sdpa"),
        hw.EngineRefused,
        "engine 'sdpa' cannot run this call: get_scores is overridden, the kernel knows dot products only; Softcap changes scores otherwise",
    ),
}


def check(make, kind, words):
    with pytest.raises(kind) as caught:
        make()
    message = str(caught.value)
    assert words in message
    # Two sentences, the second of which says what to do; wrapped errors are not shown.
    assert re.search(r"Usual fix: .+\.$", message)
    assert caught.value.__cause__ is None


@pytest.mark.parametrize("name", SHAPES)
def test_wrong_sizes_are_named_with_letters_and_numbers(name):
    """C04 and A08: axes have names, and a layout of another library is caught where sizes tell."""
    make, words = SHAPES[name]
    check(make, hw.ShapeError, words)


@pytest.mark.parametrize("name", KINDS)
def test_wrong_kinds_and_values_are_named_with_the_remedy(name):
    """M10 among them: a float passed as a mask names the two remedies."""
    check(*KINDS[name])


def test_every_error_is_a_headwise_error_and_a_value_error():
    for name in (
        "ShapeError",
        "MaskError",
        "ScoreError",
        "PositionError",
        "CacheError",
        "ArgumentError",
        "EngineRefused",
    ):
        assert issubclass(getattr(hw, name), hw.HeadwiseError)
    assert issubclass(hw.HeadwiseError, ValueError)


def test_only_shapes_raises_shape_errors_of_tensors():
    with pytest.raises(hw.ShapeError):
        attend(t(3, 4, 5, 8))


@pytest.mark.parametrize(
    ("base", "method"), [(hw.Mask, "sees(grid)"), (hw.Score, "change(scores, grid)"), (hw.AdditiveScore, "bias(grid)")]
)
def test_a_part_without_its_method_says_which_one_is_missing(base, method):
    class Mine(base):
        pass

    with pytest.raises(NotImplementedError, match=re.escape(f"Mine must define {method}")):
        attend(**{"mask" if base is hw.Mask else "score": Mine()}, engine="reference")
