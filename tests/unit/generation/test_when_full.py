"""K07: two ways to go on when the context is full, and what each of them equals."""

import pytest
import torch

import headwise as hw
from headwise.generation.logits import SamplingError
from headwise.generation.stream import Sampling, write
from headwise.generation.window import window_start

CONTEXT, GREEDY = 16, Sampling(temperature=0)
SCHEMES = {"rotary": {"position": hw.Rotary}, "alibi": {"position": None, "score": hw.Alibi(4)}}


def model_of(scheme, **options):
    torch.manual_seed(3)
    model = hw.AutoregressiveTransformer(13, 32, 4, 2, **{**SCHEMES[scheme], **options})
    # Weights at random are nearly indifferent between tokens; larger ones decide, so that a wrong window shows.
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(2.0)
    return model.eval()


def greedy_with(model, prompt, count, mask_of):
    tokens = prompt
    for _ in range(count):
        logits = mask_of(model, tokens)
        tokens = torch.cat([tokens, logits[:, -1].argmax(-1, keepdim=True)], dim=1)
    return tokens


@pytest.mark.parametrize("scheme", ["rotary", "alibi"])
def test_evicting_equals_a_window_over_the_whole_text(scheme):
    model, prompt = model_of(scheme), torch.tensor([[1, 2, 3, 4], [5, 6, 7, 8]])
    found = write(model, prompt, count=40, sampling=GREEDY, context=CONTEXT, when_full="evict")
    windowed = greedy_with(model, prompt, 40, lambda m, tokens: m(tokens, mask=hw.Window(CONTEXT)))
    assert found.tolist() == windowed.tolist()


@pytest.mark.parametrize("scheme", ["rotary", "alibi"])
def test_recomputing_equals_reading_the_window_again(scheme):
    model, prompt = model_of(scheme), torch.tensor([[1, 2, 3, 4]])
    found = write(model, prompt, count=40, sampling=GREEDY, context=CONTEXT, when_full="recompute")
    again = greedy_with(model, prompt, 40, lambda m, tokens: m(tokens[:, window_start(tokens.shape[1], CONTEXT) :]))
    assert found.tolist() == again.tolist()


def test_from_two_layers_on_evicting_is_another_function_than_reading_the_window_again():
    model, tokens = model_of("rotary"), torch.arange(40)[None] % 13
    cache = hw.KVCache()
    for place in range(40):
        cache.evict(cache.length + 1 - CONTEXT)
        logits = model(tokens[:, place : place + 1], cache=cache)
    again = model(tokens[:, -CONTEXT:])[:, -1:]
    assert (logits - again).abs().max() > 1e-3


def test_evicting_keeps_padded_prompts_apart():
    model, long, short = model_of("rotary"), torch.tensor([[1, 2, 3, 4, 5, 6]]), torch.tensor([[9, 10, 11]])
    prompts = torch.cat([long, torch.cat([torch.zeros(1, 3, dtype=torch.long), short], dim=1)])
    keep = torch.tensor([[True] * 6, [False] * 3 + [True] * 3])
    both = write(model, prompts, count=12, sampling=GREEDY, context=CONTEXT, keep=keep, when_full="evict")
    alone = write(model, short, count=12, sampling=GREEDY, context=None)
    # Until the context is full nothing is forgotten, and the padding never counts.
    assert both[1, 6:16].tolist() == alone[0, 3:13].tolist()


def test_evicting_keeps_positions_and_the_memory_of_cross_attention():
    cache = hw.KVCache()
    own, other = cache.row("own"), cache.row("other")
    for row in (own, other):
        row.place(None, 5)
        row.append(torch.arange(5.0).view(1, 1, 5, 1), torch.zeros(1, 1, 5, 1))
    other.fixed = True
    cache.evict(2)
    assert (own.length, own.positions, own.key.flatten().tolist(), own.following(1)) == (3, 2, [2.0, 3.0, 4.0], 5)
    assert other.length == 5


def test_evicting_is_refused_where_it_means_nothing():
    learned = hw.AutoregressiveTransformer(13, 32, 4, 1, position=hw.Learned(32, CONTEXT))
    with pytest.raises(SamplingError, match="adds them to its embedding"):
        write(learned, torch.tensor([[1]]), count=2, context=CONTEXT, when_full="evict")
    with pytest.raises(SamplingError, match="'recompute' needs no cache"):
        write(model_of("rotary"), torch.tensor([[1]]), count=2, cached=False, when_full="evict")
    with pytest.raises(SamplingError, match="must be 'recompute' or 'evict'"):
        write(model_of("rotary"), torch.tensor([[1]]), count=2, when_full="roll")
