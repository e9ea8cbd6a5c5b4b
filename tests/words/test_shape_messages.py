"""Wrong sizes, in words: the rule, all tensors with letters and numbers, the usual fix."""

import pytest
import torch

import headwise as hw
from support.messages import attend, check, layer, t

ALL = "query [B H I D] = [2, 4, 5, 8], key [B G J D] = [2, 2, 7, 8], value [B G J E] = "
SHAPES = {
    "three axes": (
        lambda: attend(t(4, 5, 8)),
        "query must have the four axes B H I D, it has 3; got query [B H I D] = [4, 5, 8], key",
    ),
    "batch": (
        lambda: attend(t(3, 4, 5, 8)),
        "B must be equal, it is 3 in query and 2 in key; got query [B H I D] = [3, 4, 5, 8]",
    ),
    "features": (lambda: attend(t(2, 4, 5, 9)), "D must be equal, it is 9 in query and 8 in key"),
    "length": (
        lambda: attend(value=t(2, 2, 6, 8)),
        f"J must be equal, it is 7 in key and 6 in value; got {ALL}[2, 2, 6, 8]",
    ),
    "key heads": (
        lambda: attend(value=t(2, 1, 7, 8)),
        f"G must be equal, it is 2 in key and 1 in value; got {ALL}[2, 1, 7, 8]",
    ),
    "heads": (lambda: attend(t(2, 3, 5, 8)), "H must be a multiple of G, 3 is not a multiple of 2"),
    "heads and positions swapped": (
        lambda: attend(t(2, 5, 4, 8)),
        "H must be a multiple of G, 5 is not a multiple of 2",
    ),
    "no features": (lambda: attend(t(2, 4, 5, 0), t(2, 2, 7, 0)), "D, H and G must be at least 1"),
    "no heads": (lambda: attend(t(2, 0, 5, 8), t(2, 2, 7, 8)), "D, H and G must be at least 1"),
    "mask rows": (
        lambda: attend(mask=t(4, 7, dtype=torch.bool)),
        "axis I of mask must be 5 or 1, it is 4 (this call has B=2, H=4, I=5, J=7)",
    ),
    "mask keys": (lambda: attend(mask=t(5, 5, dtype=torch.bool)), "axis J of mask must be 7 or 1, it is 5"),
    "mask of fused batch and heads": (
        lambda: attend(mask=t(8, 5, 7, dtype=torch.bool)),
        "axis B of mask must be 2 or 1, it is 8",
    ),
    "mask of one axis": (
        lambda: attend(mask=t(7, dtype=torch.bool)),
        "a mask must have the axes I J, B I J or B H I J, it has 1; got mask [?] = [7]",
    ),
    "bias": (lambda: attend(score=hw.Bias(t(5, 6))), "axis J of Bias(tensor) must be 7 or 1, it is 6"),
    "bias of three axes": (lambda: hw.Bias(t(2, 5, 7)), "Bias(tensor) must have the axes I J or B H I J"),
    "padding": (
        lambda: attend(mask=hw.Padding(t(2, 5, dtype=torch.bool))),
        "Padding(keep) must be [B J] with B=2, J=7; got Padding(keep) [B J] = [2, 5]",
    ),
    "documents": (
        lambda: attend(mask=hw.Documents(t(2, 5, dtype=torch.long))),
        "Documents(ids) must be [B J] with B=2, J=7",
    ),
    "query documents": (
        lambda: attend(mask=hw.Documents(t(2, 7, dtype=torch.long), t(2, 4, dtype=torch.long))),
        "Documents(query_ids) must be [B I] with B=2, I=5",
    ),
    "documents of more queries than keys": (
        lambda: attend(t(2, 4, 9, 8), mask=hw.Documents(t(2, 7, dtype=torch.long))),
        "Documents without query_ids needs at most as many queries as keys, I=9 and J=7",
    ),
    "alibi": (
        lambda: attend(score=hw.Alibi(8)),
        "Alibi(heads) must equal the query heads of the call; got heads=8, H=4. Usual fix: Alibi(4).",
    ),
    "positions": (
        lambda: attend(query_positions=torch.arange(4)),
        "query_positions must be [L] or [B, L] with B=2, L=5; got query_positions",
    ),
    "float positions": (
        lambda: attend(key_positions=t(7)),
        "key_positions must hold whole numbers in one or two axes (torch.float32)",
    ),
    "positions of three axes": (
        lambda: attend(key_positions=t(1, 1, 7, dtype=torch.long)),
        "key_positions must hold whole numbers in one or two axes",
    ),
    "the swap of classic code": (
        lambda: hw.MultiHeadAttention(8, 512),
        "d_model must be at least heads; got d_model=8, heads=512. Usual fix: swap them, d_model comes first here and heads first in "
        "classic code: MultiHeadAttention(d_model=512, heads=8).",
    ),
    "heads that do not divide": (
        lambda: hw.MultiHeadAttention(12, 5),
        "heads must divide d_model; got d_model=12, heads=5",
    ),
    "key heads that do not divide": (
        lambda: hw.MultiHeadAttention(12, 6, kv_heads=4),
        "kv_heads must divide heads; got heads=6, kv_heads=4",
    ),
    "no heads in a layer": (
        lambda: hw.MultiHeadAttention(12, 0),
        "heads must be a whole number of at least 1; got heads=0",
    ),
    "half a head": (
        lambda: hw.MultiHeadAttention(12, 3, head_dim=2.5),
        "head_dim must be a whole number of at least 1; got head_dim=2.5",
    ),
    "no width": (
        lambda: hw.MultiHeadAttention(True, 1),
        "d_model must be a whole number of at least 1; got d_model=True",
    ),
    "two axes in a layer": (
        lambda: layer(t(5, 12)),
        "query must have the three axes B I M, it has 2; got query [B I M] = [5, 12]",
    ),
    "width in a layer": (lambda: layer(t(2, 5, 11)), "the last axis of query must be 12 wide, it is 11"),
    "width of keys in a layer": (
        lambda: layer(t(2, 5, 12), t(2, 5, 9)),
        "the last axis of key must be 12 wide, it is 9",
    ),
    "no context": (lambda: layer(context_dim=9), "a layer with context_dim=9 attends to another sequence, it got none"),
    "batch in a layer": (
        lambda: layer(t(2, 5, 12), t(3, 5, 12)),
        "the batch must be equal in all inputs, it is {'query': 2, 'key': 3}",
    ),
    "length in a layer": (lambda: layer(t(2, 5, 12), t(2, 6, 12), t(2, 7, 12)), "key and value must be equally long"),
    "positions in a layer": (
        lambda: layer(call={"positions": torch.arange(4)}),
        "positions must be [L] or [B, L] with B=2, L=5",
    ),
    "mask in the classic layout": (
        lambda: layer(t(5, 2, 12), batch_first=False, call={"mask": t(5, 4, 2, dtype=torch.bool)}),
        "axis J of mask must be 5 or 1, it is 4 (this call has B=2, H=3, I=5, J=5); got mask [I J B] = [5, 4, 2]",
    ),
    "mask with heads in the classic layout": (
        lambda: layer(t(5, 2, 12), batch_first=False, call={"mask": t(5, 5, 4, 3, dtype=torch.bool)}),
        "axis B of mask must be 2 or 1, it is 4 (this call has B=2, H=3, I=5, J=5); got mask [I J B H] = [5, 5, 4, 3]",
    ),
    "classic layout": (
        lambda: layer(t(5, 2, 12), t(6, 3, 12), batch_first=False),
        "the batch must be equal in all inputs, it is {'query': 2, 'key': 3}; got query [I B M] = [5, 2, 12], key [J B C] = [6, 3, 12]",
    ),
}


@pytest.mark.parametrize("name", SHAPES)
def test_wrong_sizes_are_named_with_letters_and_numbers(name):
    """C04 and A08: axes have names, and a layout of another library is caught where sizes tell."""
    make, words = SHAPES[name]
    check(make, hw.ShapeError, words)
