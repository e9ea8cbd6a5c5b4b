"""The default device of PyTorch is for tensors that a user makes: a call stays on the device of its tensors."""

import pytest
import torch

import headwise as hw
from support.compare import able, operands
from support.parts import MASKS, SCORES, Sizes

SIZES = Sizes(2, 2, 5, 6)


@pytest.mark.parametrize("dropout", [0.0, 0.25])
@pytest.mark.parametrize("return_lse", [False, True])
@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize("mask", ["full", "causal and padding", "documents", "dense BIJ", "function"])
def test_a_default_device_changes_nothing(mask, score, return_lse, dropout):
    arguments = {"mask": MASKS[mask].make(SIZES), "score": SCORES[score].make(SIZES)}
    arguments |= {"return_lse": return_lse, "dropout": dropout}
    given = operands(SIZES, 1)
    for engine in able(*given, **arguments):
        torch.manual_seed(0)
        wanted = hw.attention(*given, **arguments, engine=engine)
        torch.manual_seed(0)
        with torch.device("meta"):
            found = hw.attention(*given, **arguments, engine=engine)
            (found[0] if return_lse else found).sum().backward()
        for one, other in zip(found, wanted, strict=True) if return_lse else [(found, wanted)]:
            assert torch.equal(one, other)


def test_parts_that_are_made_of_numbers_are_on_the_processor():
    with torch.device("meta"):
        assert hw.Documents.from_lengths([[2, 1], [0, 3]]).ids.tolist() == [[0, 0, 1], [1, 1, 1]]
        assert str(hw.Causal().table(1, 2)).endswith("■ ■")


def test_models_with_a_cache_stay_where_they_are():
    model, tokens, cache = (
        hw.AutoregressiveTransformer(9, 12, 3, 2, score=hw.Alibi),
        torch.tensor([[1, 2, 3]]),
        hw.KVCache(),
    )
    keep = tokens > 1
    with torch.device("meta"), torch.no_grad():
        steps = [model(tokens[:, :2], mask=hw.Padding(keep[:, :2]), cache=cache), model(tokens[:, 2:], cache=cache)]
    torch.testing.assert_close(torch.cat(steps, dim=1), model(tokens, mask=hw.Padding(keep)))
