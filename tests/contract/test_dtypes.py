"""In each dtype an engine is at most twice as far from the truth as the plain computation in that dtype."""

import pytest
import torch

import headwise as hw
from support.compare import able, bound, copies, error, gradients, operands
from support.engines import ENGINES
from support.oracle import attend, make_pairs
from support.parts import MASKS, SCORES, Sizes, ruled

SIZES, GROUPS = Sizes(3, 4, 11, 17), 2
HALF = (torch.bfloat16, torch.float16)


@pytest.mark.usefixtures("poisoned")
@pytest.mark.parametrize("score", ["none", "alibi", "softcap"])
@pytest.mark.parametrize("mask", ["full", "causal", "causal and padding", "dense BHIJ"])
@pytest.mark.parametrize("dtype", [torch.float32, *HALF], ids=str)
@pytest.mark.parametrize("engine", ENGINES)
def test_engine_is_at_most_twice_as_far_off_as_the_plain_computation(engine, dtype, mask, score):
    given = operands(SIZES, GROUPS, dtype=dtype)
    arguments = {"mask": MASKS[mask].make(SIZES), "score": SCORES[score].make(SIZES)}
    if engine not in able(*given, **arguments):
        pytest.skip("refused, as the test of engines shows")
    rules = {"sees": ruled(MASKS[mask], SIZES), "score": ruled(SCORES[score], SIZES)}
    pairs = make_pairs(*SIZES)
    truth_of, plain_of = copies(given), copies(given, dtype)
    truth, _ = attend(*truth_of, pairs, **rules)
    plain, _ = attend(*plain_of, pairs, **rules)
    output = hw.attention(*given, engine=engine, **arguments)
    assert output.dtype == dtype
    assert error(output, truth) <= bound(error(plain, truth), truth, dtype, engine)
    found, wanted, rough = (gradients(*pair) for pair in ((given, output), (truth_of, truth), (plain_of, plain)))
    for name, one, right, near in zip(["query", "key", "value"], found, wanted, rough, strict=True):
        assert one.dtype == dtype
        assert error(one, right) <= bound(error(near, right), right, dtype, engine), name


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, *HALF], ids=str)
@pytest.mark.parametrize("engine", ENGINES)
def test_lse_is_at_least_float32(engine, dtype):
    given = operands(SIZES, GROUPS, dtype=dtype)
    if engine not in able(*given, return_lse=True):
        pytest.skip("refused")
    output, lse = hw.attention(*given, engine=engine, return_lse=True)
    assert output.dtype == dtype
    assert lse.dtype == torch.promote_types(dtype, torch.float32)
    _, truth = attend(*copies(given), make_pairs(*SIZES))
    assert error(lse, truth) <= 1e-4


@pytest.mark.parametrize("dtype", [torch.float32, *HALF], ids=str)
@pytest.mark.parametrize("engine", ENGINES)
def test_a_float32_bias_serves_every_dtype(engine, dtype):
    """D04: with and without gradients, and with the lse."""
    given = operands(SIZES, GROUPS, dtype=dtype)
    tensor = torch.randn(SIZES.queries, SIZES.keys)
    score = hw.Bias(tensor)
    truth, _ = attend(*copies(given), make_pairs(*SIZES), score=lambda s, p: s + tensor.double())
    plain, _ = attend(*given, make_pairs(*SIZES), score=lambda s, p: s + tensor.to(dtype))
    allowed = bound(error(plain, truth), truth, dtype, engine)
    for needs in (True, False):
        query, key, value = (tensor.detach().requires_grad_(needs) for tensor in given)
        found = hw.attention(query, key, value, score=score, engine=engine)
        assert found.dtype == dtype
        assert error(found, truth) <= allowed


@pytest.mark.parametrize("dtype", HALF, ids=str)
@pytest.mark.parametrize("engine", ENGINES)
def test_large_scores_do_not_overflow_half_precision(engine, dtype):
    """M13: what is hidden stays hidden, however large the scores of the others are."""
    query, key, value = operands(Sizes(1, 2, 5, 5), 2, dtype=dtype, requires_grad=False)
    output = hw.attention(query * 100, key * 100, value, mask=hw.Causal(), engine=engine)
    assert output.isfinite().all()
    torch.testing.assert_close(output[:, :, 0], value[:, :, 0])


@pytest.mark.parametrize("engine", ENGINES)
def test_autocast_gives_the_same_type_with_and_without_gradients(engine):
    """D05: the operands' own dtype comes out, inside autocast too."""
    given = operands(SIZES, GROUPS, dtype=torch.float32)
    with torch.autocast("cpu", torch.bfloat16):
        learning = hw.attention(*given, mask=hw.Causal(), engine=engine)
        with torch.no_grad():
            reading = hw.attention(*given, mask=hw.Causal(), engine=engine)
    assert learning.dtype == reading.dtype
    truth, _ = attend(*copies(given), make_pairs(*SIZES), sees=lambda p: p.j <= p.i)
    assert error(learning, truth) < 0.05
    learning.float().sum().backward()
    assert all(tensor.grad.isfinite().all() for tensor in given)
