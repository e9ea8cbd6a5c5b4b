"""The loss per token, however a batch is cut."""

import pytest
import torch
from torch import Tensor, nn

from headwise.train.baselines import Baselines, bits
from headwise.train.data import NO_TARGET, Batch, aligned, padded
from headwise.train.loss import accumulate_gradients, mean_loss, token_loss_sum


class OneWeight(nn.Module):
    """Its loss for the target 1 is about w times the input, because the other logit is far above."""

    def __init__(self) -> None:
        super().__init__()
        self.w = nn.Parameter(torch.ones((), dtype=torch.float64))

    def forward(self, tokens: Tensor, *, mask: object = None) -> Tensor:
        scaled = self.w * tokens.double()
        return torch.stack([scaled + 1e4, torch.full_like(scaled, 1e4) * 0], dim=-1)


def test_each_token_weighs_the_same():
    """Case T01: the token losses w * [1, 1, 1, 1] and w * [5] have the gradient 9 / 5, not the mean of means 3."""
    batch = Batch(torch.tensor([[1, 1, 1, 1], [5, 0, 0, 0]]), torch.tensor([[1, 1, 1, 1], [1, *[NO_TARGET] * 3]]))
    for parts in (1, 2):
        model = OneWeight()
        accumulate_gradients(model, batch, parts=parts)
        assert model.w.grad.item() == pytest.approx(1.8)


def test_any_number_of_parts_gives_the_same_update(pairs):
    """Case T01: any split gives the same update."""
    torch.manual_seed(0)
    model = pairs(7).double()
    batch = padded([torch.randint(7, (length,)) for length in (3, 9, 2, 5, 8, 4)], pad=0)
    gradients, losses = [], []
    for parts in (1, 2, 3, 6):
        model.zero_grad()
        losses.append(accumulate_gradients(model, batch, parts=parts).item())
        gradients.append(torch.cat([each.grad.flatten() for each in model.parameters()]))
    for loss, gradient in zip(losses, gradients, strict=True):
        assert loss == pytest.approx(losses[0], rel=1e-6)
        torch.testing.assert_close(gradient, gradients[0])


def test_the_loss_takes_aligned_targets():
    """Case T03: nothing is shifted a second time inside the loss."""
    logits = torch.randn(1, 3, 4)
    expected = -sum(logits[0, place].log_softmax(-1)[target] for place, target in enumerate([2, 0, 3]))
    torch.testing.assert_close(token_loss_sum(logits, torch.tensor([[2, 0, 3]])), expected)


def test_half_precision_logits_are_summed_in_single_precision():
    assert (
        token_loss_sum(torch.zeros(1, 2, 3, dtype=torch.bfloat16), torch.zeros(1, 2, dtype=torch.long)).dtype
        == torch.float32
    )


def test_the_mean_loss_weighs_by_tokens_and_keeps_the_mode(pairs, data, tokenizer):
    """Case D08: no dropout in evaluation, two calls are bit-equal."""
    model = pairs(tokenizer.vocab, dropout=0.5)
    first = mean_loss(model, data.validation_batches(rows=2, limit=99))
    assert first == mean_loss(model, data.validation_batches(rows=2, limit=99))
    assert first == pytest.approx(mean_loss(model, data.validation_batches(rows=5, limit=99)), rel=1e-6)
    assert model.training


def test_a_bigram_model_knows_more_than_a_unigram_model(data, tokenizer):
    baselines = Baselines.of(data.training, data.validation_batches(rows=4, limit=99), vocab=tokenizer.vocab)
    assert 0.2 < baselines.bigram < baselines.unigram < 3.3


def test_a_character_that_the_training_text_lacks_has_a_finite_loss():
    baselines = Baselines.of(torch.tensor([0, 1, 0, 1]), [aligned(torch.tensor([[2, 2, 0]]))], vocab=3)
    assert baselines.unigram == pytest.approx(-(torch.tensor([1 / 7, 3 / 7]).log().mean().item()))
    assert 0 < baselines.bigram < 10


def test_a_bit_is_less_than_a_nat():
    assert bits(1.0) == pytest.approx(1.442695)
