"""
---
title: Block masks of FlexAttention
summary: A BlockMask serves as a mask, with the indices and the sizes that it was made for.
---
"""

import sys
from dataclasses import dataclass, field
from typing import Any

import torch
from jaxtyping import Bool
from torch import Tensor

from headwise.errors import MaskError
from headwise.grid import Grid
from headwise.mask.base import Mask
from headwise.mask.function import FunctionMask
from headwise.shapes import check_axes, fail


@dataclass(frozen=True, eq=False)
class Blocks(Mask):
    """
    PyTorch's `BlockMask`: a function of one pair, and lists of the blocks in which it is asked.

    A pair is seen if it lies in a *full* block, or in a *partial* block whose function says so. Indices are those of FlexAttention, the
    row of the query and the column of the key.

    *Edge*: a block mask is made for one number of queries and of keys, and a batch or a heads axis of 1 is broadcast. For other sizes
    it would be read beside its blocks, so it must match the call.

    *Errors*: `ShapeError` if the sizes differ. A function `(b, h, i, j) -> bool`, passed as it is, serves every size.
    """

    block_mask: Any
    partial: Bool[Tensor, "#B #H R C"] = field(init=False)
    full: Bool[Tensor, "#B #H R C"] = field(init=False)
    function: FunctionMask = field(init=False)

    def __post_init__(self) -> None:
        lists = self.block_mask
        columns = -(-lists.seq_lengths[1] // lists.BLOCK_SIZE[1])
        partial = block_table(lists.kv_num_blocks, lists.kv_indices, columns)
        full = torch.zeros_like(partial)
        if lists.full_kv_num_blocks is not None:
            full = block_table(lists.full_kv_num_blocks, lists.full_kv_indices, columns)
        object.__setattr__(self, "partial", partial)
        object.__setattr__(self, "full", full)
        object.__setattr__(self, "function", FunctionMask(lists.mask_mod, raw=True))

    def sees(self, grid: Grid) -> Bool[Tensor, "#B #H i j"]:
        rows = torch.arange(*grid.rows, device=grid.device) // self.block_mask.BLOCK_SIZE[0]
        columns = torch.arange(*grid.columns, device=grid.device) // self.block_mask.BLOCK_SIZE[1]
        partial, full = (table.to(grid.device)[:, :, rows][:, :, :, columns] for table in (self.partial, self.full))
        return full | (partial & self.function.sees(grid))

    def check(self, grid: Grid) -> None:
        queries, keys = self.block_mask.seq_lengths
        if (queries, keys) != (grid.queries, grid.keys):
            fail(
                f"a BlockMask must be made for the sizes of the call, it is for {queries} queries and {keys} keys, "
                f"the call has I={grid.queries} and J={grid.keys}",
                "create_block_mask for these sizes, or pass its function, which serves all sizes",
                blocks=(self.partial, "B H I/block J/block"),
            )
        check_axes(
            "BlockMask",
            self.partial[:, :, 0, 0],
            "B H",
            "create_block_mask with B=None, H=None for all",
            B=grid.batch,
            H=grid.heads,
        )
        rows = -(-grid.queries // self.block_mask.BLOCK_SIZE[0])
        if self.partial.shape[2] != rows:
            fail(
                f"a BlockMask must list all {rows} rows of blocks of its queries, this one lists {self.partial.shape[2]}",
                "set seq_lengths where a block mask is cut",
                blocks=(self.partial, "B H I/block J/block"),
            )


def is_block_mask(thing: object) -> bool:
    """Is it a `BlockMask`? PyTorch's module is heavy, so it is not imported to find out: whoever made one has imported it."""
    module = sys.modules.get("torch.nn.attention.flex_attention")
    return module is not None and isinstance(thing, module.BlockMask)


def block_table(counts: Tensor, indices: Tensor, columns: int) -> Bool[Tensor, "B H R C"]:
    """Which blocks are listed. Row r lists its columns in `indices`, of which the first `counts` are meant."""
    if counts.dim() != 3:
        raise MaskError(
            f"a BlockMask must have the axes B, H and rows of blocks; its kv_num_blocks has the shape {list(counts.shape)}. "
            "Usual fix: make it by create_block_mask(mask_mod, B, H, I, J)."
        )
    meant = torch.arange(indices.shape[3], device=indices.device) < counts[..., None]
    # One column more takes the entries that are not meant.
    listed = torch.zeros(*indices.shape[:3], columns + 1, dtype=torch.bool, device=indices.device)
    listed.scatter_(3, torch.where(meant, indices.long(), columns), meant)
    return listed[..., :columns]
