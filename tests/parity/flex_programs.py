"""
Programs for FlexAttention, as people write them: a `score_mod`, a `mask_mod`, and what they capture.

Each program is a function of the sizes; it returns the two functions (or None) and the captured tensors that learn.
"""

from typing import Any, NamedTuple

import torch
from torch import Tensor, tensor
from torch.nn.attention.flex_attention import and_masks, or_masks


class Sizes(NamedTuple):
    batch: int
    heads: int
    groups: int
    queries: int
    keys: int


class Program(NamedTuple):
    score_mod: Any = None
    mask_mod: Any = None
    learned: tuple[Tensor, ...] = ()


def numbers(*shape: int, dtype: torch.dtype) -> Tensor:
    return torch.sin(torch.arange(torch.Size(shape).numel(), dtype=torch.float64) * 1.3).view(shape).to(dtype)


def causal_mask(b, h, q_idx, kv_idx):
    return q_idx >= kv_idx


def causal(s: Sizes, dtype) -> Program:
    return Program(mask_mod=causal_mask)


def causal_as_a_score(s: Sizes, dtype) -> Program:
    def score_mod(score, b, h, q_idx, kv_idx):
        return torch.where(q_idx >= kv_idx, score, -float("inf"))

    return Program(score_mod)


def sliding_window(s: Sizes, dtype) -> Program:
    window = 5

    def mask_mod(b, h, q_idx, kv_idx):
        return (q_idx - kv_idx <= window) & causal_mask(b, h, q_idx, kv_idx)

    return Program(mask_mod=mask_mod)


def prefix_lm(s: Sizes, dtype) -> Program:
    lengths = torch.arange(s.batch, dtype=torch.int32) + 2

    def prefix(b, h, q_idx, kv_idx):
        return kv_idx < lengths[b]

    return Program(mask_mod=or_masks(prefix, causal_mask))


def documents(s: Sizes, dtype) -> Program:
    ids = torch.arange(s.keys) // 4

    def same(b, h, q_idx, kv_idx):
        return ids[q_idx] == ids[kv_idx]

    return Program(mask_mod=and_masks(same, causal_mask))


def jagged_documents(s: Sizes, dtype) -> Program:
    """Offsets of documents in one row; an inner rule sees indices counted within a document."""
    offsets = tensor([0, 3, 4, 9, max(10, s.keys)])
    ids = torch.repeat_interleave(torch.arange(4), offsets.diff())[: s.keys]

    def inner(b, h, q_idx, kv_idx):
        return q_idx - kv_idx < 3

    def mask_mod(b, h, q_idx, kv_idx):
        together = ids[q_idx] == ids[kv_idx]
        q_logical = q_idx - offsets[ids[q_idx]]
        kv_logical = kv_idx - offsets[ids[kv_idx]]
        return together & inner(b, h, q_logical, kv_logical) & (q_logical >= kv_logical)

    return Program(mask_mod=mask_mod)


def padded_batch(s: Sizes, dtype) -> Program:
    lengths = s.keys - 2 * torch.arange(s.batch)

    def mask_mod(b, h, q_idx, kv_idx):
        return (kv_idx < lengths[b]) & (q_idx < lengths[b])

    return Program(mask_mod=mask_mod)


def alibi(s: Sizes, dtype) -> Program:
    def score_mod(score, b, h, q_idx, kv_idx):
        scale = torch.exp2(-((h + 1) * 8.0 / s.heads))
        return score + (kv_idx - q_idx) * scale

    return Program(score_mod, causal_mask)


def tanh_softcap(s: Sizes, dtype) -> Program:
    cap = 2.0

    def score_mod(score, b, h, q_idx, kv_idx):
        return cap * torch.tanh(score / cap)

    return Program(score_mod, causal_mask)


def relative_position_bias(s: Sizes, dtype) -> Program:
    bias = numbers(s.heads, s.queries + s.keys, dtype=dtype).requires_grad_()

    def score_mod(score, b, h, q_idx, kv_idx):
        return score + bias[h, q_idx - kv_idx + s.keys]

    return Program(score_mod, learned=(bias,))


def learned_scalar(s: Sizes, dtype) -> Program:
    rate = tensor(0.3, dtype=dtype, requires_grad=True)

    def score_mod(score, b, h, q_idx, kv_idx):
        return score + rate * (q_idx - kv_idx)

    return Program(score_mod, learned=(rate,))


def learned_temperature(s: Sizes, dtype) -> Program:
    temperature = numbers(s.heads, dtype=dtype).requires_grad_()
    table = numbers(s.queries, s.keys, dtype=dtype).requires_grad_()

    def score_mod(score, b, h, q_idx, kv_idx):
        return score * temperature[h].exp() + table[q_idx, kv_idx]

    return Program(score_mod, causal_mask, (temperature, table))


def bias_per_sequence(s: Sizes, dtype) -> Program:
    bias = numbers(s.batch, s.heads, s.queries, s.keys, dtype=dtype).requires_grad_()

    def score_mod(score, b, h, q_idx, kv_idx):
        return score + bias[b, h, q_idx, kv_idx]

    return Program(score_mod, learned=(bias,))


def transfusion(s: Sizes, dtype) -> Program:
    """Text is causal, images see themselves both ways; each sequence has its own list of (offset, length)."""
    images = tensor([[1, 3], [6, 2]]) + torch.arange(s.batch)[:, None, None] * tensor([1, 0])

    def in_an_image(b, h, q_idx, kv_idx):
        together = b.new_zeros((), dtype=torch.bool)
        for image in range(images.shape[1]):
            start = images[b, image, 0]
            stop = start + images[b, image, 1]
            together = together | (q_idx >= start) & (q_idx < stop) & (kv_idx >= start) & (kv_idx < stop)
        return together

    return Program(mask_mod=or_masks(in_an_image, causal_mask))


def natten_2d(s: Sizes, dtype) -> Program:
    width, kernel = 4, 3

    def mask_mod(b, h, q_idx, kv_idx):
        q_x, q_y = q_idx // width, q_idx % width
        kv_x, kv_y = kv_idx // width, kv_idx % width
        center_x = q_x.clamp(kernel // 2, max(s.keys // width - 1 - kernel // 2, kernel // 2))
        center_y = q_y.clamp(kernel // 2, width - 1 - kernel // 2)
        return ((center_x - kv_x).abs() <= kernel // 2) & ((center_y - kv_y).abs() <= kernel // 2)

    return Program(mask_mod=mask_mod)


def dilated_window(s: Sizes, dtype) -> Program:
    def mask_mod(b, h, q_idx, kv_idx):
        distance = q_idx - kv_idx
        return (distance.abs() <= 6) & (distance % 3 == 0)

    return Program(mask_mod=mask_mod)


def global_tokens_and_blocks(s: Sizes, dtype) -> Program:
    layout = numbers(s.heads, -(-s.queries // 4), -(-s.keys // 4), dtype=torch.float32) > 0.2

    def mask_mod(b, h, q_idx, kv_idx):
        return layout[h, q_idx // 4, kv_idx // 4] | (kv_idx < 2) | (q_idx == kv_idx)

    return Program(mask_mod=mask_mod)


def tree_of_drafts(s: Sizes, dtype) -> Program:
    """Speculative decoding: a token sees its ancestors, found in a table of bits."""
    ancestors = torch.eye(s.keys, dtype=torch.bool)
    for node in range(1, s.keys):
        ancestors[node] |= ancestors[(node - 1) // 2]

    def mask_mod(b, h, q_idx, kv_idx):
        return ancestors[q_idx, kv_idx]

    return Program(mask_mod=mask_mod)


def dequantised_keys(s: Sizes, dtype) -> Program:
    scales = numbers(s.batch, s.groups, s.keys, dtype=dtype).abs() + 0.5

    def score_mod(score, b, h, q_idx, kv_idx):
        return score * scales[b, h // (s.heads // s.groups), kv_idx]

    return Program(score_mod)


def checkerboard(s: Sizes, dtype) -> Program:
    def score_mod(score, b, h, q_idx, kv_idx):
        score = torch.where((kv_idx - q_idx) % 2 == 0, score * 0.5, score)
        return torch.where(h % 2 == 0, score, -score) + b * 0.1

    return Program(score_mod)


PROGRAMS = {
    program.__name__: program
    for program in (
        causal,
        causal_as_a_score,
        sliding_window,
        prefix_lm,
        documents,
        jagged_documents,
        padded_batch,
        alibi,
        tanh_softcap,
        relative_position_bias,
        learned_scalar,
        learned_temperature,
        bias_per_sequence,
        transfusion,
        natten_2d,
        dilated_window,
        global_tokens_and_blocks,
        tree_of_drafts,
        dequantised_keys,
        checkerboard,
    )
}
