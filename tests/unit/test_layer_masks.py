"""What the mask of a layer means, in both layouts; dropout; the weights kept."""

import pytest
import torch

import headwise as hw
from support.probe import bits


def make(d_model=12, heads=3, **options):
    return hw.MultiHeadAttention(d_model, heads, **options).double()


def tokens(length=5, batch=2, width=12):
    return torch.randn(batch, length, width, dtype=torch.float64)


def close(found, wanted, atol=1e-12):
    torch.testing.assert_close(found, wanted, atol=atol, rtol=0)


def visible_pairs(layer, *inputs, **options):
    """The pairs with weight above 0, `[B,H,I,J]`."""
    layer.keep_attention = True
    layer(*inputs, **options)
    return layer.attn > 0


def test_mask_says_for_each_sequence_whether_query_i_sees_key_j():
    mask = torch.rand(2, 5, 7) > 0.4
    seen = visible_pairs(make(), tokens(), tokens(7), mask=mask)
    assert torch.equal(seen, mask[:, None].expand(-1, 3, -1, -1))


def test_mask_of_four_axes_has_one_table_a_head():
    mask = torch.rand(2, 3, 5, 5) > 0.4
    assert torch.equal(visible_pairs(make(), tokens(), mask=mask), mask)


def test_mask_of_the_layer_and_mask_of_the_call_must_agree():
    """M06 and M07: the result is the AND, with and without gradients, in train and eval."""
    mask = torch.ones(5, 5, dtype=torch.bool)
    mask[:, 1] = False
    wanted = (mask & torch.ones(5, 5, dtype=torch.bool).tril()).expand(2, 3, 5, 5)
    for layer in (make(mask=hw.Causal()), make(mask=hw.Causal()).eval()):
        assert torch.equal(visible_pairs(layer, tokens(), mask=mask), wanted)
        x = tokens()
        alone = make(mask=hw.Causal() & mask)
        alone.load_state_dict(layer.state_dict())
        close(layer(x, mask=mask), alone(x))
        with torch.no_grad():
            close(layer(x, mask=mask), alone(x))


def test_causal_alone_suffices():
    """M06: no tensor beside it is needed."""
    assert torch.equal(visible_pairs(make(mask=hw.Causal()), tokens())[0, 0], torch.ones(5, 5, dtype=torch.bool).tril())


def test_cross_attention_is_never_causal_unless_asked():
    """M18: no mask, no hidden pair; asked for, the last query stands at the last key."""
    assert visible_pairs(make(), tokens(2), tokens(3)).all()
    assert bits(visible_pairs(make(mask=hw.Causal()), tokens(2), tokens(3)))[0, 0].tolist() == [0b011, 0b111]


def test_a_wholly_padded_sequence_gives_the_output_bias_and_leaves_the_others_alone():
    """M01: one sequence is padding only. Its row is the bias, all gradients are finite, and the good one does not notice."""
    keep = torch.tensor([[True, True, True], [False, False, False]])
    layer, x = make(4, 2), tokens(3, width=4)
    torch.nn.init.normal_(layer.output.bias)
    output = layer(x, mask=hw.Padding(keep))
    close(output[1], layer.output.bias.expand(3, 4))
    layer.zero_grad()
    output[0].sum().backward()
    found = {name: parameter.grad.clone() for name, parameter in layer.named_parameters()}
    layer.zero_grad()
    layer(x[:1]).sum().backward()
    for name, parameter in layer.named_parameters():
        close(found[name], parameter.grad)


def test_the_answer_is_the_same_in_every_mode():
    """M02 and M16: train or eval, gradients or none, weights kept or not; padded rows included, and the shape too."""
    keep = torch.tensor([[True, True, True, False, False], [False] * 5])
    layer, x = make(), tokens()
    answers = []
    for training in (True, False):
        for gradients in (True, False):
            for kept in (True, False):
                layer.train(training)
                layer.keep_attention = kept
                with torch.set_grad_enabled(gradients):
                    answers.append(layer(x, mask=hw.Padding(keep)).detach())
    assert answers[0].shape == (2, 5, 12)
    for answer in answers[1:]:
        close(answer, answers[0])


def test_a_mask_of_another_library_is_inverted_by_name():
    """M09: True = hidden there; the converter and the complement are the same."""
    layer, x = make(), tokens()
    hidden = ~torch.ones(5, 5, dtype=torch.bool).tril()
    close(layer(x, mask=hw.Dense.from_mha(hidden)), layer(x, mask=hw.Causal()))
    close(layer(x, mask=hw.Dense.from_mha(hidden)), layer(x, mask=~hidden))


def test_a_sequence_does_not_depend_on_the_masks_of_others():
    """M11: masks are [B,I,J] or [B,H,I,J]; there is no fused axis whose order could be wrong."""
    layer, x = make(heads=2, d_model=8), tokens(3, width=8)
    mask = torch.ones(2, 3, 3, dtype=torch.bool)
    mask[1, :, 1:] = False
    both = layer(x, mask=mask)
    close(both[:1], layer(x[:1], mask=mask[:1]))
    close(both[1:], layer(x[1:], mask=mask[1:]))
    with pytest.raises(hw.ShapeError, match="axis B of mask"):
        layer(x, mask=mask.repeat_interleave(2, 0))


# The classic layout.


@pytest.mark.parametrize("axes", [2, 3, 4])
def test_in_the_classic_layout_the_query_axis_comes_first(axes):
    shape = (5, 7, 2, 3)[:axes]
    mask = torch.rand(shape) > 0.4
    seen = visible_pairs(make(batch_first=False), tokens().transpose(0, 1), tokens(7).transpose(0, 1), mask=mask)
    for b, h, i, j in [(0, 0, 0, 0), (1, 2, 4, 6), (0, 1, 3, 5), (1, 0, 2, 1)]:
        assert seen[b, h, i, j] == mask[(i, j, b, h)[:axes]]
    full = mask[(..., *(None,) * (4 - axes))].expand(5, 7, 2, 3)
    assert torch.equal(seen, full.permute(2, 3, 0, 1))


@pytest.mark.parametrize("shape", [(1, 7, 2), (5, 7, 1), (1, 7, 1), (1, 7), (1, 7, 2, 1)], ids=str)
def test_in_the_classic_layout_axes_of_one_are_broadcast(shape):
    mask = torch.rand(shape) > 0.4
    seen = visible_pairs(make(batch_first=False), tokens().transpose(0, 1), tokens(7).transpose(0, 1), mask=mask)
    full = mask[(..., *(None,) * (4 - len(shape)))].expand(5, 7, 2, 3)
    assert torch.equal(seen, full.permute(2, 3, 0, 1))


def test_the_classic_layout_is_the_other_one_transposed():
    """A03: [B,I,M] by default, [I,B,M] only where it was named."""
    first, classic = make(), make(batch_first=False)
    classic.load_state_dict(first.state_dict())
    x = tokens()
    close(classic(x.transpose(0, 1)).transpose(0, 1), first(x))
    keep = torch.tensor([[True] * 5, [True] * 3 + [False] * 2])
    close(classic(x.transpose(0, 1), mask=hw.Padding(keep)).transpose(0, 1), first(x, mask=hw.Padding(keep)))


def test_the_batch_is_never_attended_over():
    """A03: with equal sizes a swapped layout would pass unseen; permuting the batch permutes the output."""
    layer, x = make(4, 2), tokens(3, 3, 4)
    order = torch.tensor([2, 0, 1])
    close(layer(x)[order], layer(x[order]))
    changed = x.clone()
    changed[1] += 1
    close(layer(changed)[[0, 2]], layer(x)[[0, 2]])


@pytest.mark.parametrize(
    ("shape", "batch_first", "rule"),
    [
        ((5, 6), True, "axis J of mask must be 5 or 1, it is 6 (this call has B=2, H=3, I=5, J=5)"),
        ((4, 5), True, "axis I of mask must be 5 or 1, it is 4"),
        ((3, 5, 5), True, "axis B of mask must be 2 or 1, it is 3"),
        ((2, 2, 5, 5), True, "axis H of mask must be 3 or 1, it is 2"),
        ((5, 6, 2), False, "axis J of mask must be 5 or 1, it is 6"),
        ((5, 5, 3), False, "axis B of mask must be 2 or 1, it is 3"),
        ((5, 5, 2, 2), False, "axis H of mask must be 3 or 1, it is 2"),
        ((5,), True, "a mask must have the axes I J, B I J or B H I J, it has 1"),
        ((5,), False, "a mask in the classic layout must have the axes I J, I J B or I J B H, it has 1"),
        ((5, 5, 2, 3, 1), False, "a mask in the classic layout must have the axes I J, I J B or I J B H, it has 5"),
    ],
    ids=str,
)
def test_a_mask_of_wrong_size_is_refused_with_all_numbers(shape, batch_first, rule):
    layer, x = make(batch_first=batch_first), tokens()
    with pytest.raises(hw.ShapeError) as caught:
        layer(x if batch_first else x.transpose(0, 1), mask=torch.ones(shape, dtype=torch.bool))
    assert rule in str(caught.value)
    assert "Usual fix: " in str(caught.value)


# Dropout, and the weights kept.


def test_dropout_acts_on_the_weights_and_rescales_the_rest():
    """D08: in training the weights of a query are dropped one by one, and what stays is divided by what stays on average."""
    layer = make(4, 1, dropout=0.5, bias=False)
    with torch.no_grad():
        layer.output.weight.copy_(torch.eye(4))
        layer.value.linear.weight.copy_(torch.eye(4))
    x = torch.eye(4, dtype=torch.float64)[None]
    layer.keep_attention = True
    # With the unit vectors as values the output is the matrix of weights itself.
    dropped = layer(x)[0]
    whole = layer.attn[0, 0]
    kept = dropped != 0
    assert 0 < kept.sum() < 16
    close(dropped[kept], 2 * whole[kept])


def test_kept_weights_are_those_before_dropout():
    """D09 and C03: rows sum to 1 in training too, and with one key the weight is 1."""
    layer = make(4, 2, dropout=0.5)
    layer.keep_attention = True
    for length in (1, 4):
        layer(tokens(length, width=4))
        close(layer.attn.sum(-1), torch.ones(2, 2, length, dtype=torch.float64), 1e-12)
        assert not layer.attn.requires_grad


def test_without_being_asked_no_weights_are_kept():
    """A04: nothing of the size of the pairs is stored."""
    layer = make()
    layer(tokens())
    assert layer.attn is None
    layer.keep_attention = True
    layer(tokens())
    assert layer.attn.shape == (2, 3, 5, 5)


def test_kept_weights_mix_the_values_to_the_output():
    """A05: whatever engine attends, one map a head, whose product with the values is what the layer returns."""
    for engine in ("reference", "sdpa", "blockwise"):
        layer, x = make(engine=engine, mask=hw.Causal(), kv_heads=1), tokens()
        layer.keep_attention = True
        output = layer(x)
        mixed = layer.attn @ layer.value(x).transpose(1, 2)
        close(layer.output(mixed.transpose(1, 2).flatten(-2)), output)


def test_evaluation_has_no_dropout():
    """D08: two calls are equal to the last bit, and equal to a layer without dropout."""
    layer, x = make(dropout=0.5).eval(), tokens()
    assert torch.equal(layer(x), layer(x))
    plain = make().eval()
    plain.load_state_dict(layer.state_dict())
    assert torch.equal(layer(x), plain(x))
    assert not torch.equal(layer.train()(x), plain(x))


def test_the_function_applies_the_dropout_it_is_given():
    """D08: 0 by default; otherwise always, since a function knows no training mode."""
    query, key = torch.randn(2, 1, 2, 3, 4)
    value = torch.randn(1, 2, 3, 4)
    assert torch.equal(hw.attention(query, key, value), hw.attention(query, key, value))
    for engine in ("reference", "sdpa", "blockwise"):
        one, two = (hw.attention(query, key, value, dropout=0.5, engine=engine) for _ in range(2))
        assert not torch.equal(one, two)
        mean = torch.stack([hw.attention(query, key, value, dropout=0.3, engine=engine) for _ in range(400)]).mean(0)
        assert (mean - hw.attention(query, key, value)).abs().max() < 0.2
