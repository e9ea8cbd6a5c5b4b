"""
Every engine x every mask x every score x layouts: output, lse and gradients equal an oracle of the test's own.

Engines come from the registry, parts from `support.parts`: what is added there is tested here.
"""

import pytest
import torch

import headwise as hw
from support.compare import able, close, gradients, operands
from support.engines import ENGINES
from support.oracle import attend, make_pairs
from support.parts import MASKS, SCORES, Sizes, ruled

# Equal lengths, fewer and more queries than keys (empty rows), one query, a batch with one wholly padded sequence; heads
# alone, in groups, and all on one key head; values wider and narrower than keys.
LAYOUTS = [
    (Sizes(2, 4, 7, 7), 4, 6),
    (Sizes(3, 4, 5, 9), 2, 6),
    (Sizes(2, 2, 9, 5), 1, 9),
    (Sizes(1, 1, 1, 6), 1, 3),
]


def check(engine, sizes, groups, value_features, mask, score, **positions):
    query, key, value = operands(sizes, groups, value_features=value_features)
    arguments = {"mask": mask.make(sizes), "score": score.make(sizes), **positions}
    if engine not in able(query, key, value, return_lse=True, **arguments):
        with pytest.raises(hw.EngineRefused, match=f"engine '{engine}' cannot run this call: "):
            hw.attention(query, key, value, engine=engine, return_lse=True, **arguments)
        return
    pairs = make_pairs(*sizes, **positions)
    output, lse = hw.attention(query, key, value, engine=engine, return_lse=True, **arguments)
    sink = score.sink(sizes) if score.sink else None
    wanted, wanted_lse = attend(query, key, value, pairs, sees=ruled(mask, sizes), score=ruled(score, sizes), sink=sink)
    close(output, wanted, 1e-11)
    close(lse, wanted_lse, 1e-11)
    tensors = (query, key, value)
    for found, right in zip(gradients(tensors, output, lse), gradients(tensors, wanted, wanted_lse), strict=True):
        close(found, right, 1e-10)
    # Without gradients, and without lse, an engine may take another path.
    with torch.no_grad():
        close(hw.attention(query, key, value, engine=engine, **arguments), wanted, 1e-11)


# The fast suite pairs every mask with a few scores and every score with a few masks; `make test-slow` runs all pairs.
FEW_SCORES, FEW_MASKS = ("none", "function", "alibi, then softcap"), ("full", "causal and padding", "dense BHIJ")
PAIRS = [
    pytest.param(mask, score, marks=() if score in FEW_SCORES or mask in FEW_MASKS else pytest.mark.slow)
    for mask in MASKS
    for score in SCORES
]


@pytest.mark.usefixtures("poisoned")
@pytest.mark.parametrize(("mask", "score"), PAIRS)
@pytest.mark.parametrize("engine", ENGINES)
def test_engine_equals_the_oracle(engine, mask, score):
    for sizes, groups, value_features in LAYOUTS:
        check(engine, sizes, groups, value_features, MASKS[mask], SCORES[score])


POSITIONS = {
    "offsets": lambda s: {"query_positions": 3, "key_positions": 1},
    "far apart": lambda s: {"query_positions": 100_000, "key_positions": 99_996},
    "a row": lambda s: {"query_positions": torch.arange(s.queries).flip(0), "key_positions": torch.arange(s.keys) * 2},
    "a row each": lambda s: {
        "query_positions": torch.arange(s.queries) + torch.arange(s.batch)[:, None],
        "key_positions": torch.arange(s.keys) - torch.arange(s.batch)[:, None],
    },
    "queries only": lambda s: {"query_positions": torch.arange(s.queries) + 1},
}


@pytest.mark.usefixtures("poisoned")
@pytest.mark.parametrize("score", ["none", "alibi"])
@pytest.mark.parametrize("mask", ["causal", "window ahead", "not window", "causal and padding", "causal or function"])
@pytest.mark.parametrize("positions", POSITIONS)
@pytest.mark.parametrize("engine", ENGINES)
def test_engine_equals_the_oracle_wherever_tokens_stand(engine, positions, mask, score):
    for sizes, groups, value_features in LAYOUTS[1:3]:
        check(engine, sizes, groups, value_features, MASKS[mask], SCORES[score], **POSITIONS[positions](sizes))


@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize("mask", MASKS)
def test_reference_and_blockwise_run_every_part(mask, score):
    sizes = Sizes(2, 4, 7, 7)
    names = able(*operands(sizes, 2), mask=MASKS[mask].make(sizes), score=SCORES[score].make(sizes), return_lse=True)
    assert {"reference", "blockwise"} <= set(names)


@pytest.mark.parametrize("score", ["none", "alibi", "bias IJ", "bias BHIJ", "bias, one head", "t5"])
@pytest.mark.parametrize("mask", MASKS)
def test_sdpa_runs_every_mask_with_scores_that_add(mask, score):
    sizes = Sizes(2, 4, 7, 7)
    assert "sdpa" in able(*operands(sizes, 2), mask=MASKS[mask].make(sizes), score=SCORES[score].make(sizes))


def test_every_public_part_has_an_example():
    bases = (hw.Mask, hw.Score)
    public = {getattr(hw, name) for name in hw.__all__}
    parts = {part for part in public if isinstance(part, type) and issubclass(part, bases)}
    tested = {example.kind for example in (*MASKS.values(), *SCORES.values())}
    assert parts - {*bases, hw.AdditiveScore} <= tested


@pytest.mark.parametrize("mask", MASKS)
def test_facts_of_a_mask_equal_its_definition(mask):
    for sizes, _, _ in LAYOUTS:
        for positions in ({}, *(make(sizes) for make in POSITIONS.values())):
            query, key, value = operands(sizes, 1, requires_grad=False)
            from headwise.call import Call

            call = Call.of(query, key, value, mask=MASKS[mask].make(sizes), **positions)
            whole = call.mask.sees(call.grid).expand(*sizes)
            assert torch.equal(call.mask.facts().sees(call.grid).expand(*sizes), whole)
            # A block of the grid shows the same pairs as the whole.
            rows, columns = (sizes.queries // 3, sizes.queries), (1, max(1, sizes.keys - 1))
            block = call.grid.block(rows, columns)
            part = call.mask.sees(block).expand(sizes.batch, sizes.heads, rows[1] - rows[0], columns[1] - columns[0])
            assert torch.equal(part, whole[:, :, slice(*rows), slice(*columns)])
