import pytest
import torch

import headwise as hw
from headwise.recording.statistics import STATISTICS

MASKS = {
    "full": None,
    "causal": hw.Causal(),
    "window": hw.Window(4, ahead=1),
    "padding": hw.Causal() & hw.Padding(torch.arange(12) >= torch.tensor([[0], [5]])),
    "documents": hw.Causal() & hw.Documents(torch.arange(12) // 5 + torch.zeros(2, 1, dtype=torch.long)),
}
SCORES = {"none": None, "alibi": hw.Alibi(4), "softcap": hw.Softcap(2.0), "function": lambda s, b, h, i, j: s - h * 0.1}


def expected(weights, first, queries):
    """The statistics by their formulas, from whole maps in float64."""
    weights = weights.double()
    slots = torch.arange(12.0, dtype=torch.float64)
    distance = slots[-queries:, None] - slots
    entropy = -torch.special.xlogy(weights, weights).sum(-1)
    return {
        "entropy": entropy,
        "max": weights.amax(-1),
        "distance": (weights * distance).sum(-1),
        "first": torch.stack([weights[b, :, :, index] for b, index in enumerate(first)]),
        "self": (weights * (distance == 0)).sum(-1),
        "effective_keys": torch.where(weights.sum(-1) > 0, entropy.exp(), 0.0),
        "key_mass": weights.sum(2),
    }


@pytest.mark.parametrize("size", [2**19, 64])
@pytest.mark.parametrize("score", list(SCORES))
@pytest.mark.parametrize("mask", list(MASKS))
@pytest.mark.parametrize("queries", [12, 3])
def test_statistics_equal_their_formulas_on_whole_maps(mask, score, queries, size, monkeypatch):
    monkeypatch.setattr("headwise.recording.recompute.BLOCK_SCORES", size)
    monkeypatch.setattr("headwise.recording.recompute.LEAST_ROWS", 2)
    torch.manual_seed(0)
    layer = hw.MultiHeadAttention(16, 4, kv_heads=2, mask=MASKS[mask], score=SCORES[score]).eval()
    x = 2 * torch.randn(2, 12, 16)
    with torch.no_grad(), hw.record(layer) as maps, hw.record(layer, keep="stats", top=3) as tape:
        layer(x[:, -queries:], x)
    weights, stats = maps[""][0].weights, tape[""][0].stats
    wanted = expected(weights, (0, 5) if mask == "padding" else (0, 0), queries)
    for name, numbers in wanted.items():
        torch.testing.assert_close(
            stats[name].double(), numbers, atol=3e-5, rtol=1e-5, msg=lambda text, n=name: f"{n}: {text}"
        )
    assert stats["top_keys"].shape == (2, 4, queries, 3)
    seen = stats["top_keys"] >= 0
    torch.testing.assert_close(
        torch.where(seen, weights.gather(-1, stats["top_keys"].clamp(min=0)), 0.0),
        weights.topk(3).values,
        atol=1e-6,
        rtol=1e-5,
    )
    assert torch.equal(seen.sum(-1), (weights > 0).sum(-1).clamp(max=3))


@pytest.mark.parametrize("name", STATISTICS)
def test_one_statistic_alone_equals_the_same_among_all(name):
    torch.manual_seed(0)
    layer = hw.MultiHeadAttention(16, 4, mask=hw.Causal(), position=hw.Rotary(4))
    keep = {"keep": name, "heads": [1, 3], "rows": slice(1, None)}
    with (
        hw.record(layer, **keep) as alone,
        hw.record(layer, keep="stats", heads=[1, 3], rows=slice(1, None)) as together,
    ):
        layer(torch.randn(2, 9, 16))
    assert set(alone[""][0].stats) == ({"top_keys", "top_weights"} if name == "top_keys" else {name})
    torch.testing.assert_close(alone[""][0].stats[name], together[""][0].stats[name], atol=1e-5, rtol=1e-5)


def test_an_even_choice_among_keys_has_their_number_as_effective_keys():
    """The probe: with equal scores each visible key has the same weight."""
    layer = hw.MultiHeadAttention(8, 1, mask=hw.Causal())
    torch.nn.init.zeros_(layer.query.linear.weight)
    with hw.record(layer, keep="stats") as tape:
        layer(torch.randn(1, 4, 8))
    stats = tape[""][0].stats
    torch.testing.assert_close(stats["effective_keys"][0, 0], torch.tensor([1.0, 2.0, 3.0, 4.0]))
    torch.testing.assert_close(stats["distance"][0, 0], torch.tensor([0.0, 0.5, 1.0, 1.5]))
    torch.testing.assert_close(stats["key_mass"][0, 0].sum(), torch.tensor(4.0))


def test_positions_given_by_the_caller_count_for_distance_and_self():
    layer = hw.MultiHeadAttention(8, 1, mask=hw.Causal())
    torch.nn.init.zeros_(layer.query.linear.weight)
    positions = torch.tensor([0, 10, 100_000_030])
    with hw.record(layer, keep=("distance", "self")) as tape:
        layer(torch.randn(1, 3, 8), positions=positions)
    stats = tape[""][0].stats
    torch.testing.assert_close(stats["distance"][0, 0], torch.tensor([0.0, 5.0, (100_000_030 + 100_000_020) / 3]))
    torch.testing.assert_close(stats["self"][0, 0], torch.tensor([1.0, 1 / 2, 1 / 3]))


@pytest.mark.parametrize("dropout", [0.0, 0.5])
@pytest.mark.parametrize("keep", ["lse", "entropy", ("lse", "weights")])
def test_lse_is_that_of_the_function(keep, dropout):
    torch.manual_seed(0)
    layer = hw.MultiHeadAttention(16, 4, mask=hw.Causal(), dropout=dropout)
    with hw.record(layer, keep=("qk", "scores")) as scores, hw.record(layer, keep=keep) as tape:
        layer(torch.randn(2, 9, 16))
    wanted = scores[""][0].scores
    if keep == "entropy":
        weights = wanted.softmax(-1)
        torch.testing.assert_close(
            tape[""][0].stats["entropy"], -torch.special.xlogy(weights, weights).sum(-1), atol=1e-5, rtol=0
        )
    else:
        torch.testing.assert_close(tape[""][0].lse, wanted.logsumexp(-1), atol=1e-5, rtol=0)


def test_statistics_of_half_precision_are_float32():
    layer = hw.MultiHeadAttention(16, 2).to(torch.bfloat16)
    with hw.record(layer, keep=("entropy", "max")) as tape:
        layer(torch.randn(1, 5, 16, dtype=torch.bfloat16))
    assert {table.dtype for table in tape[""][0].stats.values()} == {torch.float32}


def test_statistics_never_hold_a_whole_map():
    """Memory linear in the sequence: no tensor that the recording makes has a tenth of the numbers of the maps."""
    layer = hw.MultiHeadAttention(32, 8, mask=hw.Causal()).eval()
    largest = 0

    class Sizes(torch.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            nonlocal largest
            result = func(*args, **(kwargs or {}))
            if isinstance(result, torch.Tensor):
                largest = max(largest, result.untyped_storage().nbytes() // result.element_size())
            return result

    with torch.no_grad(), hw.record(layer, keep="stats"), Sizes():
        layer(torch.randn(1, 1200, 32))
    assert largest <= 8 * 1200 * 1200 / 10
