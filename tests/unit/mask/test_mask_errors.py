"""Each message of the masks: what must hold, what came, and the usual fix."""

import pytest
import torch
from torch import tensor

import headwise as hw

REFUSED = [
    (lambda: hw.Window(0), r"Window\(size\) must be a whole number of at least 1.*got size=0\. Usual fix: to switch"),
    (lambda: hw.Window(True), r"got size=True"),
    (lambda: hw.Window(2, ahead=-1), r"Window\(ahead\) must be a whole number of at least 0; got ahead=-1"),
    (lambda: hw.Window.from_flash(-2, 0), r"Window\.from_flash\(left, right\).*got left=-2, right=0"),
    (lambda: hw.Prefix(-1), r"Prefix\(length\) must be a whole number of at least 0.*got -1\. Usual fix: the number"),
    (lambda: hw.Prefix(2.0), r"Prefix\(length\).*got 2\.0"),
    (lambda: hw.Prefix(tensor([1.0])), r"Prefix\(length\).*got a tensor of torch\.float32 with shape \[1\]"),
    (lambda: hw.Dilated(0, 2), r"Dilated\(size\) must be a whole number of at least 1; got size=0"),
    (lambda: hw.Dilated(2, 0), r"Dilated\(step\).*got step=0\. Usual fix: Dilated\(size, 1\)"),
    (
        lambda: hw.Documents(tensor([0, 1])),
        r"Documents\(ids\) must be a tensor of whole numbers \[B, J\]; got .* \[2\]",
    ),
    (lambda: hw.Documents.from_lengths(5), r"Documents\.from_lengths\(lengths\) must be a list.*got 5"),
    (lambda: hw.Documents.from_lengths([3, -1]), r"got \[3, -1\]"),
    (lambda: hw.Documents.from_lengths(["ab"]), r"got \['ab'\]"),
    (
        lambda: hw.Documents.from_lengths([[3, 2], [4]]),
        r"must be equally full; they hold \[5, 4\] slots\. Usual fix: give",
    ),
    (lambda: hw.Documents.from_lengths([3], query_lengths=[1.5]), r"from_lengths\(query_lengths\)"),
    (lambda: hw.Padding(tensor([True])), r"Padding\(keep\) must be a bool tensor \[B, J\].*shape \[1\]"),
    (lambda: hw.Padding(tensor([[1]])), r"Padding\(keep\).*got a tensor of int64"),
    (
        lambda: hw.Dense(torch.ones(2, 2)),
        r"a mask must be bool, True = may see; got a tensor of float32.*score=Bias\(tensor\)",
    ),
    (lambda: hw.Dense.from_mha(torch.ones(2, 2)), r"Dense\.from_mha\(mask\) needs a bool tensor, True = hidden"),
    (lambda: hw.Causal() & 3, r"mask must be None, a bool tensor, a Mask or a function.*got int"),
    (lambda: hw.Causal() & hw.Window, r"mask must be an instance, not the class Window"),
    (lambda: hw.Causal().table(-1, 2), r"table\(queries\) must be a whole number of at least 0; got -1"),
]


@pytest.mark.parametrize(("make", "message"), REFUSED)
def test_a_bad_mask_is_refused_where_it_is_made(make, message):
    with pytest.raises(hw.MaskError, match=message):
        make()


UNFIT = [
    (
        lambda: hw.Padding(torch.ones(2, 4, dtype=torch.bool)),
        r"Padding\(keep\) must be \[B J\] with B=2, J=5; got .*\[2, 4\]",
    ),
    (lambda: hw.Documents(torch.zeros(1, 5, dtype=torch.long)), r"Documents\(ids\) must be \[B J\] with B=2, J=5"),
    (lambda: hw.Prefix(tensor([1, 2, 3])), r"Prefix\(length\) must be \[B\] with B=2; got .*\[3\]"),
    (
        lambda: torch.ones(5, 5, dtype=torch.bool),
        r"axis I of mask must be 3 or 1, it is 5 \(this call has B=2, H=4, I=3, J=5\)",
    ),
    (lambda: torch.ones(8, 3, 5, dtype=torch.bool), r"axis B of mask must be 2 or 1, it is 8"),
    (lambda: torch.ones(5, dtype=torch.bool), r"a mask must have the axes I J, B I J or B H I J, it has 1"),
]


@pytest.mark.parametrize(("make", "message"), UNFIT)
@pytest.mark.parametrize("place", [lambda m: m, lambda m: hw.Causal() & m, lambda m: hw.Causal() | m])
def test_a_mask_that_does_not_fit_the_call_is_refused_wherever_it_stands(make, message, place):
    query, key = torch.randn(2, 4, 3, 8), torch.randn(2, 4, 5, 8)
    with pytest.raises(hw.ShapeError, match=message):
        hw.attention(query, key, key, mask=place(make()))


def test_documents_without_query_ids_need_a_slot_for_each_query():
    query, key = torch.randn(1, 1, 3, 4), torch.randn(1, 1, 2, 4)
    with pytest.raises(
        hw.ShapeError, match=r"Documents without query_ids needs at most as many queries as keys, I=3 and J=2"
    ):
        hw.attention(query, key, key, mask=hw.Documents(torch.zeros(1, 2, dtype=torch.long)))


def test_a_float_mask_names_both_remedies():
    """M10."""
    query = torch.randn(1, 1, 4, 4)
    with pytest.raises(hw.MaskError, match=r"make it bool.*or.*pass it as score=Bias\(tensor\)"):
        hw.attention(query, query, query, mask=torch.tensor([[0, 0, 0, 1.0]]))


class Floats(hw.Mask):
    def sees(self, grid):
        return (grid.distance >= 0).float()


class TwoAxes(hw.Mask):
    def sees(self, grid):
        return (grid.distance >= 0)[0, 0]


class Nothing(hw.Mask):
    def sees(self, grid):
        return None


ANSWERS = [
    (Floats(), r"Floats\.sees\(grid\) must return a bool tensor of four axes.*got torch\.float32 \[1, 1, 2, 3\]"),
    (~Floats(), r"Floats\.sees\(grid\)"),
    (hw.Causal() & Floats(), r"Floats\.sees\(grid\)"),
    (TwoAxes() | hw.Causal(), r"TwoAxes\.sees\(grid\).*got torch\.bool \[2, 3\]"),
    (Nothing(), r"Nothing\.sees\(grid\).*got NoneType\. Usual fix: compare coordinates"),
]


@pytest.mark.parametrize(("mask", "message"), ANSWERS)
@pytest.mark.parametrize("engine", ["auto", "blockwise", "reference"])
def test_a_mask_of_ones_own_whose_answers_are_no_truth_values_is_refused_by_name(mask, message, engine):
    query = torch.randn(1, 2, 5, 4)
    with pytest.raises(hw.MaskError, match=message):
        hw.attention(query, query, query, mask=mask, engine=engine)


def test_a_mask_of_slots_that_is_passed_as_it_is_is_told_of_padding():
    query = torch.randn(2, 4, 5, 4)
    with pytest.raises(hw.ShapeError, match=r"Usual fix: Padding\(mask\), if it says which tokens"):
        hw.attention(query, query, query, mask=torch.ones(2, 5, dtype=torch.bool))


def test_a_function_of_too_few_arguments_is_told_which_it_gets():
    query = torch.randn(1, 2, 5, 4)
    with pytest.raises(hw.MaskError, match=r"Usual fix: take all of \(b, h, i, j\), whether needed or not\."):
        hw.attention(query, query, query, mask=lambda i, j: i >= j)
    with pytest.raises(hw.ScoreError, match=r"Usual fix: take all of \(s, b, h, i, j\), whether needed or not\."):
        hw.attention(query, query, query, score=lambda s, i, j: s)
