"""A scale may be negative, or 0: every engine then gives what the definition gives."""

import pytest
import torch

import headwise as hw
from support.compare import able, close, gradients, operands
from support.parts import MASKS, SCORES, Sizes

SIZES = Sizes(2, 2, 5, 5)


@pytest.mark.parametrize("return_lse", [False, True])
@pytest.mark.parametrize("scale", [-0.7, 0.0, 0, -2])
@pytest.mark.parametrize("score", ["none", "alibi", "softcap", "sink", "bias BHIJ", "function"])
@pytest.mark.parametrize("mask", ["full", "causal", "window", "documents", "causal and padding"])
def test_a_scale_that_is_not_above_0_means_what_it_says(mask, score, scale, return_lse):
    """A kernel that hides pairs before it scales them makes NaN of them."""
    arguments = {"mask": MASKS[mask].make(SIZES), "score": SCORES[score].make(SIZES)}
    arguments |= {"scale": scale, "return_lse": return_lse}
    given = operands(SIZES, 1)

    def results(engine):
        result = hw.attention(*given, **arguments, engine=engine)
        output, lse = result if return_lse else (result, None)
        return [output, *gradients(given, output, lse)] + ([lse] if return_lse else [])

    wanted = results("reference")
    assert all(not each.isnan().any() for each in wanted)
    for engine in {"auto", *able(*given, **arguments)} - {"reference"}:
        for one, other in zip(results(engine), wanted, strict=True):
            close(one, other, 1e-10)


def test_a_broken_query_shows_at_every_scale():
    query, key, value = torch.randn(3, 1, 2, 5, 4)
    query[0, 0, 2] = torch.nan
    for scale in (-1.0, 0.0):
        for engine in ("auto", "sdpa", "blockwise", "reference"):
            output = hw.attention(query, key, value, mask=hw.Causal(), scale=scale, engine=engine)
            assert output[0, 0].isnan().any(-1).tolist() == [False, False, True, False, False]
