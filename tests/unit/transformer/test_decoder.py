"""Decoders, and encoders with decoders: cross-attention, its cache, and two toy tasks."""

import pytest
import torch
import torch.nn.functional as F

from headwise.cache import KVCache
from headwise.errors import HeadwiseError
from headwise.mask.causal import Causal
from headwise.mask.padding import Padding
from headwise.position import Rotary
from headwise.score.t5 import T5Bias
from headwise.transformer.decoder import Decoder, DecoderLayer
from headwise.transformer.encoder_decoder import EncoderDecoder
from headwise.transformer.layer import ParallelLayer


def same(a, b):
    torch.testing.assert_close(a, b, atol=1e-11, rtol=1e-10)


def decoder(**options):
    return Decoder(16, 4, 2, **options).double().eval()


def vectors(*shape):
    return torch.randn(*shape, dtype=torch.float64)


def test_a_decoder_layer_looks_at_itself_then_at_the_memory():
    layer, x, memory = DecoderLayer(16, 4, mask=Causal()).double(), vectors(2, 5, 16), vectors(2, 9, 16)
    y = x + layer.attention(layer.attention_norm(x))
    y = y + layer.cross_attention(layer.cross_attention_norm(y), memory)
    same(layer(x, memory), y + layer.feed_forward(layer.feed_forward_norm(y)))


def test_a_post_norm_decoder_normalises_each_sum():
    layer, x, memory = DecoderLayer(16, 4, pre_norm=False).double(), vectors(2, 5, 16), vectors(2, 9, 16)
    y = layer.attention_norm(x + layer.attention(x))
    y = layer.cross_attention_norm(y + layer.cross_attention(y, memory))
    same(layer(x, memory), layer.feed_forward_norm(y + layer.feed_forward(y)))


def test_a_decoder_is_causal_in_its_own_tokens_and_sees_the_whole_memory():
    model, x, memory = decoder(), vectors(2, 5, 16), vectors(2, 9, 16)
    same(model(x[:, :3], memory), model(x, memory)[:, :3])
    changed = memory.clone()
    changed[:, -1] += 1
    assert ((model(x, changed) - model(x, memory)).abs().amax(-1) > 1e-9).all()


def test_a_memory_may_have_another_width_and_padding():
    model, x, memory = decoder(context_dim=7), vectors(2, 5, 16), vectors(2, 9, 7)
    keep = torch.arange(9) < torch.tensor([[9], [4]])
    out = model(x, memory, memory_mask=Padding(keep))
    same(out[1:], model(x[1:], memory[1:, :4]))
    same(out[:1], model(x[:1], memory[:1]))


@pytest.mark.parametrize("position", [None, Rotary])
@pytest.mark.parametrize("chunks", [(1,) * 6, (2, 4), (5, 1)])
def test_chunks_through_a_cache_equal_one_pass(position, chunks):
    model, x, memory, cache = decoder(position=position), vectors(2, 6, 16), vectors(2, 9, 16), KVCache()
    parts = [model(part, memory, cache=cache) for part in x.split(chunks, dim=1)]
    same(torch.cat(parts, dim=1), model(x, memory))
    assert cache.length == 6


def test_the_keys_of_the_memory_are_projected_once():
    """K06: after three steps over a memory of 5 the cross rows hold 5, and each projection ran once."""
    model, memory, cache = decoder(), vectors(2, 5, 16), KVCache()
    calls = []
    for layer in model.layers:
        for part in (layer.cross_attention.key, layer.cross_attention.value):
            part.register_forward_hook(lambda *_: calls.append(1))
    for _ in range(3):
        model(vectors(2, 1, 16), memory, cache=cache)
    assert len(calls) == 4
    assert [cache.row((model, index, "memory")).length for index in range(2)] == [5, 5]
    assert [cache.row((model, index)).length for index in range(2)] == [3, 3]


def test_another_memory_needs_another_cache():
    model, cache = decoder(), KVCache()
    model(vectors(2, 1, 16), vectors(2, 5, 16), cache=cache)
    with pytest.raises(HeadwiseError, match="cross-attention keeps the keys of its first call"):
        model(vectors(2, 1, 16), vectors(2, 6, 16), cache=cache)


def pair(**options):
    torch.manual_seed(0)
    model = EncoderDecoder(12, 16, 4, 2, **options).double().eval()
    return model, torch.randint(0, 12, (2, 6)), torch.randint(0, 12, (2, 5))


@pytest.mark.parametrize(
    "options", [{}, {"position": Rotary, "norm": "rms", "kv_heads": 2}, {"pre_norm": False, "tied": False}]
)
def test_decoding_step_by_step_equals_one_pass(options):
    model, source, target = pair(**options)
    memory, cache = model.encode(source), KVCache()
    parts = [model.decode(step, memory, cache=cache) for step in target.split(1, dim=1)]
    same(torch.cat(parts, dim=1), model(source, target))


def test_padding_of_the_source_is_seen_by_nobody():
    model, source, target = pair()
    keep = torch.tensor([[True] * 6, [False] * 2 + [True] * 4])
    out = model(source, target, source_mask=Padding(keep))
    same(out[:1], model(source[:1], target[:1]))
    same(out[1:], model(source[1:, 2:], target[1:]))


def test_source_and_target_may_have_tables_of_their_own():
    model, _, target = pair(source_vocab=30)
    assert model.source_embedding.weight.shape == (30, 16)
    assert model(torch.full((2, 3), 29), target).shape == (2, 5, 12)
    shared, _, _ = pair()
    assert shared.source_embedding is None


def test_every_parameter_gets_a_gradient():
    model, source, target = pair(tied=False)
    F.cross_entropy(model(source, target).flatten(0, 1), target.flatten()).backward()
    assert [name for name, p in model.named_parameters() if p.grad is None] == []


@pytest.mark.parametrize("task", ["copy", "reverse"])
def test_an_encoder_decoder_learns_a_toy_task(task):
    """Six symbols are read and written again, in order or in reverse; a new text is then written without a mistake."""
    torch.manual_seed(1)
    begin, model = 8, EncoderDecoder(9, 32, 4, 1)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    answer = (lambda x: x) if task == "copy" else (lambda x: x.flip(1))
    for step in range(250):
        for group in optimizer.param_groups:
            group["lr"] = 1e-2 * min((step + 1) / 20, (250 - step) / 125, 1)
        source = torch.randint(0, 8, (32, 6))
        target = answer(source)
        inputs = torch.cat([torch.full((32, 1), begin), target[:, :-1]], dim=1)
        loss = F.cross_entropy(model(source, inputs).flatten(0, 1), target.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    model.eval()
    source, cache, written = torch.randint(0, 8, (16, 6)), KVCache(), [torch.full((16, 1), begin)]
    with torch.no_grad():
        memory = model.encode(source)
        for _ in range(6):
            written.append(model.decode(written[-1], memory, cache=cache).argmax(-1))
    assert torch.equal(torch.cat(written[1:], dim=1), answer(source))


def test_a_score_acts_in_both_stacks_and_not_between_them():
    """Both parts are built once for each layer of each stack."""
    torch.manual_seed(0)
    model = EncoderDecoder(9, 16, 4, 2, score=T5Bias, position=None).double().eval()
    source, target = torch.tensor([[1, 2, 3, 4, 5]]), torch.tensor([[6, 7, 8]])
    before = model(source, target)
    tables = [part for part in model.modules() if isinstance(part, T5Bias)]
    assert len(tables) == 4
    for stack in (model.encoder, model.decoder):
        for part in stack.modules():
            if isinstance(part, T5Bias):
                torch.nn.init.normal_(part.table)
        after = model(source, target)
        assert (after - before).abs().max() > 1e-6
        before = after
    cache, memory = KVCache(), model.encode(source)
    same(torch.cat([model.decode(step, memory, cache=cache) for step in target.split(1, dim=1)], dim=1), before)


def test_the_layers_of_both_stacks_can_be_chosen():
    class Mine(DecoderLayer):
        pass

    model = EncoderDecoder(9, 16, 4, 2, layer=(ParallelLayer, [DecoderLayer, Mine]))
    assert [type(layer) for layer in model.encoder.layers] == [ParallelLayer, ParallelLayer]
    assert [type(layer) for layer in model.decoder.layers] == [DecoderLayer, Mine]
    assert model(torch.tensor([[1, 2]]), torch.tensor([[3, 4, 5]])).shape == (1, 3, 9)


@pytest.mark.parametrize("layer", [ParallelLayer, None, (ParallelLayer,), [ParallelLayer, DecoderLayer]])
def test_layers_of_one_stack_alone_are_refused(layer):
    with pytest.raises(HeadwiseError, match=r"layer must be a pair.*Usual fix: layer=\(SandwichLayer, DecoderLayer\)"):
        EncoderDecoder(9, 16, 4, 2, layer=layer)
