import pytest
import torch
from torch import nn

import headwise as hw
from headwise import ablate
from headwise.mask.base import Mask
from headwise.recording.heads import ablation_table, head_scores, rollout, similarity
from headwise.recording.recorder import RecordingWarning
from headwise.recording.tape import RecordingError

FIRST = "encoder.layers.0.attention"


class Shifted(Mask):
    """A query sees exactly the key `back` places before it, and the first query sees itself."""

    def __init__(self, back):
        self.back = back

    def sees(self, grid):
        return (grid.distance == self.back) | ((grid.query_position < self.back) & (grid.distance == 0))


class OneLayer(nn.Module):
    def __init__(self, mask):
        super().__init__()
        self.table = nn.Embedding(9, 8)
        self.layer = hw.MultiHeadAttention(8, 2, mask=mask)

    def forward(self, tokens):
        return self.layer(self.table(tokens))


def test_a_head_that_can_only_see_the_token_before_is_a_previous_token_head():
    tokens = torch.tensor([[1, 2, 3, 4, 1, 2, 3, 4]])
    scores = head_scores(OneLayer(Shifted(1)), tokens)["layer"]
    torch.testing.assert_close(scores["previous"], torch.ones(2))
    torch.testing.assert_close(scores["duplicate"], torch.zeros(2))
    torch.testing.assert_close(scores["induction"], torch.zeros(2))


@pytest.mark.parametrize(("back", "kind"), [(4, "duplicate"), (3, "induction")])
def test_heads_that_look_back_one_period_are_named_by_where_they_look(back, kind):
    tokens = torch.tensor([[1, 2, 3, 4, 1, 2, 3, 4]])
    scores = head_scores(OneLayer(Shifted(back)), tokens)["layer"]
    torch.testing.assert_close(scores[kind], torch.ones(2))


def test_scores_do_not_depend_on_the_size_of_blocks(model, monkeypatch):
    tokens = torch.randint(5, (2, 21))
    whole = head_scores(model, tokens)
    monkeypatch.setattr("headwise.recording.recompute.BLOCK_SCORES", 64)
    monkeypatch.setattr("headwise.recording.recompute.LEAST_ROWS", 4)
    parts = head_scores(model, tokens)
    for name in whole:
        for kind, numbers in whole[name].items():
            torch.testing.assert_close(parts[name][kind], numbers)


def test_a_kind_without_a_place_to_look_at_is_left_out(model):
    assert set(head_scores(model, torch.tensor([[1, 2, 3]]))[FIRST]) == {"previous"}


def test_head_scores_leave_the_mode_of_the_model_as_it_was(model):
    model.train()
    head_scores(model, torch.randint(5, (1, 6)))
    assert model.training


@pytest.mark.parametrize("mean", [False, True])
def test_ablation_equals_a_model_whose_output_projection_ignores_the_head(model, tokens, mean):
    attention = model.get_submodule(FIRST)
    seen = {}
    handle = attention.attend.register_forward_hook(lambda module, inputs, output: seen.update(output=output))
    model(tokens)
    handle.remove()
    with ablate(model, 0, [1, -1], mean=mean):
        ablated = model(tokens)
    if not mean:
        with torch.no_grad():
            attention.output.weight.view(24, 4, 6)[:, [1, 3]] = 0
        torch.testing.assert_close(ablated, model(tokens))
    else:
        output = seen["output"].clone()
        output[:, [1, 3]] = output[:, [1, 3]].mean(2, keepdim=True)
        handle = attention.attend.register_forward_hook(lambda module, inputs, result: output)
        torch.testing.assert_close(ablated, model(tokens))
        handle.remove()


def test_ablation_ends_with_its_block_and_works_under_a_recording(model, tokens):
    plain = model(tokens)
    with hw.record(model, keep="lse"), ablate(model, FIRST, 0):
        assert not torch.equal(model(tokens), plain)
    assert torch.equal(model(tokens), plain)


def test_ablation_of_a_compiled_model_runs_it_as_written_and_says_so(model, tokens):
    compiled = torch.compile(model, backend="eager")
    plain = compiled(tokens)
    with pytest.warns(RecordingWarning, match="as it is written") as caught, ablate(compiled, 0, 1):
        found = compiled(tokens)
    assert caught[0].filename == __file__
    with ablate(model, 0, 1):
        torch.testing.assert_close(found, model(tokens))
    assert not torch.equal(found, plain)


def test_the_ablation_table_has_one_change_of_loss_for_each_head(model, tokens):
    def loss():
        return nn.functional.cross_entropy(model(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten())

    table = ablation_table(model, loss)
    assert [len(row) for row in table.values()] == [4, 4, 4]
    with ablate(model, 1, 2):
        changed = loss()
    assert table["encoder.layers.1.attention"][2] == pytest.approx((changed - loss()).item(), abs=1e-6)


def test_ablating_more_than_one_layer_is_refused(model):
    with pytest.raises(RecordingError, match="must name one layer"), ablate(model, "encoder.*", 0):
        pass


def test_rollout_rows_sum_to_one_and_nothing_comes_from_ahead(model, tokens):
    with hw.record(model) as tape:
        model(tokens)
    shares = rollout(records[0].weights for records in tape.values())
    torch.testing.assert_close(shares.sum(-1), torch.ones(2, 11))
    assert torch.equal(shares, shares.tril())


def test_rollout_of_two_layers_is_their_product():
    one, two = torch.rand(1, 3, 4, 4).softmax(-1), torch.rand(1, 3, 4, 4).softmax(-1)
    first, second = (0.5 * each.mean(1) + 0.5 * torch.eye(4) for each in (one, two))
    torch.testing.assert_close(rollout([one, two]), second @ first)


@pytest.mark.parametrize(("maps", "message"), [([], "got none"), ([torch.zeros(1, 2, 3, 4)], "square maps")])
def test_rollout_refuses_what_it_cannot_multiply(maps, message):
    with pytest.raises(RecordingError, match=message):
        rollout(maps)


def test_similarity_is_one_for_equal_maps_and_zero_for_disjoint_ones():
    here = torch.eye(4)[None, None]
    there = torch.eye(4).roll(1, 1)[None, None]
    table = similarity({"a": torch.cat([here, there], 1)}, {"a": torch.cat([here, there], 1)})
    torch.testing.assert_close(table["a"], torch.eye(2))


def test_head_scores_refuse_cross_attention():
    class Cross(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = hw.MultiHeadAttention(8, 2)

        def forward(self, tokens):
            return self.layer(torch.randn(1, 3, 8), torch.randn(1, 5, 8))

    with pytest.raises(RecordingError, match="3 queries and 5 keys"):
        head_scores(Cross(), torch.tensor([[1, 2, 3]]))
