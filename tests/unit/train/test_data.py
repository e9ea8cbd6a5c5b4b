"""Batches: aligned once, and a function of the seed and the step."""

import pytest
import torch

from headwise.train.data import NO_TARGET, Batch, TextData, aligned, padded
from headwise.train.data_error import DataError
from headwise.train.tokenizer import CharacterTokenizer


def test_targets_are_the_next_tokens():
    """Case T03: ids 0..4 have the targets 1, 2, 3, 4."""
    batch = aligned(torch.arange(5)[None])
    assert batch.inputs.tolist() == [[0, 1, 2, 3]]
    assert batch.targets.tolist() == [[1, 2, 3, 4]]


def test_no_target_comes_from_another_row():
    """Case T03: flattening takes no target from the next row."""
    batch = aligned(torch.tensor([[0, 1, 2], [10, 11, 12]]))
    assert batch.targets.tolist() == [[1, 2], [11, 12]]


def test_the_end_is_learned_where_padding_has_the_same_token():
    """Case T08: ids [5, 6, 2, 2, 2] with pad = eos = 2 have the labels [5, 6, 2, none, none]."""
    batch = padded([torch.tensor([5, 6, 2]), torch.tensor([5, 6, 7, 8, 2])], pad=2)
    assert batch.inputs[0].tolist() == [5, 6, 2, 2]
    assert batch.targets[0].tolist() == [6, 2, NO_TARGET, NO_TARGET]
    assert batch.targets[1].tolist() == [6, 7, 8, 2]
    assert batch.count == 6


def test_a_batch_follows_from_seed_and_step(data):
    first = data.batch(seed=1, step=5, rows=4)
    assert torch.equal(first.inputs, data.batch(seed=1, step=5, rows=4).inputs)
    assert not torch.equal(first.inputs, data.batch(seed=1, step=6, rows=4).inputs)
    assert not torch.equal(data.batch(seed=0, step=1, rows=4).inputs, data.batch(seed=1, step=0, rows=4).inputs)


def test_rows_are_pieces_of_the_text(data, tokenizer, corpus):
    batch = data.batch(seed=1, step=0, rows=3)
    assert batch.inputs.shape == batch.targets.shape == (3, 16)
    for inputs, targets in zip(batch.inputs, batch.targets, strict=True):
        assert tokenizer.decode(inputs) + tokenizer.decode(targets[-1:]) in corpus.text


def test_validation_is_every_whole_row_once(data):
    batches = list(data.validation_batches(rows=3, limit=99))
    inputs = torch.cat([batch.inputs.flatten() for batch in batches])
    rows = (len(data.validation) - 1) // 16
    assert torch.equal(inputs, data.validation[: rows * 16])


def test_a_limit_spreads_the_rows_over_the_text():
    data = TextData(torch.arange(9), torch.arange(101), 10)
    batches = list(data.validation_batches(rows=2, limit=3))
    assert [batch.inputs[:, 0].tolist() for batch in batches] == [[0, 30], [60]]


def test_a_text_of_exactly_one_row_serves():
    data = TextData(torch.arange(5), torch.arange(5), 4)
    assert data.batch(seed=0, step=0, rows=2).inputs.tolist() == [[0, 1, 2, 3]] * 2
    assert [batch.targets.tolist() for batch in data.validation_batches(rows=2, limit=99)] == [[[1, 2, 3, 4]]]


def test_a_text_that_is_too_short_is_refused():
    with pytest.raises(DataError, match=r"validation text must have at least context \+ 1 = 9 tokens\. It has 6"):
        TextData.of(("abc" * 20, "abcabc"), CharacterTokenizer("abc"), context=8)


def test_of_masks_only_documents_is_cut():
    batch = Batch(torch.zeros(2, 2), torch.zeros(2, 2), mask=object())
    with pytest.raises(DataError, match="accumulate=1"):
        list(batch.parts(2))


@pytest.mark.parametrize("world", [1, 2, 3, 7])
def test_the_shares_of_all_processes_are_the_batch_of_one(data, world):
    whole = data.batch(seed=1, step=5, rows=7)
    shares = [data.batch(seed=1, step=5, rows=7, rank=rank, world=world) for rank in range(world)]
    assert torch.equal(torch.cat([share.inputs for share in shares]), whole.inputs)
    assert max(len(share.inputs) for share in shares) - min(len(share.inputs) for share in shares) <= 1


def test_a_process_without_a_row_is_refused(data):
    with pytest.raises(DataError, match="Got rank=0, world=3 and 2 rows"):
        data.batch(seed=1, step=0, rows=2, world=3)
