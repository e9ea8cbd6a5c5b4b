"""The engine blockwise as an operator, outside of any graph: rules are written down and read again, numbers and gradients stay."""

import pytest
import torch

import headwise as hw
from headwise.call import Call
from headwise.engines.operator import run_in_graph, write_call
from headwise.engines.written import Written, read, write
from support.compare import close, gradients, operands
from support.parts import MASKS, SCORES, Sizes

SIZES = Sizes(3, 4, 5, 9)
# What holds a function cannot be written.
FREE_MASKS = {"function", "causal or function", "block mask"}
WRITTEN_MASKS = [name for name in MASKS if name not in FREE_MASKS]
WRITTEN_SCORES = [name for name in SCORES if name != "function"]


def by_operator(call):
    text, written = write_call(call)
    assert text is not None
    return run_in_graph(call, text, written)


def compared(mask, score, sizes=SIZES, **arguments):
    """Output, lse and gradients of the operator and of the definition; parts may learn."""
    given = operands(sizes, 2, value_features=4)
    call = Call.of(*given, mask=mask, score=score, return_lse=True, **arguments)
    modules = [part for part in call.score if isinstance(part, torch.nn.Module)]
    learned = [parameter for module in modules for parameter in module.double().parameters()]
    found = by_operator(call)
    wanted = hw.attention(*given, mask=mask, score=score, return_lse=True, engine="reference", **arguments)
    for one, right in zip(found, wanted, strict=True):
        close(one, right, 1e-11)
    tensors = (*given, *learned)
    for one, right in zip(gradients(tensors, *found), gradients(tensors, *wanted), strict=True):
        close(one, right, 1e-10)


@pytest.mark.usefixtures("poisoned")
@pytest.mark.parametrize("score", ["none", "softcap", "t5", "alibi, then softcap"])
@pytest.mark.parametrize("mask", WRITTEN_MASKS)
def test_the_operator_equals_the_definition_under_every_mask(mask, score):
    compared(MASKS[mask].make(SIZES), SCORES[score].make(SIZES))


@pytest.mark.usefixtures("poisoned")
@pytest.mark.parametrize("mask", ["full", "causal and padding", "dense BHIJ", "documents"])
@pytest.mark.parametrize("score", WRITTEN_SCORES)
def test_the_operator_equals_the_definition_with_every_score(mask, score):
    compared(MASKS[mask].make(SIZES), SCORES[score].make(SIZES))


def test_a_bias_that_learns_gets_its_gradient():
    compared(hw.Causal(), (hw.Bias(torch.nn.Parameter(torch.randn(1, 4, 5, 9))), hw.Sink(4)))


@pytest.mark.parametrize("score", [None, hw.Alibi(4), hw.Softcap(0.7)], ids=str)
def test_the_operator_knows_where_tokens_stand(score):
    places = torch.arange(9) * 2
    compared(hw.Window(4), score, query_positions=places[4:], key_positions=places)
    compared(hw.Window(4), score, query_positions=7, key_positions=2)


def test_a_hidden_nan_stays_hidden_in_the_operator():
    keep = torch.arange(9) < torch.tensor([[9], [4], [0]])
    query, key, value = (tensor.detach() for tensor in operands(SIZES, 2))
    key[1, :, 6], value[1, :, 6] = torch.nan, torch.inf
    given = tuple(tensor.requires_grad_() for tensor in (query, key, value))
    for score in (None, hw.Softcap(0.7)):
        arguments = {"mask": hw.Causal() & hw.Padding(keep), "score": score}
        found = by_operator(Call.of(*given, **arguments)).output
        wanted = hw.attention(*given, engine="reference", **arguments)
        close(found, wanted, 1e-11)
        for one, right in zip(gradients(given, found), gradients(given, wanted), strict=True):
            close(one, right, 1e-10)


def test_two_forward_passes_may_come_before_their_backward_passes():
    given = operands(SIZES, 2)
    rules = [{"mask": hw.Window(2)}, {"mask": hw.Causal(), "score": (hw.Alibi(4), hw.Softcap(2.0))}]
    found = sum(by_operator(Call.of(*given, **rule)).output for rule in rules)
    wanted = sum(hw.attention(*given, engine="reference", **rule) for rule in rules)
    for one, right in zip(gradients(given, found), gradients(given, wanted), strict=True):
        close(one, right, 1e-10)


def test_a_second_derivative_of_the_operator_is_refused_in_words():
    given = operands(SIZES, 2)
    output = by_operator(Call.of(*given, mask=hw.Causal())).output
    (first,) = torch.autograd.grad(output.square().sum(), given[0], create_graph=True)
    with pytest.raises(hw.EngineRefused, match="engine 'blockwise' has first derivatives in reverse mode only"):
        torch.autograd.grad(first.sum(), given[0])


@pytest.mark.parametrize("score", [None, hw.Softcap(2.0)], ids=str)
def test_dropout_drops_the_same_weights_in_both_passes(score):
    """With unit vectors as values the output is the weights; the gradient of values by a chosen sum tells them again."""
    sizes = Sizes(1, 2, 6, 6)
    query, key, _ = operands(sizes, 2)
    value = torch.eye(6, dtype=torch.float64).expand(1, 2, 6, 6).clone().requires_grad_()
    call = Call.of(query, key, value, mask=hw.Causal(), score=score, dropout=0.4)
    torch.manual_seed(5)
    weights = by_operator(call).output
    torch.manual_seed(5)
    assert torch.equal(by_operator(call).output, weights)
    assert not torch.equal(by_operator(call).output, weights)
    assert int((weights == 0).sum()) > 2 * 15
    by_value = torch.randn_like(weights)
    (found,) = torch.autograd.grad((weights * by_value).sum(), value)
    close(found, weights.mT @ by_value, 1e-12)


def test_dropout_in_the_operator_takes_one_number_from_the_users_generator():
    call = Call.of(*operands(SIZES, 2), dropout=0.4)
    torch.manual_seed(5)
    torch.randint(2**40, ())
    wanted = torch.rand(3)
    torch.manual_seed(5)
    by_operator(call)
    assert torch.equal(torch.rand(3), wanted)


def test_what_is_read_is_made_of_the_tensors_at_hand():
    written = Written()
    keep = torch.tensor([[True, False]])
    text = write((hw.Causal() & hw.Padding(keep), (hw.T5Bias(2), hw.Alibi(2), 3, 0.5, None, True)), written)
    other, table = torch.tensor([[False, True]]), torch.randn(32, 2)
    written.tensors[:] = other, table
    written.whole[-1] = 7
    mask, (t5, alibi, *rest) = read(text, written)
    assert mask.right.keep is other and t5.table is table
    assert (t5.heads, t5.buckets, t5.bidirectional) == (2, 32, False)
    assert alibi == hw.Alibi(2) and rest == [7, 0.5, None, True]


class OwnMask(hw.mask.base.Mask):
    def sees(self, grid):
        return grid.distance >= 0


@pytest.mark.parametrize(
    ("part", "name"),
    [
        (hw.Causal() & (lambda b, h, i, j: i >= j), "function"),
        (OwnMask(), "OwnMask"),
        (torch.nn.Linear(2, 2), "Linear"),
        ("text", "str"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_what_may_read_more_than_it_holds_is_not_written(part, name):
    written = Written()
    assert write((part, hw.Causal()), written) is None
    assert written.unwritten == [name]
