"""A model that sees the tokens that it is to predict is refused before the first update."""

from dataclasses import replace

import pytest
import torch
from torch import nn

import headwise as hw
from headwise.mask.documents import Documents
from headwise.train.batch import NO_TARGET, Batch, aligned
from headwise.train.config import TrainConfig
from headwise.train.data import TextData
from headwise.train.gradient import TrainingError
from headwise.train.lookahead import look_ahead
from headwise.train.loop import fit
from headwise.train.run_folder import RunFolder

CONFIG = TrainConfig(steps=2, batch=2, checkpoint_every=1)


def model_of(mask, vocab=9, **options):
    torch.manual_seed(0)
    return hw.AutoregressiveTransformer(vocab, 16, 2, 2, mask=mask, **options)


def text(rows=2, length=12):
    return aligned(torch.randint(0, 9, (rows, length), generator=torch.Generator().manual_seed(1)))


def test_fit_refuses_a_mask_that_replaces_the_causal_one(data, tokenizer):
    model = model_of(lambda b, h, i, j: (i - j).abs() < 4, tokenizer.vocab)
    before = [each.clone() for each in model.parameters()]
    with pytest.raises(
        TrainingError, match=r"must not depend on later tokens.*behind place 0.*mask=Causal\(\) & \.\.\."
    ):
        fit(model, data, CONFIG)
    assert all(torch.equal(*pair) for pair in zip(before, model.parameters(), strict=True))


def test_fit_takes_the_same_mask_joined_with_the_causal_one(data, tokenizer):
    fit(model_of(hw.Causal() & (lambda b, h, i, j: (i - j).abs() < 4), tokenizer.vocab), data, CONFIG)


def test_a_resumed_training_is_checked_too(data, tokenizer, tmp_path):
    fit(model_of(hw.Causal(), tokenizer.vocab), data, replace(CONFIG, steps=2), run=RunFolder(tmp_path))
    for each in (tmp_path / "state").glob("step-*2"):
        each.rename(tmp_path / "gone")
    with pytest.raises(TrainingError, match="must not depend on later tokens"):
        fit(model_of(hw.Full(), tokenizer.vocab), data, CONFIG, run=RunFolder(tmp_path), resume=True)


@pytest.mark.parametrize(
    "mask", [hw.Full(), hw.Window(2, 1), hw.Causal() | hw.Prefix(3), lambda b, h, i, j: j <= i + 1]
)
def test_masks_that_show_later_tokens_are_found(mask):
    assert look_ahead(model_of(mask), text()) is not None


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_a_leak_is_found_in_each_precision_and_a_causal_model_passes(precision):
    assert look_ahead(model_of(hw.Full()), text(), precision=precision) is not None
    assert look_ahead(model_of(hw.Causal()), text(), precision=precision) is None


def test_a_prefix_without_targets_passes():
    batch = text()
    targets = batch.targets.clone()
    targets[:, :2] = NO_TARGET
    assert look_ahead(model_of(hw.Causal() | hw.Prefix(3)), replace(batch, targets=targets)) is None


def test_documents_that_are_apart_are_checked_in_their_own_row():
    ids = torch.tensor([[0] + [1] * 10, [0] * 5 + [1] * 6])
    batch = text()
    targets = batch.targets.clone()
    targets[0, :] = NO_TARGET
    batch = Batch(batch.inputs, targets, Documents(ids))
    assert look_ahead(model_of(hw.Causal()), batch) is None
    assert look_ahead(model_of(hw.Full()), batch).place == 0


def test_a_mask_that_cannot_be_cut_is_used_as_it_is():
    batch = replace(text(), mask=hw.Padding(torch.ones(2, 11, dtype=torch.bool)))
    assert look_ahead(model_of(hw.Causal()), batch) is None
    assert look_ahead(model_of(hw.Full()), batch) is not None


def test_targets_that_are_not_the_next_tokens_may_be_seen_from_all_sides():
    batch = text()
    assert look_ahead(model_of(hw.Full()), Batch(batch.inputs, batch.inputs)) is None


def test_a_model_of_another_library_is_checked_too():
    class Recurrent(nn.Module):
        def __init__(self, both):
            super().__init__()
            self.table, self.cell = nn.Embedding(9, 8), nn.GRU(8, 8, batch_first=True, bidirectional=both)
            self.out = nn.Linear(16 if both else 8, 9)

        def forward(self, tokens, *, mask=None):
            return self.out(self.cell(self.table(tokens))[0])

    assert look_ahead(Recurrent(False), text()) is None
    assert look_ahead(Recurrent(True), text()) is not None


def test_broken_numbers_are_left_to_the_guard_of_the_loss():
    model = model_of(hw.Full())
    with torch.no_grad():
        model.embedding.weight.fill_(torch.nan)
    assert look_ahead(model, text()) is None


def test_a_model_that_returns_no_tensor_is_left_to_the_loss():
    class Pair(nn.Module):
        def forward(self, tokens, *, mask=None):
            return (tokens, tokens)

    assert look_ahead(Pair(), text()) is None


def test_the_check_changes_nothing_and_reads_one_row_twice():
    class Random(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner, self.shapes, self.modes = model_of(hw.Causal(), dropout=0.5), [], []

        def forward(self, tokens, *, mask=None):
            self.shapes.append(list(tokens.shape))
            self.modes.append((self.training, torch.is_grad_enabled()))
            return self.inner(tokens) + torch.rand(9)

    model = Random().train()
    state = torch.get_rng_state()
    assert look_ahead(model, text(rows=5)) is None
    assert torch.equal(torch.get_rng_state(), state)
    assert (model.shapes, model.modes) == ([[1, 11]] * 2, [(False, False)] * 2)
    assert model.training


def test_a_text_of_one_token_and_a_row_of_one_place_have_nothing_to_see():
    one = aligned(torch.zeros(2, 6, dtype=torch.long))
    assert look_ahead(model_of(hw.Full()), one) is None
    assert look_ahead(model_of(hw.Full()), text(length=2)) is None


def test_rows_of_two_places_are_checked(tokenizer):
    tokens = torch.arange(40) % 9
    data = TextData(tokens, tokens, context=2)
    with pytest.raises(TrainingError, match="must not depend on later tokens"):
        fit(model_of(hw.Full()), data, CONFIG)
