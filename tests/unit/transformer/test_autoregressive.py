"""The language model: causal, positioned, cached, tied."""

import copy
from functools import partial

import pytest
import torch

from headwise.cache import KVCache
from headwise.errors import HeadwiseError
from headwise.mask.full import Full
from headwise.mask.padding import Padding
from headwise.position import Learned, Rotary, Sinusoidal
from headwise.score.alibi import Alibi
from headwise.score.softcap import Softcap
from headwise.transformer.autoregressive import AutoregressiveTransformer
from headwise.transformer.embedding import Embedding

SCHEMES = {
    "rotary": {"position": Rotary},
    "rotary, partial and interleaved": {"position": Rotary(2, interleaved=True)},
    "sinusoidal": {"position": Sinusoidal},
    "learned": {"position": partial(Learned, max_len=20)},
    "none": {"position": None},
    "alibi": {"position": None, "score": Alibi},
    "rotary, capped": {"position": Rotary, "score": Softcap(4.0)},
}
EACH = pytest.mark.parametrize("scheme", SCHEMES)


def make(scheme="rotary", **options):
    torch.manual_seed(0)
    return AutoregressiveTransformer(11, 16, 4, 2, **{**SCHEMES[scheme], **options}).double().eval()


def ids(batch=2, length=7):
    return torch.randint(0, 11, (batch, length), generator=torch.Generator().manual_seed(3))


def same(a, b):
    torch.testing.assert_close(a, b, atol=1e-11, rtol=1e-10)


@EACH
def test_a_place_sees_itself_and_what_came_before(scheme):
    model, tokens = make(scheme), ids()
    changed = tokens.clone()
    changed[:, 4] = (changed[:, 4] + 1) % 11
    before, after = model(tokens), model(changed)
    same(after[:, :4], before[:, :4])
    assert ((after - before)[:, 4:].abs().amax(-1) > 1e-9).all()


@EACH
def test_permuting_the_batch_permutes_the_logits(scheme):
    model, tokens = make(scheme), ids(3)
    same(model(tokens[[2, 0, 1]]), model(tokens)[[2, 0, 1]])


@EACH
@pytest.mark.parametrize("chunks", [(1,) * 7, (3, 1, 3), (6, 1), (2, 5)])
def test_chunks_through_a_cache_equal_one_pass(scheme, chunks):
    model, tokens, cache = make(scheme), ids(), KVCache()
    parts = [model(chunk, cache=cache) for chunk in tokens.split(chunks, dim=1)]
    same(torch.cat(parts, dim=1), model(tokens))
    assert cache.length == 7


@EACH
def test_a_prompt_padded_on_the_left_has_the_logits_that_it_has_alone(scheme):
    """P07."""
    model, prompt = make(scheme), ids(1, 4)
    tokens = torch.cat([torch.zeros(1, 3, dtype=torch.long), prompt], dim=1)
    keep = torch.tensor([[False] * 3 + [True] * 4])
    same(model(tokens, mask=Padding(keep))[:, 3:], model(prompt))


@EACH
def test_a_padded_batch_goes_on_through_a_cache_as_each_row_would_alone(scheme):
    """P07: the new tokens need no mask; the cache knows which slots are empty."""
    model, tokens, cache = make(scheme), ids(2, 7), KVCache()
    keep = torch.ones(2, 5, dtype=torch.bool)
    keep[1, :3] = False
    first = model(tokens[:, :5], mask=Padding(keep), cache=cache)
    later = [model(tokens[:, step : step + 1], cache=cache) for step in (5, 6)]
    out = torch.cat([first, *later], dim=1)
    same(out[0], model(tokens[:1])[0])
    same(out[1, 3:], model(tokens[1:, 3:])[0])


@EACH
def test_a_padding_mask_with_a_cache_has_a_column_for_each_key(scheme):
    model, tokens, cache = make(scheme), ids(2, 6), KVCache()
    keep = torch.ones(2, 6, dtype=torch.bool)
    keep[1, :2] = False
    whole = model(tokens, mask=Padding(keep))
    parts = [
        model(tokens[:, :4], mask=Padding(keep[:, :4]), cache=cache),
        model(tokens[:, 4:], mask=Padding(keep), cache=cache),
    ]
    out = torch.cat(parts, dim=1)
    same(out[0], whole[0])
    same(out[1, 2:], whole[1, 2:])


@EACH
def test_given_positions_are_used(scheme):
    model, tokens = make(scheme), ids()
    same(model(tokens, positions=torch.arange(7)), model(tokens))
    if scheme in ("sinusoidal", "learned"):
        assert not torch.allclose(model(tokens, positions=torch.arange(1, 8)), model(tokens))
    else:
        # Relative schemes see distances only.
        same(model(tokens, positions=torch.arange(5, 12)), model(tokens))


def test_tied_models_have_one_table():
    tied, untied = make(), make(tied=False)
    assert tied.generator is None
    assert not any(name.startswith("generator") for name in tied.state_dict())
    assert untied.generator.weight.shape == (11, 16)
    x = tied.encoder(tied.embedding(ids()))
    same(tied(ids()), x @ tied.embedding.weight.T)


def test_state_dict_names_are_plain_and_load_strictly():
    model = make("learned", tied=False)
    names = set(model.state_dict())
    assert {"embedding.weight", "position.weight", "generator.weight", "encoder.norm.weight"} <= names
    assert "encoder.layers.1.attention.query.linear.weight" in names
    other = make("learned", tied=False)
    other.load_state_dict(copy.deepcopy(model.state_dict()))
    assert torch.equal(other(ids()), model(ids()))


def test_dropout_acts_in_training_only():
    model, tokens = make(dropout=0.3), ids()
    assert torch.equal(model(tokens), model(tokens))
    same(model(tokens), make()(tokens))
    model.train()
    assert not torch.equal(model(tokens), model(tokens))


def test_training_and_eval_agree_without_dropout():
    model, tokens = make(), ids()
    assert torch.equal(model.train()(tokens), model.eval()(tokens))


def test_every_parameter_gets_a_gradient():
    for scheme in SCHEMES:
        model = make(scheme, tied=False, bias=True, norm="layer").train()
        torch.nn.functional.cross_entropy(model(ids()).flatten(0, 1), ids().flatten()).backward()
        assert [name for name, p in model.named_parameters() if p.grad is None] == []


def test_the_constructor_may_leave_the_model_without_a_mask():
    model, tokens = make(mask=Full()), ids()
    changed = tokens.clone()
    changed[:, -1] = (changed[:, -1] + 1) % 11
    assert not torch.allclose(model(changed)[:, 0], model(tokens)[:, 0])


def test_logits_start_near_uniform():
    torch.manual_seed(0)
    model = AutoregressiveTransformer(50, 128, 4, 4)
    loss = torch.nn.functional.cross_entropy(
        model(torch.randint(0, 50, (4, 32))).flatten(0, 1), torch.randint(0, 50, (128,))
    )
    assert abs(loss.item() - torch.tensor(50.0).log().item()) < 0.6


def test_an_embedding_of_ones_own_takes_its_place():
    embedding = Embedding(11, 16, scale=4.0)
    model = AutoregressiveTransformer(embedding, 16, 4, 1)
    assert model.embedding is embedding
    assert model(ids()).shape == (2, 7, 11)
    with pytest.raises(HeadwiseError, match=r"as wide as the model, d_model=16; got one of 8.*Embedding\(11, 16\)"):
        AutoregressiveTransformer(Embedding(11, 8), 16, 4, 1)


def test_half_precision_runs_and_stays_close():
    model, tokens = make(), ids()
    wanted = model(tokens)
    for dtype in (torch.bfloat16, torch.float16):
        out = copy.deepcopy(model).to(dtype)(tokens)
        assert out.dtype == dtype
        assert (out.double() - wanted).abs().max() < 0.05 * wanted.abs().max()


@EACH
def test_tokens_follow_the_positions_that_the_cache_holds(scheme):
    model, tokens, cache = make(scheme), ids(), KVCache()
    first = model(tokens[:, :4], positions=9, cache=cache)
    out = torch.cat([first, model(tokens[:, 4:], cache=cache)], dim=1)
    same(out, model(tokens, positions=torch.arange(9, 16)))


def test_a_step_that_fails_leaves_the_cache_as_it_was():
    model, tokens, cache = make(), ids(), KVCache()
    model(tokens[:, :3], cache=cache)
    broken = model.encoder.layers[1].attention.register_forward_pre_hook(lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        model(tokens[:, 3:5], cache=cache)
    broken.remove()
    assert cache.length == 3
    same(model(tokens[:, 3:], cache=cache), model(tokens)[:, 3:])


def test_an_empty_step_through_a_padded_cache_changes_nothing():
    model, tokens, cache = make(), ids(2, 5), KVCache()
    model(tokens, mask=Padding(torch.tensor([[True] * 5, [False] * 2 + [True] * 3])), cache=cache)
    assert model(tokens[:, :0], cache=cache).shape == (2, 0, 11)
    assert cache.length == 5
