"""The benchmark of a training step: models of equal size that learn, and a table of what they take."""

import pytest
import torch
import torch.nn.functional as F

from headwise.bench.classic_models import ClassicModel, SequenceFirstAttention, SequenceFirstModel
from headwise.bench.language_models import FusedModel, Ours, Sizes, XTransformersModel
from headwise.bench.loading import measure_loading
from headwise.bench.train import GROUPS, document_of, make_steps, profile_of, step_of, table_of

TINY = Sizes(layers=2, width=16, heads=2, tokens=8, batch=2, vocab=11)


def parameters(model):
    return sum(each.numel() for each in model.parameters())


def test_the_models_have_equal_sizes():
    fused = parameters(FusedModel(TINY))
    assert parameters(Ours(TINY, modern=False)) == fused
    # Biases and shifts are all that the classic models have more; sinusoids are all that they have less.
    for classic in (ClassicModel(TINY), SequenceFirstModel(TINY)):
        assert parameters(classic) == pytest.approx(fused, rel=0.1)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Ours(TINY, modern=True),
        lambda: FusedModel(TINY),
        lambda: ClassicModel(TINY),
        lambda: SequenceFirstModel(TINY),
    ],
)
def test_a_step_learns(make):
    torch.manual_seed(0)
    model = make()
    before = model(TINY.rows()).item()
    step = step_of(model, TINY)
    for _ in range(20):
        step()
    assert model(TINY.rows()).item() < before


def test_ours_with_the_fused_models_weights_is_the_fused_model():
    """What is compared computes the same."""
    torch.manual_seed(0)
    fused, ours = FusedModel(TINY), Ours(TINY, modern=False)
    model = ours.model
    with torch.no_grad():
        model.embedding.weight.copy_(fused.tokens.weight)
        next(model.position.parameters()).copy_(fused.places.weight)
        model.encoder.norm.weight.copy_(fused.norm.weight)
        for layer, block in zip(model.encoder.layers, fused.blocks, strict=True):
            parts = (layer.attention.query.linear, layer.attention.key.linear, layer.attention.value.linear)
            for part, weight in zip(parts, block.inputs.weight.chunk(3), strict=True):
                part.weight.copy_(weight)
            layer.attention.output.weight.copy_(block.output.weight)
            layer.feed_forward.up.weight.copy_(block.up.weight)
            layer.feed_forward.down.weight.copy_(block.down.weight)
    torch.testing.assert_close(ours(TINY.rows()), fused(TINY.rows()))


def test_the_sequence_first_model_attends_as_the_fused_kernel_does():
    torch.manual_seed(0)
    layer = SequenceFirstAttention(TINY).eval()
    x = torch.randn(TINY.tokens, TINY.batch, TINY.width)
    query, key, value = (
        each(x).unflatten(-1, (TINY.heads, -1)).permute(1, 2, 0, 3) for each in (layer.query, layer.key, layer.value)
    )
    mixed = F.scaled_dot_product_attention(query, key, value, is_causal=True)
    expected = layer.output(mixed.permute(2, 0, 1, 3).flatten(-2))
    seen = torch.ones(TINY.tokens, TINY.tokens).tril()[:, :, None, None]
    torch.testing.assert_close(layer(x, seen), expected)


def test_the_shares_of_a_profile_are_a_whole():
    shares = profile_of(step_of(FusedModel(TINY), TINY))
    assert shares.keys() == {*GROUPS, "other"}
    assert sum(shares.values()) == pytest.approx(1)


def test_the_table_names_each_model_and_the_conditions_are_kept():
    document = document_of(TINY, rounds=1, clock="cpu", with_peers=False)
    assert document["conditions"]["width"] == 16
    text = table_of(document)
    assert {row["model"] for row in document["steps"]}.isdisjoint({"x-transformers"})
    for name in (
        "headwise, its own parts",
        "fused by hand",
        "classic",
        "classic, sequence first",
        "products and attention alone",
        "plain",
    ):
        assert f"| {name} |" in text
    assert all(row["memory"] > 0 for row in document["steps"] if row["model"] != "products and attention alone")


@pytest.mark.filterwarnings("ignore")
def test_x_transformers_takes_part_with_an_equal_size_and_learns():
    pytest.importorskip("x_transformers", reason="x-transformers is not installed")
    torch.manual_seed(0)
    model = XTransformersModel(TINY)
    # Attention is as wide as the model and positions are rotary: only biases and the gains of queries and keys may differ.
    assert parameters(model) == pytest.approx(parameters(FusedModel(TINY)) - TINY.tokens * TINY.width, rel=0.05)
    before = model(TINY.rows()).item()
    step = step_of(model, TINY)
    for _ in range(20):
        step()
    assert model(TINY.rows()).item() < before
    assert "x-transformers" in make_steps(TINY)


def test_x_transformers_is_left_out_where_it_is_not_installed(monkeypatch):
    monkeypatch.setattr("headwise.bench.train.installed", lambda name: False)
    assert "x-transformers" not in make_steps(TINY)


def test_loading_is_measured_plain_and_with_documents_apart():
    plain, apart = measure_loading(TINY, 100.0, clock="wall", tokens=500, draws=3)
    assert (plain.kind, apart.kind) == ("plain", "documents apart")
    for each in (plain, apart):
        assert each.milliseconds > 0
        assert each.share == pytest.approx(each.milliseconds / 100)
