"""Writing token by token: the same tokens with and without a cache."""

import pytest
import torch
from torch import Tensor, nn

import headwise as hw
from headwise.generation.logits import SamplingError
from headwise.generation.stream import Sampling, stream, write
from headwise.generation.window import window_start


class Counting(nn.Module):
    """Always predicts the present token plus 1, and notes how many tokens each call reads."""

    def __init__(self, vocab: int) -> None:
        super().__init__()
        self.vocab, self.read = vocab, []

    def forward(self, tokens: Tensor, *, mask: object = None, cache: object = None) -> Tensor:
        self.read.append(tokens.shape[1])
        return 100.0 * nn.functional.one_hot((tokens + 1) % self.vocab, self.vocab).float()


def transformer(position=hw.Rotary, **arguments):
    torch.manual_seed(3)
    return hw.AutoregressiveTransformer(11, 16, 2, 2, position=position, **arguments).eval()


POSITIONS = {
    "rotary": lambda: hw.Rotary,
    "learned": lambda: hw.Learned(16, 64),
    "sinusoidal": lambda: hw.Sinusoidal(16),
    "none": lambda: None,
}


@pytest.mark.parametrize("position", POSITIONS)
@pytest.mark.parametrize("temperature", [0.0, 1.0])
@pytest.mark.parametrize("context", [None, 8])
def test_the_cache_changes_no_token(position, temperature, context):
    """Case K02: identical tokens with and without the cache, for every position scheme."""
    model = transformer(POSITIONS[position]())
    prompt = torch.tensor([[1, 5, 2], [7, 7, 0]])
    how = Sampling(temperature=temperature, seed=4)
    with_cache = write(model, prompt, count=20, sampling=how, context=context)
    assert torch.equal(with_cache, write(model, prompt, count=20, sampling=how, context=context, cached=False))
    assert with_cache.shape == (2, 23)
    assert torch.equal(with_cache[:, :3], prompt)


@pytest.mark.parametrize("position", POSITIONS)
@pytest.mark.parametrize("cached", [True, False])
def test_a_prompt_padded_on_the_left_is_continued_as_alone(position, cached):
    """Case K02: with padding too."""
    model = transformer(POSITIONS[position]())
    prompt = torch.tensor([[0, 0, 4, 9], [3, 1, 2, 6]])
    keep = torch.tensor([[False, False, True, True], [True] * 4])
    together = write(model, prompt, count=9, sampling=Sampling(temperature=0.0), keep=keep, cached=cached)
    alone = write(model, prompt[:1, 2:], count=9, sampling=Sampling(temperature=0.0), cached=cached)
    assert torch.equal(together[:1, 2:], alone)


def test_a_seed_beyond_64_bits_is_refused():
    with pytest.raises(SamplingError, match="must fit into 64 bits"):
        write(Counting(4), torch.tensor([[1]]), count=1, sampling=Sampling(seed=2**64))


def test_an_end_inside_the_prompt_does_not_end_the_text():
    """Case S06: pad = eos = 2, row [2, 2, 7, 8, 9, 2, 2]."""
    written = write(
        Counting(10), torch.tensor([[2, 2, 7, 8, 9, 2, 2]]), count=3, sampling=Sampling(temperature=0.0), end=2
    )
    assert written[0, 7:].tolist() == [3, 4, 5]


def test_a_row_that_has_ended_goes_on_with_the_end():
    written = write(Counting(10), torch.tensor([[0], [4]]), count=20, sampling=Sampling(temperature=0.0), end=6)
    assert written.tolist() == [[0, 1, 2, 3, 4, 5, 6], [4, 5, 6, 6, 6, 6, 6]]


@pytest.mark.parametrize("context", [1, 2, 3, 8])
def test_the_window_never_exceeds_the_context_and_moves_by_halves(context):
    starts = [window_start(length, context) for length in range(1, 50)]
    assert all(0 < length - start <= context for length, start in zip(range(1, 50), starts, strict=True))
    assert len(set(starts)) <= 50 // max(1, context // 2)


def test_with_a_cache_the_model_reads_each_token_once():
    model = transformer()
    read = []
    model.register_forward_pre_hook(lambda module, inputs: read.append(inputs[0].shape[1]))
    write(model, torch.tensor([[1, 2, 3]]), count=7, context=8)
    assert read == [3, 1, 1, 1, 1, 1, 5]


def test_tokens_arrive_one_step_at_a_time():
    arrived = stream(Counting(10), torch.tensor([[0]]), count=3, sampling=Sampling(temperature=0.0))
    assert next(arrived).tolist() == [1]
    assert next(arrived).tolist() == [2]


def test_the_mode_of_the_model_and_its_gradients_are_as_before():
    """Case D08: nothing is dropped while the model writes, and training goes on afterwards."""
    model = transformer(dropout=0.5).train()
    first = write(model, torch.tensor([[1, 2]]), count=8, sampling=Sampling(temperature=0.0))
    assert torch.equal(first, write(model, torch.tensor([[1, 2]]), count=8, sampling=Sampling(temperature=0.0)))
    assert model.training
    assert torch.is_grad_enabled()


def test_an_empty_prompt_is_refused():
    with pytest.raises(SamplingError, match="at least one token"):
        write(Counting(10), torch.zeros(1, 0, dtype=torch.long), count=1)


def test_no_token_is_no_change():
    assert write(Counting(10), torch.tensor([[1]]), count=0).tolist() == [[1]]
