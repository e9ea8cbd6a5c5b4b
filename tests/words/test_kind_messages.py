"""Wrong kinds and values, in words: what must hold, what came, the usual fix."""

import re

import pytest
import torch

import headwise as hw
from headwise.position.base import Position
from support.messages import attend, check, layer, t

MASK_FIX = "make it bool (mask > 0 for 0/1, mask == 0 for 0/-inf), or, if its numbers are to be added to the scores"


class Truth(hw.AdditiveScore):
    def bias(self, grid):
        return grid.distance > 0


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
    "no names as bias of a layer": (
        lambda: hw.MultiHeadAttention(12, 3, bias=None),
        hw.ArgumentError,
        "names among query, key, value, output; got None",
    ),
    "no context width": (
        lambda: hw.MultiHeadAttention(12, 3, context_dim=0),
        hw.ArgumentError,
        "context_dim must be a whole number of at least 1; got 0",
    ),
    "whole numbers beyond the largest float as scale": (
        lambda: attend(scale=10**400),
        hw.ArgumentError,
        "scale must be a finite number; got 1000",
    ),
    "sparse": (
        lambda: attend(t(2, 4, 5, 8).to_sparse()),
        hw.ArgumentError,
        "query, key and value must be dense tensors; got query torch.sparse_coo, key torch.strided",
    ),
    "a position beyond all others": (
        lambda: attend(query_positions=2**70, mask=hw.Window(2)),
        hw.ArgumentError,
        "query_positions must lie within 2**62 on both sides of 0; got 1180591620717411303424",
    ),
    "a window beyond all positions": (
        lambda: hw.Window(2**70),
        hw.MaskError,
        "Window(size) must be at most 2**62; got 1180591620717411303424. Usual fix: leave the bound away",
    ),
    "a window ahead of all positions": (
        lambda: hw.Window(2, ahead=2**63),
        hw.MaskError,
        "Window(ahead) must be at most",
    ),
    "a window of flash beyond all positions": (
        lambda: hw.Window.from_flash(2**64, -1),
        hw.MaskError,
        "Window.from_flash(left, right) must be at most 2**62",
    ),
    "a prefix beyond all positions": (lambda: hw.Prefix(2**63), hw.MaskError, "Prefix(length) must be at most 2**62"),
    "steps beyond all positions": (
        lambda: hw.Dilated(2**40, 2**40),
        hw.MaskError,
        "Dilated(size * step) must be at most 2**62",
    ),
    "truth values as a score": (
        lambda: attend(score=lambda s, b, h, i, j: i > j),
        hw.ScoreError,
        "a score function must return a real number; it returned torch.bool. Usual fix: a rule of who sees whom is a mask",
    ),
    "truth values as a score of one's own": (
        lambda: attend(score=Truth()),
        hw.ScoreError,
        "Truth.bias(grid) must return a tensor of four axes [B,H,i,j] with numbers, size 1 where",
    ),
    "masks in a list": (
        lambda: attend(mask=[hw.Causal(), hw.Window(3)]),
        hw.MaskError,
        "got list. Usual fix: join masks by & if all of them must let a pair be seen.",
    ),
    "mask of a mask": (lambda: hw.Dense(hw.Causal()), hw.MaskError, "True = may see; got Causal. Usual fix"),
    "masks joined by a word": (
        lambda: hw.Causal() and hw.Window(3),
        hw.MaskError,
        "masks are joined by &, | and ~, and Causal is neither true nor false; got it where Python asks for one.",
    ),
    "opposite of a mask by a word": (lambda: not hw.Causal(), hw.MaskError, "`mask is None` in place of `not mask`"),
    "layout of no kind": (
        lambda: hw.MultiHeadAttention(12, 3, batch_first="no"),
        hw.ArgumentError,
        "batch_first must be True or False; got 'no'",
    ),
    "a norm for queries and keys together": (
        lambda: hw.MultiHeadAttention(12, 3, qk_norm=torch.nn.LayerNorm(4)),
        hw.ArgumentError,
        "or a function head_dim -> module; got LayerNorm",
    ),
    "another device": (
        lambda: layer(t(2, 5, 12).to("meta")),
        hw.ArgumentError,
        "must be on the device of the layer; got meta, the layer is on cpu. Usual fix: ",
    ),
    "keys on another device": (
        lambda: layer(t(2, 5, 12), t(2, 5, 12).to("meta")),
        hw.ArgumentError,
        "got meta, the layer",
    ),
    "sparse in a layer": (
        lambda: layer(t(2, 5, 12).to_sparse()),
        hw.ArgumentError,
        "query of a layer must be a dense tensor; got torch.sparse_coo",
    ),
    "nested in a layer": (
        lambda: layer(torch.nested.nested_tensor([t(5, 12), t(3, 12)], layout=torch.jagged)),
        hw.ArgumentError,
        "got torch.jagged. Usual fix: to_dense(), or for nested tensors pad and pass Padding(keep)",
    ),
    "no tensor in a stack": (lambda: hw.Encoder(12, 3, 1)([1]), hw.ArgumentError, "x must be a tensor; got list"),
    "a position scheme of one argument": (
        lambda: hw.MultiHeadAttention(12, 3, position=lambda x: x),
        hw.PositionError,
        "a scheme such as Rotary, called as scheme(x, positions, length=None); got <function",
    ),
    "a score set later": (
        lambda: setattr(hw.MultiHeadAttention(12, 3), "score", hw.Alibi),
        hw.ScoreError,
        "not the class Alibi",
    ),
    "a mask set later": (lambda: setattr(hw.MultiHeadAttention(12, 3), "mask", "causal"), hw.MaskError, "got str"),
    "no cache": (
        lambda: layer(call={"cache": {}}),
        hw.CacheError,
        "cache must be a KVCache, one of its rows, or None; got dict. Usual fix: cache = KVCache()",
    ),
    "turns of more features than there are": (
        lambda: hw.MultiHeadAttention(12, 3, position=hw.Rotary(8)),
        hw.PositionError,
        "position must turn at most the features of a head, head_dim=4; got Rotary with dim=8. Usual fix: Rotary(4).",
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


@pytest.mark.parametrize(
    ("base", "method"), [(hw.Mask, "sees(grid)"), (hw.Score, "change(scores, grid)"), (hw.AdditiveScore, "bias(grid)")]
)
@pytest.mark.parametrize("engine", ["auto", "reference", "blockwise", "sdpa"])
def test_a_part_without_its_method_says_which_one_is_missing(base, method, engine):
    class Mine(base):
        def see(self, grid):
            return grid.distance >= 0

    what, error = ("mask", hw.MaskError) if base is hw.Mask else ("score", hw.ScoreError)
    words = rf"must define {re.escape(method)}, which returns .*; Mine has none\. Usual fix: def "
    with pytest.raises(error, match=words) as caught:
        attend(**{what: Mine()}, engine=engine)
    assert caught.value.__cause__ is None


@pytest.mark.parametrize(
    "use",
    [lambda mask: mask.table(2, 2), lambda mask: attend(mask=~mask), lambda mask: attend(mask=hw.Causal() & mask)],
)
def test_a_mask_without_its_method_is_named_wherever_it_is_first_used(use):
    class Mine(hw.Mask):
        pass

    with pytest.raises(hw.MaskError, match=r"a mask must define sees\(grid\).*; Mine has none"):
        use(Mine())


def test_a_position_scheme_without_its_method_says_so():
    class Mine(Position):
        pass

    with pytest.raises(hw.PositionError, match=r"must define __call__\(x, positions, .*; Mine has none\. Usual fix: "):
        layer(position=Mine())


ON_META = {
    "mask": lambda: {"mask": t(5, 7, dtype=torch.bool).to("meta")},
    "Padding(keep)": lambda: {"mask": hw.Causal() & hw.Padding(t(2, 7, dtype=torch.bool).to("meta"))},
    "Documents(ids)": lambda: {"mask": hw.Documents(t(2, 7, dtype=torch.long).to("meta"))},
    "Documents(query_ids)": lambda: {
        "mask": hw.Documents(t(2, 7, dtype=torch.long), t(2, 5, dtype=torch.long).to("meta"))
    },
    "Prefix(length)": lambda: {"mask": hw.Causal() | hw.Prefix(t(2, dtype=torch.long).to("meta"))},
    "Bias(tensor)": lambda: {"score": hw.Bias(t(5, 7).to("meta"))},
    "T5Bias": lambda: {"score": hw.T5Bias(4).to("meta")},
    "Sink": lambda: {"score": hw.Sink(4).to("meta")},
    "query_positions": lambda: {"query_positions": torch.arange(5, device="meta")},
    "key_positions": lambda: {"key_positions": torch.arange(7, device="meta")},
}


@pytest.mark.parametrize("name", ON_META)
def test_a_part_that_was_left_on_meta_is_named(name):
    """A mask of a model that was made there stays there when its parameters move."""
    words = f"{name} must hold numbers; it is on the device meta, the call on cpu. Usual fix: make it after"
    check(lambda: attend(**ON_META[name]()), hw.ArgumentError, words)
    on_meta = (t(2, 4, 5, 8).to("meta"), t(2, 2, 7, 8).to("meta"), t(2, 2, 7, 8).to("meta"))
    assert attend(*on_meta, **ON_META[name]()).is_meta


def test_a_mask_of_the_classic_layout_that_was_left_on_meta_is_named():
    mask = t(5, 5, 2, dtype=torch.bool).to("meta")
    check(
        lambda: layer(t(5, 2, 12), batch_first=False, call={"mask": mask}), hw.ArgumentError, "mask must hold numbers"
    )
