"""Whole models in other types, on other devices, copied and kept."""

import copy
import pickle

import pytest
import torch

from headwise.errors import HeadwiseError
from headwise.position import Learned, Sinusoidal
from headwise.score.t5 import T5Bias
from headwise.transformer.autoregressive import AutoregressiveTransformer
from headwise.transformer.encoder_decoder import EncoderDecoder

OPTIONS = [
    {},
    {"position": Sinusoidal},
    {"position": None, "score": T5Bias},
    {"norm": "layer", "pre_norm": False, "bias": True},
]
EACH = pytest.mark.parametrize("options", OPTIONS, ids=range(len(OPTIONS)))


def make(options):
    return AutoregressiveTransformer(11, 16, 4, 2, **options).eval(), torch.randint(0, 11, (2, 7))


@EACH
def test_copies_and_pickles_are_equal_and_apart(options):
    model, tokens = make(options)
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert torch.equal(other(tokens), model(tokens))
        with torch.no_grad():
            other.embedding.weight += 1
        assert not torch.equal(other(tokens), model(tokens))


@EACH
def test_half_precision_is_as_good_as_its_type(options):
    """The error is a few roundings of the type; a rotary table rounded to the type would cost far more at position 4000."""
    model, tokens = make(options)
    positions = torch.arange(4000, 4007)
    exact = copy.deepcopy(model).double()(tokens, positions=positions)
    for dtype in (torch.bfloat16, torch.float16):
        half = copy.deepcopy(model).to(dtype)
        rounded = copy.deepcopy(half).double()(tokens, positions=positions)
        out = half(tokens, positions=positions)
        assert out.dtype == dtype
        # The weights are rounded too; beside what that costs, the computation itself may cost 6 units in the last place.
        assert (out.double() - rounded).abs().max() <= 6 * torch.finfo(dtype).eps * exact.abs().max()


@EACH
def test_there_and_back_again_leaves_the_numbers(options):
    model, tokens = make(options)
    before = model(tokens)
    wide = model.double()(tokens)
    assert torch.equal(model.float()(tokens), before)
    torch.testing.assert_close(before.double(), wide, atol=1e-5, rtol=1e-5)


@EACH
def test_autocast_works_in_both_modes(options):
    model, tokens = make(options)
    wanted = model(tokens)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        trained, evaluated = model.train()(tokens), model.eval()(tokens)
        trained.float().sum().backward()
    assert torch.equal(trained, evaluated)
    assert (trained.float() - wanted).abs().max() <= 0.05 * wanted.abs().max()
    assert all(p.grad.dtype == torch.float32 for p in model.parameters())


@EACH
def test_models_are_built_and_run_on_the_meta_device(options):
    with torch.device("meta"):
        model = AutoregressiveTransformer(11, 16, 4, 2, **options)
        assert model(torch.zeros(2, 7, dtype=torch.long)).shape == (2, 7, 11)
    real, tokens = make(options)
    filled = model.to_empty(device="cpu").eval()
    filled.load_state_dict(real.state_dict())
    assert torch.equal(filled(tokens), real(tokens))


def test_a_model_is_called_with_weights_from_outside():
    model, tokens = make({})
    weights = dict(model.named_parameters())
    torch.testing.assert_close(torch.func.functional_call(model, weights, (tokens,)), model(tokens))


def test_empty_batches_and_texts_have_empty_logits():
    model, _ = make({})
    assert model(torch.zeros(0, 7, dtype=torch.long)).shape == (0, 7, 11)
    assert model(torch.zeros(2, 0, dtype=torch.long)).shape == (2, 0, 11)


def test_bad_arguments_get_one_clear_message():
    for options, message in [
        ({"dropout": 1.0}, r"dropout must be a number in \[0, 1\); got 1.0"),
        ({"width": 0}, "width must be a whole number of at least 1; got 0"),
        ({"position": "rotary"}, "position must be None or a scheme such as Rotary, .*; got 'rotary'"),
        ({"position": Learned(8, 10)}, "M = 8"),
        ({"kv_heads": 3}, "kv_heads must divide heads"),
    ]:
        with pytest.raises(HeadwiseError, match=message):
            AutoregressiveTransformer(11, 16, 4, 2, **options)(torch.zeros(1, 3, dtype=torch.long))
    with pytest.raises(HeadwiseError, match="vocab must be a whole number of at least 1; got 'x'"):
        AutoregressiveTransformer("x", 16, 4, 2)
    with pytest.raises(HeadwiseError, match="vocab must be a whole number of at least 1; got 0"):
        EncoderDecoder(11, 16, 4, 2, source_vocab=0)
