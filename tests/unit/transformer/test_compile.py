"""Whole models under torch.compile and torch.export: one graph for every batch and every length."""

from functools import partial

import pytest
import torch
from torch._dynamo.testing import CompileCounter
from torch.export import Dim, export

from headwise.position import DynamicNTK, Learned, Rotary, Sinusoidal
from headwise.transformer.autoregressive import AutoregressiveTransformer
from headwise.transformer.encoder_decoder import EncoderDecoder
from headwise.transformer.layer import ParallelLayer, TransformerLayer

OPTIONS = [
    {},
    {"position": Sinusoidal},
    {"position": partial(Learned, max_len=64)},
    {"position": partial(Rotary, scaling=DynamicNTK(2.0, 8))},
    {"layer": partial(TransformerLayer, qk_norm="rms"), "kv_heads": 2},
    {"layer": ParallelLayer, "norm": "layer", "feed_forward": "gelu", "tied": False},
]
EACH = pytest.mark.parametrize("options", OPTIONS, ids=range(len(OPTIONS)))


def ids(batch, length):
    return torch.randint(0, 11, (batch, length))


@pytest.mark.parametrize("options", OPTIONS[:2])
def test_one_graph_serves_every_size(options):
    torch._dynamo.reset()
    model, counter = AutoregressiveTransformer(11, 16, 4, 2, **options).eval(), CompileCounter()
    compiled = torch.compile(model, backend=counter, fullgraph=True, dynamic=True)
    with torch.no_grad():
        for batch, length in [(2, 7), (3, 9), (4, 12), (2, 20)]:
            tokens = ids(batch, length)
            torch.testing.assert_close(compiled(tokens), model(tokens))
    assert counter.frame_count == 1


@pytest.mark.slow
@EACH
def test_every_kind_of_model_is_one_graph_and_trains(options):
    torch._dynamo.reset()
    model = AutoregressiveTransformer(11, 16, 4, 2, **options)
    compiled = torch.compile(model, backend="aot_eager", fullgraph=True, dynamic=True)
    for tokens in (ids(2, 7), ids(3, 12)):
        grads = []
        for run in (model, compiled):
            model.zero_grad()
            run(tokens).square().sum().backward()
            grads.append([p.grad.clone() for p in model.parameters()])
        for plain, traced in zip(*grads, strict=True):
            torch.testing.assert_close(traced, plain)


@pytest.mark.parametrize("options", [OPTIONS[0], OPTIONS[3], OPTIONS[5]], ids=["rotary", "dynamic", "parallel"])
def test_an_exported_model_runs_at_other_sizes(options):
    """X02."""
    model = AutoregressiveTransformer(11, 16, 4, 2, **options).eval()
    sizes = ({0: Dim("batch", min=1, max=64), 1: Dim("length", min=2, max=60)},)
    exported = export(model, (ids(2, 7),), dynamic_shapes=sizes).module()
    for batch, length in [(5, 33), (1, 12)]:
        tokens = ids(batch, length)
        torch.testing.assert_close(exported(tokens), model(tokens))


def test_an_encoder_with_decoder_is_exported():
    model = EncoderDecoder(11, 16, 4, 1).eval()
    batch, source, target = Dim("batch", min=1, max=64), Dim("source", min=2, max=60), Dim("target", min=2, max=60)
    exported = export(
        model, (ids(2, 7), ids(2, 5)), dynamic_shapes=({0: batch, 1: source}, {0: batch, 1: target})
    ).module()
    read, written = ids(3, 9), ids(3, 13)
    torch.testing.assert_close(exported(read, written), model(read, written))
