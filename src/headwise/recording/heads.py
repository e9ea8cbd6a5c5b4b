"""
---
title: Head studies
summary: What kind of head is this? Scores for known kinds, ablation, rollout, similarity.
---

# Head studies

Some heads do one thing that can be named. Three kinds are easy to measure: a **previous-token head** looks at the token before;
a **duplicate-token head** looks at earlier copies of its own token; an **induction head** looks at what followed them, and so
continues repetitions. The score of a head is the mean weight that it puts where such a head would look.

*Source*: Elhage et al., 2021, "A Mathematical Framework for Transformer Circuits"; Olsson et al., 2022, "In-context Learning and
Induction Heads", arXiv:2209.11895; rollout: Abnar and Zuidema, 2020, "Quantifying Attention Flow in Transformers", section 3,
arXiv:2005.00928.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from headwise.call import Call
from headwise.recording.choose import as_numbers, choose_layers, find_layers, numbers_of
from headwise.recording.recompute import Recomputation
from headwise.recording.recorder import listening, run_eagerly, without_fast_path
from headwise.recording.tape import RecordingError
from headwise.recording.torch_layer import without_heads

KINDS = ("previous", "duplicate", "induction")


@torch.no_grad()
def head_scores(model: nn.Module, tokens: Int[Tensor, "B I"]) -> dict[str, dict[str, Float[Tensor, " H"]]]:
    """
    For each layer, the score of each head for each kind: `{"previous": [H], "duplicate": [H], "induction": [H]}`.

    The model runs once on `tokens`. Scores are means over the queries that have a place to look at: the token before; an earlier copy;
    a token that followed an earlier copy. A kind for which no query of the text has one is left out. Random tokens, repeated once
    (`torch.randint(V, (1, n)).repeat(1, 2)`), show induction at its clearest.
    """
    model_was_training = model.training
    found: dict[str, dict[str, Tensor]] = {}

    def visit(name: str, call: Call, lse: Tensor | None) -> None:
        if call.grid.queries != tokens.shape[1] or call.grid.keys != tokens.shape[1]:
            raise RecordingError(
                f"head_scores needs self-attention over the tokens, {tokens.shape[1]} of them; layer {name!r} has {call.grid.queries} queries "
                f"and {call.grid.keys} keys. Usual fix: a language model without a cache."
            )
        found[name] = score_call(call, tokens)

    try:
        with listening(model.eval(), None, visit, wants_lse=False):
            model(tokens)
    finally:
        model.train(model_was_training)
    return found


def score_call(call: Call, tokens: Int[Tensor, "B I"]) -> dict[str, Float[Tensor, " H"]]:
    """The scores of one layer, a block of rows at a time."""
    length = tokens.shape[1]
    source = Recomputation(call, tuple(range(call.grid.heads)), tuple(range(length)))
    sums = {kind: torch.zeros(call.grid.heads, device=tokens.device) for kind in KINDS}
    counts = dict.fromkeys(KINDS, 0)
    for block in source.blocks():
        query = torch.arange(*block.grid.rows, device=tokens.device)[:, None]
        key = torch.arange(*block.grid.columns, device=tokens.device)
        # What kind of head would look where: `[B,i,j]`.
        earlier = key < query
        same = tokens[:, query] == tokens[:, key][:, None, :]
        after_same = (tokens[:, query] == tokens[:, (key - 1).clamp(min=0)][:, None, :]) & (key > 0)
        looked_at = {
            "previous": (key == query - 1).expand_as(same),
            "duplicate": same & earlier,
            "induction": after_same & (key <= query),
        }
        for kind, places in looked_at.items():
            sums[kind][block.heads] += torch.einsum("bhij,bij->h", block.weights, places.to(block.weights))
            if block.heads.start == 0:
                counts[kind] += int(places.any(-1).sum())
    return {kind: sums[kind] / counts[kind] for kind in KINDS if counts[kind]}


@contextmanager
def ablate(model: nn.Module, layer: str | int, head: int | Iterable[int], *, mean: bool = False) -> Iterator[None]:
    """
    Inside, the output of a head is replaced by 0, or with `mean=True` by its mean over the queries of each call.

    The difference in loss with and without says how much the model relies on the head. Gradients do not pass through an ablated head.

    *Edge*: a model from `torch.compile` is run as it is written, since compiled code runs no hooks; a `RecordingWarning` says so. In
    a layer of `torch.nn` that drops weights in training, the mean is that of the head without dropout.

    ```python
    with ablate(model, layer=1, head=3):
        loss = cross_entropy(model(tokens))
    ```
    """
    found = find_layers(model)
    (name, *others) = choose_layers(found.layers, layer)
    if others:
        raise RecordingError(
            f"layer must name one layer; {layer!r} names {1 + len(others)}. Usual fix: one name of named_modules()."
        )
    asked = as_numbers("head", head)

    def heads_of(count: int) -> list[int]:
        return list(numbers_of("head", asked, count, name))

    def replace(module: nn.Module, inputs: tuple[Call, ...], result: Any) -> Any:
        output, lse = result if isinstance(result, tuple) else (result, None)
        heads = heads_of(output.shape[1])
        changed = output.clone()
        changed[:, heads] = output[:, heads].detach().mean(2, keepdim=True) if mean else 0.0
        return changed if lse is None else (changed, lse)

    listened = found.layers[name]
    with run_eagerly(found.compiled, stacklevel=4):
        if isinstance(listened, nn.MultiheadAttention):
            with without_fast_path(), without_heads(listened, heads_of(listened.num_heads), mean=mean):
                yield
            return
        handle = listened.register_forward_hook(replace)
        try:
            yield
        finally:
            handle.remove()


@torch.no_grad()
def ablation_table(model: nn.Module, loss: Callable[[], Tensor], *, mean: bool = False) -> dict[str, list[float]]:
    """By how much the loss changes without each head: for each layer a list with one number a head. `loss` runs the model."""
    sizes: dict[str, int] = {}
    with listening(model, None, lambda name, call, lse: sizes.update({name: call.grid.heads}), wants_lse=False):
        whole = float(loss())
    table: dict[str, list[float]] = {name: [] for name in sizes}
    for name, heads in sizes.items():
        for head in range(heads):
            with ablate(model, name, head, mean=mean):
                table[name].append(float(loss()) - whole)
    return table


def rollout(maps: Iterable[Float[Tensor, "B H I J"]], *, residual: float = 0.5) -> Float[Tensor, "B I J"]:
    """
    How much of each input token is in each output token, if attention were all that moves information.

    Maps are averaged over heads, mixed with the identity in the share `residual` for the residual connection, and multiplied from the first layer on.
    """
    result: Tensor | None = None
    for weights_BHIJ in maps:
        mixed_BIJ = weights_BHIJ.mean(1)
        identity = torch.eye(mixed_BIJ.shape[1], dtype=mixed_BIJ.dtype, device=mixed_BIJ.device)
        if mixed_BIJ.shape[1] != mixed_BIJ.shape[2]:
            raise RecordingError(
                f"rollout needs square maps, got {list(weights_BHIJ.shape)}. Usual fix: record all rows, without a cache."
            )
        mixed_BIJ = (1 - residual) * mixed_BIJ + residual * identity
        result = mixed_BIJ if result is None else mixed_BIJ @ result
    if result is None:
        raise RecordingError(
            "rollout needs the map of at least one layer; got none. Usual fix: [tape[name][0].weights for name in tape]."
        )
    return result


def similarity(one: Mapping[str, Tensor], other: Mapping[str, Tensor]) -> dict[str, Float[Tensor, "H H"]]:
    """
    How alike heads of two models, or of two checkpoints of a run, are: for each layer, 1 less the mean total variation of their maps.

    1 means equal maps, 0 means that no query looks at a key that both see. Rows are heads of the first, columns heads of the second.

    *Shapes*: maps by name of the layer, `[B,H,I,J]`, of the same tokens.
    """
    table = {}
    for name in one:
        first_HN, second_HN = (maps[name].transpose(0, 1).flatten(1, 2) for maps in (one, other))
        # Half the sum of differences is the share of weight that lies elsewhere. A head at a time keeps memory small.
        rows = [(head_NJ - second_HN).abs().sum(-1).mean(-1) / 2 for head_NJ in first_HN]
        table[name] = 1 - torch.stack(rows)
    return table
