"""The benchmark of a training step: models of equal size that learn, and a table of what they take."""

import pytest
import torch

from headwise.bench.language_models import ClassicModel, FusedModel, Ours, Sizes
from headwise.bench.train import GROUPS, document_of, profile_of, step_of, table_of

TINY = Sizes(layers=2, width=16, heads=2, tokens=8, batch=2, vocab=11)


def parameters(model):
    return sum(each.numel() for each in model.parameters())


def test_the_models_have_equal_sizes():
    fused = parameters(FusedModel(TINY))
    assert parameters(Ours(TINY, modern=False)) == fused
    # Biases and shifts are all that the classic model has more; sinusoids are all that it has less.
    assert parameters(ClassicModel(TINY)) == pytest.approx(fused, rel=0.1)


@pytest.mark.parametrize(
    "make", [lambda: Ours(TINY, modern=True), lambda: FusedModel(TINY), lambda: ClassicModel(TINY)]
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


def test_the_shares_of_a_profile_are_a_whole():
    shares = profile_of(step_of(FusedModel(TINY), TINY))
    assert shares.keys() == {*GROUPS, "other"}
    assert sum(shares.values()) == pytest.approx(1)


def test_the_table_names_each_model_and_the_conditions_are_kept():
    document = document_of(TINY, rounds=1, clock="cpu")
    assert document["conditions"]["width"] == 16
    text = table_of(document)
    for name in ("headwise, its own parts", "fused by hand", "classic", "products and attention alone"):
        assert f"| {name} |" in text
    assert all(row["memory"] > 0 for row in document["steps"] if row["model"] != "products and attention alone")
