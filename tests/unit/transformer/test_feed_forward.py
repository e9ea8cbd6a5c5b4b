"""Feed-forward networks, by name, against their formulas."""

import math

import pytest
import torch

from headwise.errors import HeadwiseError
from headwise.transformer.feed_forward import FEED_FORWARDS, FeedForward, GatedFeedForward, make_feed_forward


def gelu(x):
    return x * (1 + torch.erf(x / math.sqrt(2))) / 2


BENDS = {
    "relu": lambda x: x.clamp(min=0),
    "gelu": gelu,
    "squared_relu": lambda x: x.clamp(min=0) ** 2,
    "swiglu": lambda x: x / (1 + torch.exp(-x)),
    "geglu": gelu,
    "reglu": lambda x: x.clamp(min=0),
}


def test_every_name_has_a_formula_here():
    assert set(BENDS) == set(FEED_FORWARDS)


@pytest.mark.parametrize("name", BENDS)
@pytest.mark.parametrize("bias", [True, False])
def test_values_equal_a_hand_computation(name, bias):
    network = make_feed_forward(name, 6, 10, bias=bias).double()
    x = torch.randn(2, 5, 6, dtype=torch.float64)

    def linear(part, y):
        weight, bias_of = getattr(network, part).weight, getattr(network, part).bias
        return y @ weight.T + (0 if bias_of is None else bias_of)

    middle = BENDS[name](linear("gate", x)) * linear("up", x) if name.endswith("glu") else BENDS[name](linear("up", x))
    assert middle.shape == (2, 5, 10)
    torch.testing.assert_close(network(x), linear("down", middle), atol=1e-13, rtol=1e-12)


@pytest.mark.parametrize("name", BENDS)
def test_each_token_is_processed_alone(name):
    network, x = make_feed_forward(name, 6), torch.randn(2, 5, 6)
    changed = x.clone()
    changed[1, 3] += 1
    rows = (network(changed) != network(x)).any(-1)
    assert rows.nonzero().tolist() == [[1, 3]]


@pytest.mark.parametrize(
    ("d_model", "plain", "gated"), [(128, 512, 344), (96, 384, 256), (512, 2048, 1368), (7, 28, 24)]
)
def test_default_widths(d_model, plain, gated):
    assert make_feed_forward("gelu", d_model).width == plain
    assert make_feed_forward("swiglu", d_model).width == gated


def test_gated_and_plain_networks_have_about_as_many_parameters():
    plain, gated = (
        sum(p.numel() for p in make_feed_forward(name, 384, bias=False).parameters()) for name in ("gelu", "swiglu")
    )
    assert plain == gated


def test_dropout_is_off_in_eval():
    for kind in (FeedForward, GatedFeedForward):
        network, x = kind(6, dropout=0.5), torch.randn(2, 5, 6)
        assert not torch.equal(network(x), network(x))
        network.eval()
        assert torch.equal(network(x), network(x))


def test_state_dict_names():
    assert list(FeedForward(4).state_dict()) == ["up.weight", "up.bias", "down.weight", "down.bias"]
    assert list(GatedFeedForward(4, bias=False).state_dict()) == ["gate.weight", "up.weight", "down.weight"]


def test_a_network_may_be_a_function_of_the_width():
    assert isinstance(make_feed_forward(lambda d: torch.nn.Linear(d, d), 4), torch.nn.Linear)
    with pytest.raises(HeadwiseError, match="width must be None beside a feed_forward of your own; got width=8"):
        make_feed_forward(torch.nn.Identity, 4, 8)
    with pytest.raises(HeadwiseError, match="width must be a whole number of at least 1; got 0"):
        make_feed_forward("relu", 4, 0)
    with pytest.raises(HeadwiseError, match=r"dropout must be a number in \[0, 1\); got 2.0"):
        FeedForward(4, dropout=2.0)
    with pytest.raises(HeadwiseError, match=r"must be one of relu, gelu.*got 'swish'"):
        make_feed_forward("swish", 4)
