"""A layer and a model taken over from PyTorch give the same numbers, in every mode and layout."""

import copy

import pytest
import torch
from torch import nn

import headwise as hw

OPTIONS = [
    {},
    {"bias": False},
    {"batch_first": False},
    {"kdim": 10, "vdim": 10},
    {"kdim": 10, "vdim": 10, "bias": False, "batch_first": False},
    {"dtype": torch.float64},
]


def make(embed_dim=16, heads=4, **options):
    module = nn.MultiheadAttention(embed_dim, heads, **{"batch_first": True, **options})
    for parameter in module.parameters():
        if parameter.dim() == 1:
            nn.init.normal_(parameter)
    return module


def inputs(module, batch=3, queries=5, keys=7):
    shapes = [(batch, queries, module.embed_dim), (batch, keys, module.kdim), (batch, keys, module.vdim)]
    dtype = module.out_proj.weight.dtype
    return [
        torch.randn(shape if module.batch_first else (shape[1], shape[0], shape[2]), dtype=dtype) for shape in shapes
    ]


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("options", OPTIONS)
def test_layer_gives_the_numbers_of_the_module(options, training):
    module = make(**options).train(training)
    layer = hw.MultiHeadAttention.from_torch(module)
    assert layer.training is training and layer.batch_first is module.batch_first
    query, key, value = inputs(module)
    wanted, weights = module(query, key, value, average_attn_weights=False)
    layer.keep_attention = True
    torch.testing.assert_close(layer(query, key, value), wanted, atol=1e-6, rtol=0)
    torch.testing.assert_close(layer.attn.to(weights.dtype), weights, atol=1e-6, rtol=0)


def test_layer_gives_the_numbers_of_the_module_under_a_causal_mask():
    """M09: the polarity turns, the numbers do not."""
    module = make()
    layer = hw.MultiHeadAttention.from_torch(module)
    x = torch.randn(2, 6, 16)
    hidden = torch.ones(6, 6).triu(1).bool()
    wanted, _ = module(x, x, x, attn_mask=hidden)
    for mask in (hw.Causal(), hw.Dense.from_mha(hidden), ~hidden):
        torch.testing.assert_close(layer(x, mask=mask), wanted, atol=1e-6, rtol=0)


def test_gradients_of_the_weights_are_those_of_the_module():
    module = make(dtype=torch.float64)
    layer = hw.MultiHeadAttention.from_torch(module)
    x = torch.randn(2, 6, 16, dtype=torch.float64)
    module(x, x, x, need_weights=False)[0].sin().sum().backward()
    layer(x).sin().sum().backward()
    packed = torch.cat([part.linear.weight.grad for part in (layer.query, layer.key, layer.value)])
    torch.testing.assert_close(packed, module.in_proj_weight.grad)
    torch.testing.assert_close(layer.output.weight.grad, module.out_proj.weight.grad)


def test_weights_are_copies_and_keep_whether_they_learn():
    module = make()
    module.in_proj_weight.requires_grad_(False)
    layer = hw.MultiHeadAttention.from_torch(module)
    assert not layer.query.linear.weight.requires_grad and layer.output.weight.requires_grad
    before = layer.query.linear.weight.clone()
    with torch.no_grad():
        module.in_proj_weight.zero_()
    assert torch.equal(layer.query.linear.weight, before)


def test_taking_over_a_layer_draws_no_random_numbers():
    module = make()
    before = torch.get_rng_state()
    hw.MultiHeadAttention.from_torch(module)
    assert torch.equal(torch.get_rng_state(), before)


def test_a_subclass_takes_over_weights_too():
    class Scaled(hw.MultiHeadAttention):
        def get_scores(self, query, key, query_positions, key_positions):
            return 2 * super().get_scores(query, key, query_positions, key_positions)

    assert type(Scaled.from_torch(make())) is Scaled


class Subclass(nn.MultiheadAttention):
    pass


def hooked():
    module = make()
    module.register_forward_hook(lambda *_: None)
    return module


@pytest.mark.parametrize(
    ("module", "reason"),
    [
        (lambda: make(add_bias_kv=True), "add_bias_kv=True adds a learned key and value"),
        (lambda: make(add_zero_attn=True), "add_zero_attn=True adds a key and value of zeros"),
        (lambda: make(kdim=10, vdim=12), "keys and values have two widths, kdim=10 and vdim=12"),
        (lambda: Subclass(16, 4), "it is a subclass, Subclass, which may compute something else"),
        (hooked, "it has hooks, which would be lost"),
    ],
)
def test_options_that_do_not_exist_here_are_refused(module, reason):
    module = module()
    with pytest.raises(hw.ArgumentError, match=f"must use options that exist here; {reason}. Usual fix"):
        hw.MultiHeadAttention.from_torch(module)
    model = nn.ModuleDict({"first": make(), "second": module})
    with pytest.raises(hw.ArgumentError, match=f"second: a torch.nn.MultiheadAttention.*{reason}"):
        hw.from_torch(model)
    assert isinstance(model["first"], nn.MultiheadAttention)


def test_what_is_no_module_of_pytorch_is_refused():
    with pytest.raises(hw.ArgumentError, match=r"needs a torch\.nn\.MultiheadAttention; got Linear"):
        hw.MultiHeadAttention.from_torch(nn.Linear(2, 2))
    with pytest.raises(
        hw.ArgumentError, match=r"needs a model with a torch\.nn\.MultiheadAttention in it; Linear has none"
    ):
        hw.from_torch(nn.Linear(2, 2))


MASKS = {
    "none": dict,
    "bool attn_mask": lambda: {"attn_mask": torch.rand(5, 7) > 0.7},
    "bool for each head": lambda: {"attn_mask": torch.rand(3 * 4, 5, 7) > 0.7},
    "float attn_mask": lambda: {"attn_mask": torch.randn(5, 7)},
    "float for each head": lambda: {
        "attn_mask": torch.randn(12, 5, 7).masked_fill(torch.rand(12, 5, 7) > 0.8, -torch.inf)
    },
    "0 and -inf": lambda: {"attn_mask": torch.zeros(5, 7).masked_fill(torch.rand(5, 7) > 0.7, -torch.inf)},
    "padding": lambda: {"key_padding_mask": torch.arange(7) >= torch.tensor([[7], [3], [5]])},
    "float padding": lambda: {"key_padding_mask": torch.zeros(3, 7).masked_fill(torch.arange(7) > 3, -torch.inf)},
    "numbers as padding": lambda: {"key_padding_mask": torch.randn(3, 7)},
    "both": lambda: {
        "attn_mask": torch.randn(5, 7),
        "key_padding_mask": torch.zeros(3, 7).masked_fill(torch.arange(7) > 4, -torch.inf),
    },
}


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("options", [{}, {"batch_first": False}, {"kdim": 10, "vdim": 10}])
@pytest.mark.parametrize("mask", MASKS)
def test_replacement_is_called_as_the_module_was(mask, options, training):
    module = make(**options).train(training)
    replacement = hw.from_torch(module)
    arrays, masks = inputs(module), MASKS[mask]()
    for need_weights, average in ((True, True), (True, False), (False, True)):
        keywords = {"need_weights": need_weights, "average_attn_weights": average, **masks}
        wanted, wanted_weights = module(*arrays, **keywords)
        found, weights = replacement(*arrays, **keywords)
        torch.testing.assert_close(found, wanted, atol=1e-6, rtol=0)
        if not need_weights:
            assert weights is None
            continue
        torch.testing.assert_close(weights, wanted_weights, atol=1e-6, rtol=0)


def test_replacement_takes_a_single_sequence():
    module = make().eval()
    query, key = torch.randn(5, 16), torch.randn(7, 16)
    found = hw.from_torch(module)(query, key, key, key_padding_mask=torch.arange(7) > 4)
    for one, other in zip(found, module(query, key, key, key_padding_mask=torch.arange(7) > 4), strict=True):
        torch.testing.assert_close(one, other, atol=1e-6, rtol=0)


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("need_weights", [True, False])
@pytest.mark.parametrize("gradient", [True, False])
def test_a_padded_sequence_is_0_before_the_output_projection_in_every_mode(training, need_weights, gradient):
    """M01, M02."""
    replacement = hw.from_torch(make(4, 2)).train(training)
    x, padding = torch.randn(2, 3, 4), torch.tensor([[False] * 3, [True] * 3])
    with torch.set_grad_enabled(gradient):
        found, _ = replacement(x, x, x, key_padding_mask=padding, need_weights=need_weights)
    torch.testing.assert_close(found[1], replacement.out_proj.bias.expand(3, 4))
    if gradient:
        found[0].sum().backward()
        alone, _ = replacement(x[:1], x[:1], x[:1], need_weights=False)
        weight = replacement.layer.query.linear.weight
        (wanted,) = torch.autograd.grad(alone.sum(), weight)
        torch.testing.assert_close(weight.grad, wanted)


@pytest.mark.parametrize("need_weights", [True, False])
def test_is_causal_joins_a_wrong_mask(need_weights):
    """M06."""
    replacement = hw.from_torch(make().eval())
    x = torch.randn(1, 5, 16)
    nothing_hidden = torch.zeros(5, 5, dtype=torch.bool)
    wanted = replacement.layer(x, mask=hw.Causal())
    for keywords in ({}, {"attn_mask": nothing_hidden}):
        found, _ = replacement(x, x, x, is_causal=True, need_weights=need_weights, **keywords)
        torch.testing.assert_close(found, wanted)


def test_returned_weights_are_before_dropout():
    """D09."""
    replacement = hw.from_torch(make(dropout=0.5)).train()
    x = torch.randn(2, 5, 16)
    _, weights = replacement(x, x, x, average_attn_weights=False)
    torch.testing.assert_close(weights.sum(-1), torch.ones(2, 4, 5))


def test_a_learned_float_mask_gets_its_gradient():
    module = make(dtype=torch.float64)
    x = torch.randn(2, 5, 16, dtype=torch.float64)
    mask = torch.zeros(5, 5, dtype=torch.float64, requires_grad=True)
    (wanted,) = torch.autograd.grad(module(x, x, x, attn_mask=mask)[0].sin().sum(), mask)
    (found,) = torch.autograd.grad(hw.from_torch(module)(x, x, x, attn_mask=mask)[0].sin().sum(), mask)
    torch.testing.assert_close(found, wanted)


@pytest.mark.parametrize(
    ("masks", "message"),
    [
        (
            {"attn_mask": torch.zeros(5, 7, dtype=torch.long)},
            r"attn_mask must be bool, True = hidden, or float.*got torch\.int64",
        ),
        ({"attn_mask": torch.zeros(7, 5, 7) > 0}, r"attn_mask must have the axes I J or B\*H I J"),
        ({"key_padding_mask": torch.zeros(3, 1, 7) > 0}, r"key_padding_mask must have the axes B J"),
        ({"key_padding_mask": torch.zeros(3, 6) > 0}, r"Padding\(keep\) must be \[B J\] with B=3, J=7"),
        ({"attn_mask": torch.zeros(5, 6) > 0}, r"axis J of mask must be 7 or 1, it is 6"),
    ],
)
def test_masks_that_do_not_fit_are_refused(masks, message):
    module = make()
    with pytest.raises(hw.HeadwiseError, match=message):
        hw.from_torch(module)(*inputs(module), **masks)


def encoder(**options):
    layer = nn.TransformerEncoderLayer(16, 4, 32, dropout=0.0, batch_first=True, **options)
    return nn.TransformerEncoder(layer, 2, enable_nested_tensor="norm_first" not in options)


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("gradient", [True, False])
@pytest.mark.parametrize("options", [{}, {"norm_first": True}])
@pytest.mark.parametrize("masks", ["none", "causal", "padding"])
def test_encoder_goes_on_working(masks, options, gradient, training):
    model = encoder(**options).train(training)
    replaced = hw.from_torch(copy.deepcopy(model))
    assert not any(isinstance(module, nn.MultiheadAttention) for module in replaced.modules())
    x, keep = torch.randn(2, 6, 16), torch.tensor([[True] * 6, [True] * 4 + [False] * 2])
    keywords = {
        "none": {},
        "causal": {"mask": nn.Transformer.generate_square_subsequent_mask(6), "is_causal": True},
        "padding": {"src_key_padding_mask": ~keep},
    }[masks]
    with torch.set_grad_enabled(gradient):
        found, wanted = replaced(x, **keywords), model(x, **keywords)
    rows = keep if masks == "padding" else torch.ones_like(keep)
    torch.testing.assert_close(found[rows], wanted[rows], atol=2e-6, rtol=0)


def test_replaced_encoder_gives_one_answer_in_every_mode():
    """M16: no padded row is cut off or zeroed on the way."""
    model = hw.from_torch(encoder())
    x, padding = torch.randn(2, 5, 16), torch.tensor([[False] * 4 + [True], [False] * 2 + [True] * 3])
    trained = model.train()(x, src_key_padding_mask=padding)
    with torch.no_grad():
        inferred = model.eval()(x, src_key_padding_mask=padding)
    assert trained.shape == inferred.shape == (2, 5, 16)
    torch.testing.assert_close(trained, inferred)


def test_replaced_encoder_runs_under_autocast_in_eval():
    """D05."""
    model = hw.from_torch(encoder()).eval()
    with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
        assert model(torch.randn(2, 5, 16)).isfinite().all()


def test_whole_transformer_goes_on_working():
    model = nn.Transformer(16, 4, 2, 2, 32, dropout=0.0, batch_first=True).eval()
    replaced = hw.from_torch(copy.deepcopy(model))
    source, target = torch.randn(2, 7, 16), torch.randn(2, 5, 16)
    mask = nn.Transformer.generate_square_subsequent_mask(5)
    torch.testing.assert_close(
        replaced(source, target, tgt_mask=mask), model(source, target, tgt_mask=mask), atol=5e-6, rtol=0
    )
    assert all("in_proj" not in name for name in replaced.state_dict())


def test_a_module_used_twice_stays_one():
    shared = make()
    model = hw.from_torch(nn.ModuleDict({"a": shared, "b": shared}))
    assert model["a"] is model["b"]


def test_replaced_model_is_recorded():
    model = hw.from_torch(encoder()).eval()
    with hw.record(model) as tape:
        model(torch.randn(2, 5, 16))
    assert len(tape) == 2
    for records in tape.values():
        torch.testing.assert_close(records[0].weights.sum(-1), torch.ones(2, 4, 5))


def test_a_refusal_names_a_sink_only_for_places_that_take_weight():
    with pytest.raises(hw.ArgumentError, match=r"Usual fix: score=Sink\(heads\)"):
        hw.MultiHeadAttention.from_torch(make(add_zero_attn=True))
    with pytest.raises(hw.ArgumentError, match=r"vdim=12. Usual fix: leave this module as it is"):
        hw.MultiHeadAttention.from_torch(make(kdim=10, vdim=12))
