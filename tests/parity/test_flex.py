"""Programs written for PyTorch's FlexAttention run unchanged: forward equals its eager form, gradients a dense float64 evaluation."""

import pytest
import torch
from torch.nn.attention.flex_attention import AuxRequest, create_block_mask, flex_attention

import headwise as hw
from parity.flex_programs import PROGRAMS, Sizes

pytestmark = pytest.mark.filterwarnings("ignore:flex_attention called without torch.compile")

SQUARE = Sizes(2, 4, 4, 17, 17)
GROUPED = Sizes(2, 4, 2, 17, 17)
UNEQUAL = Sizes(1, 2, 1, 6, 16)


def operands(s, dtype=torch.float32, requires_grad=False):
    shapes = ((s.batch, s.heads, s.queries, 8), (s.batch, s.groups, s.keys, 8), (s.batch, s.groups, s.keys, 8))
    return tuple(torch.randn(shape, dtype=dtype).requires_grad_(requires_grad) for shape in shapes)


def block_mask(program, s, size=4):
    if program.mask_mod is None:
        return None
    return create_block_mask(program.mask_mod, s.batch, s.heads, s.queries, s.keys, device="cpu", BLOCK_SIZE=size)


def by_flex(query, key, value, program, s):
    mask = block_mask(program, s)
    aux = AuxRequest(lse=True)
    with torch.no_grad():
        output, extra = flex_attention(query, key, value, program.score_mod, mask, enable_gqa=True, return_aux=aux)
    return output, extra.lse


def by_hand(query, key, value, program, s):
    """Each function asked for each pair by nested vmap, in the dtype of the operands, without any code of the library."""
    group = s.heads // s.groups
    key, value = key.repeat_interleave(group, 1), value.repeat_interleave(group, 1)
    scores = query @ key.mT / query.shape[-1] ** 0.5
    places = [torch.arange(size) for size in (s.batch, s.heads, s.queries, s.keys)]
    along = [tuple(0 if axis == k else None for k in range(4)) for axis in (3, 2, 1, 0)]
    if program.score_mod is not None:
        change = program.score_mod
        for axes in along:
            change = torch.vmap(change, in_dims=(0, *axes))
        scores = change(scores, *places)
    visible = torch.ones_like(scores, dtype=torch.bool)
    if program.mask_mod is not None:
        sees = program.mask_mod
        for axes in along:
            sees = torch.vmap(sees, in_dims=axes)
        visible = sees(*places).expand_as(scores)
    hidden = torch.where(visible, scores, torch.finfo(scores.dtype).min)
    return torch.where(visible, hidden.softmax(-1), 0.0) @ value


def programs(s, dtype=torch.float32):
    return {name: make(s, dtype) for name, make in PROGRAMS.items()}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("s", [GROUPED, pytest.param(SQUARE, marks=pytest.mark.slow)], ids=["groups", "heads"])
def test_program_gives_what_eager_flex_attention_gives(name, s):
    program = PROGRAMS[name](s, torch.float32)
    arrays = operands(s)
    wanted, wanted_lse = by_flex(*arrays, program, s)
    for mask in (program.mask_mod, block_mask(program, s)):
        found, lse = hw.attention(*arrays, mask=mask, score=program.score_mod, return_lse=True)
        torch.testing.assert_close(found, wanted, atol=2e-6, rtol=1e-5)
        torch.testing.assert_close(lse, wanted_lse, atol=2e-6, rtol=1e-5)


@pytest.mark.parametrize("engine", ["reference", "blockwise"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_gradients_equal_a_dense_float64_evaluation(name, engine):
    """A10, A11: for query, key, value and every captured tensor."""
    program = PROGRAMS[name](GROUPED, torch.float64)
    arrays = operands(GROUPED, torch.float64, requires_grad=True)
    inputs = (*arrays, *program.learned)
    wanted = by_hand(*arrays, program, GROUPED)
    found = hw.attention(*arrays, mask=program.mask_mod, score=program.score_mod, engine=engine)
    torch.testing.assert_close(found, wanted, atol=1e-12, rtol=0)
    gradients = torch.autograd.grad(found.sin().sum(), inputs)
    for one, other in zip(gradients, torch.autograd.grad(wanted.sin().sum(), inputs), strict=True):
        torch.testing.assert_close(one, other, atol=1e-11, rtol=0)


# Rules that look up a table of keys by the row of a query make sense for rows alone.
FAST = ("causal", "alibi", "jagged_documents", "relative_position_bias", "checkerboard")
BY_ROW = [
    name if name in FAST else pytest.param(name, marks=pytest.mark.slow)
    for name in PROGRAMS
    if name != "tree_of_drafts"
]


@pytest.mark.parametrize("name", BY_ROW)
def test_wrapped_in_flex_programs_keep_their_indices_where_lengths_differ(name):
    program = PROGRAMS[name](UNEQUAL, torch.float32)
    arrays = operands(UNEQUAL)
    wanted, wanted_lse = by_flex(*arrays, program, UNEQUAL)
    score = None if program.score_mod is None else hw.flex(program.score_mod)
    for mask in (None if program.mask_mod is None else hw.flex(program.mask_mod), block_mask(program, UNEQUAL)):
        found, lse = hw.attention(*arrays, mask=mask, score=score, return_lse=True)
        torch.testing.assert_close(found, wanted, atol=2e-6, rtol=1e-5)
        torch.testing.assert_close(lse, wanted_lse, atol=2e-6, rtol=1e-5)


def test_a_bare_function_gets_slots_and_flex_gives_rows():
    query, key = torch.zeros(1, 1, 2, 4), torch.zeros(1, 1, 5, 4)
    value = (2.0 ** torch.arange(5)).view(1, 1, 5, 1)
    causal = PROGRAMS["causal"](UNEQUAL, torch.float32).mask_mod
    slots = hw.attention(query, key, value, mask=causal)
    rows = hw.attention(query, key, value, mask=hw.flex(causal))
    assert slots.flatten().tolist() == pytest.approx([15 / 4, 31 / 5])
    assert rows.flatten().tolist() == pytest.approx([1.0, 1.5])


def test_programs_train_in_a_layer():
    """A layer takes them as they are, and a captured tensor gets its gradient."""
    s = Sizes(2, 4, 4, 11, 11)
    program = PROGRAMS["relative_position_bias"](s, torch.float32)
    layer = hw.MultiHeadAttention(
        32, 4, mask=PROGRAMS["sliding_window"](s, torch.float32).mask_mod, score=program.score_mod
    )
    layer(torch.randn(2, 11, 32)).square().sum().backward()
    (bias,) = program.learned
    assert bias.grad is not None and bias.grad.abs().sum() > 0


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_is_as_near_as_eager_flex_attention(dtype):
    program = PROGRAMS["alibi"](SQUARE, dtype)
    arrays = operands(SQUARE, dtype)
    truth = by_hand(*(x.double() for x in arrays), program, SQUARE)
    wanted, _ = by_flex(*arrays, program, SQUARE)
    found = hw.attention(*arrays, mask=program.mask_mod, score=program.score_mod)
    error, plain = ((x.double() - truth).abs().max() for x in (found, wanted))
    assert found.dtype == dtype and error <= 2 * plain + torch.finfo(dtype).eps


def test_flex_marks_functions_only():
    with pytest.raises(hw.ArgumentError, match=r"flex\(function\) needs a mask_mod or a score_mod; got BlockMask"):
        hw.flex(block_mask(PROGRAMS["causal"](SQUARE, torch.float32), SQUARE))
