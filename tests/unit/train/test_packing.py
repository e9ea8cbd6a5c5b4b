"""Documents that are kept apart: each is read and learned as if it stood alone."""

import numpy as np
import pytest
import torch

from headwise.train.build import build_model
from headwise.train.config import ModelConfig
from headwise.train.data import NO_TARGET, TextData, aligned
from headwise.train.loss import accumulate_gradients, token_loss_sum

STARTS = np.array([0, 5, 7, 8, 20])
TOKENS = torch.arange(40) % 11


def packed(context, restart=False):
    return TextData(TOKENS, TOKENS, context, STARTS, STARTS, restart)


def model_of(position, context=12):
    shape = ModelConfig(layers=2, d_model=16, heads=2, context=context, position=position)
    return build_model(shape, vocab=11, seed=3)


def test_no_target_is_the_first_token_of_another_document():
    (batch,) = packed(12).validation_batches(rows=1, limit=1)
    hidden = (batch.targets[0] == NO_TARGET).nonzero().flatten().tolist()
    # The targets of the places 4, 6 and 7 would be the first tokens of the documents that begin at 5, 7 and 8.
    assert hidden == [4, 6, 7]
    assert batch.mask.ids[0].tolist() == [0, 0, 0, 0, 0, 1, 1, 2, 3, 3, 3, 3]
    assert batch.count == 9


def test_positions_count_from_the_beginning_of_a_document():
    (batch,) = packed(12, restart=True).validation_batches(rows=1, limit=1)
    assert batch.positions[0].tolist() == [0, 1, 2, 3, 4, 0, 1, 0, 0, 1, 2, 3]


def test_a_row_inside_of_one_document_needs_no_mask():
    data = TextData(TOKENS, TOKENS, 3, STARTS, STARTS)
    batches = list(data.validation_batches(rows=1, limit=99))
    assert [batch.mask is None for batch in batches[3:6]] == [True, True, True]
    assert batches[5].count == 3


@pytest.mark.parametrize("position", ["rotary", "learned", "sinusoidal"])
def test_packed_documents_have_the_loss_of_documents_alone(position):
    model = model_of(position)
    (batch,) = packed(12, restart=position != "rotary").validation_batches(rows=1, limit=1)
    together = token_loss_sum(model(batch.inputs, **batch.call), batch.targets)
    pieces = [aligned(TOKENS[None, begin:end]) for begin, end in ((0, 5), (5, 7), (8, 13))]
    alone = sum(token_loss_sum(model(piece.inputs), piece.targets) for piece in pieces)
    torch.testing.assert_close(together, alone)


def test_any_split_of_packed_rows_gives_the_same_update():
    """Case T01: rows with unequal numbers of targets."""
    model = model_of("learned").double()
    batch = packed(12, restart=True).batch(seed=1, step=3, rows=6)
    assert batch.mask is not None
    assert len(set((batch.targets != NO_TARGET).sum(1).tolist())) > 1
    gradients = []
    for parts in (1, 2, 3, 6):
        model.zero_grad()
        accumulate_gradients(model, batch, parts=parts)
        gradients.append(torch.cat([each.grad.flatten() for each in model.parameters()]))
    for gradient in gradients[1:]:
        torch.testing.assert_close(gradient, gradients[0])
