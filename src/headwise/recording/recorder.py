"""
---
title: Recording
summary: See the attention of any model built of headwise layers, from any engine, without changing it.
---

# Recording

```python
with hw.record(model, layers=["encoder.layers.0.attention"], heads=[0, 3], keep=("weights", "stats")) as tape:
    model(tokens)
tape["encoder.layers.0.attention"][0].weights  # [B,2,I,J]
```

Every call of a layer goes through its submodule `attend`. A recording hooks that submodule, sees the call, and computes
again what was asked for. The engine runs as it would, and its output is the same to the last bit.
"""

import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from headwise.call import Call
from headwise.engines.choose import choose
from headwise.recording.choose import Numbers, as_numbers, choose_layers, find_layers, numbers_of
from headwise.recording.entropy import from_mean_keys, needs_entropy_only
from headwise.recording.recompute import Block, Recomputation
from headwise.recording.statistics import STATISTICS, Statistics
from headwise.recording.tape import Record, RecordingError, Tape
from headwise.recording.torch_layer import call_of
from headwise.reference import position_rows

WHOLE = ("weights", "scores", "lse", "qk", "stats")


class RecordingWarning(UserWarning):
    """A recording runs the model otherwise than it would run without."""


@contextmanager
def record(
    model: nn.Module,
    layers: str | int | Iterable[str | int] | None = None,
    heads: Numbers | None = None,
    rows: Numbers | None = None,
    keep: str | Iterable[str] = ("weights",),
    *,
    top: int = 5,
) -> Iterator[Tape]:
    """
    Record the attention of each call inside the block.

    * `layers`: names as in `named_modules()`, patterns such as `"encoder.*"`, or numbers in the order of the model; all if not given.
    * `heads`, `rows`: which heads, and which queries of each call: a number, a slice or several; negative ones count from the end.
    * `keep`: among "weights", "scores", "lse", "qk" (queries and keys) and "stats" (all statistics), or single statistics by name.
    * `top`: how many keys the statistic `top_keys` names.

    *Edge*: weights are before dropout, whatever the mode. A model from `torch.compile` is run as it is written, since compiled code runs no
    hooks; a `RecordingWarning` says so, and the output then differs by rounding. In a backward pass that runs layers again
    (activation checkpointing) nothing is recorded twice.

    *Errors*: `RecordingError` for a layer, head, row or name that is not there.
    """
    asked = Asked.of(heads, rows, keep, top)

    def visit(name: str, call: Call, lse: Tensor | None) -> None:
        tape.append(record_call(call, name, asked, lse))

    with listening(model, layers, visit, wants_lse=asked.wants_lse) as tape:
        yield tape


# What is told of each call: the name of the layer, the call, and the lse where the engine gave it.
Visit = Callable[[str, Call, Tensor | None], None]


@contextmanager
def listening(
    model: nn.Module, layers: str | int | Iterable[str | int] | None, visit: Visit, *, wants_lse: bool
) -> Iterator[Tape]:
    """Inside, `visit` is told of each call of the chosen layers."""
    found = find_layers(model)
    names = choose_layers(found.layers, layers)
    with ExitStack() as stack:
        stack.enter_context(run_eagerly(found.compiled))
        for name in names:
            layer = found.layers[name]
            if isinstance(layer, nn.MultiheadAttention):
                stack.enter_context(without_fast_path())
                hook = layer.register_forward_hook(partial(listen_to_torch, visit, name), with_kwargs=True)
            else:
                if wants_lse:
                    stack.callback(layer.register_forward_pre_hook(ask_for_lse).remove)
                hook = layer.register_forward_hook(partial(listen, visit, name))
            stack.callback(hook.remove)
        yield Tape(tuple(names), found.aliases, eager=found.compiled)


@dataclass(frozen=True)
class Asked:
    """What a recording keeps."""

    heads: slice | tuple[int, ...] | None
    rows: slice | tuple[int, ...] | None
    keep: frozenset[str]
    statistics: frozenset[str]
    top: int

    @property
    def wants_lse(self) -> bool:
        """Would the lse of the engine save work?"""
        return "lse" in self.keep or (bool(self.statistics) and not self.keep & {"weights", "scores"})

    @classmethod
    def of(cls, heads: Numbers | None, rows: Numbers | None, keep: str | Iterable[str], top: int) -> "Asked":
        """Check what was asked for."""
        names = {keep} if isinstance(keep, str) else set(keep)
        unknown = names - set(WHOLE) - set(STATISTICS)
        if unknown or not names:
            raise RecordingError(
                f"keep must name what to record, among {', '.join(WHOLE)} and the statistics {', '.join(STATISTICS)}; "
                f'got {", ".join(sorted(map(repr, unknown))) or "nothing"}. Usual fix: keep=("weights",).'
            )
        if not isinstance(top, int) or isinstance(top, bool) or top < 1:
            raise RecordingError(
                f"top must be a whole number of at least 1; got {top!r}. Usual fix: leave it away for 5."
            )
        statistics = set(STATISTICS) if "stats" in names else names & set(STATISTICS)
        return cls(as_numbers("heads", heads), as_numbers("rows", rows), frozenset(names), frozenset(statistics), top)


def ask_for_lse(attend: nn.Module, inputs: tuple[Call, ...]) -> tuple[Call, ...] | None:
    """
    Before the call: ask the engine for the lse, if it can give it by the way and is the engine that runs anyhow.

    Gradients of score parts would take another path with the lse, so a call that learns them is left as it is.
    """
    call = inputs[0]
    if call.score and torch.is_grad_enabled():
        return None
    engine, asking = choose(call, attend.engine), replace(call, return_lse=True)  # type: ignore[arg-type]
    return None if engine.why_not(asking) or choose(asking, attend.engine) is not engine else (asking,)  # type: ignore[arg-type]


def listen(visit: Visit, name: str, module: nn.Module, inputs: tuple[Call, ...], result: Any) -> Any:
    """After the call: tell of it. What comes back to the layer is the output alone, as it would be without a recording."""
    output, lse = result if isinstance(result, tuple) else (result, None)
    # Activation checkpointing calls the layer a second time, inside the backward pass.
    if torch._C._current_graph_task_id() == -1:
        visit(name, inputs[0], lse)
    return output


def listen_to_torch(
    visit: Visit, name: str, layer: nn.MultiheadAttention, inputs: tuple[Any, ...], named: dict[str, Any], result: Any
) -> None:
    """After the call of PyTorch's own layer: tell of the call that it made."""
    if torch._C._current_graph_task_id() == -1:
        visit(name, call_of(layer, inputs, named), None)


@contextmanager
def without_fast_path() -> Iterator[None]:
    """Inside, PyTorch's encoder calls its layers one by one; its fast path for evaluation goes past them."""
    before = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        yield
    finally:
        torch.backends.mha.set_fastpath_enabled(before)


@torch.no_grad()
def record_call(call: Call, name: str, asked: Asked, lse: Tensor | None) -> Record:
    """Compute again what was asked for."""
    heads = numbers_of("heads", asked.heads, call.grid.heads, name)
    rows = numbers_of("rows", asked.rows, call.grid.queries, name)
    # Autocast would compute the scores in half precision once more.
    with torch.autocast(call.query.device.type, enabled=False):
        kept, statistics = gather(Recomputation(call, heads, rows), asked, lse)
    query_positions, key_positions = position_rows(call.grid)
    return Record(
        name,
        heads,
        rows,
        query_positions[:, list(rows)].clone(),
        key_positions.clone(),
        kept,
        statistics,
    )


def gather(source: Recomputation, asked: Asked, lse: Tensor | None) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """Go through the blocks once; each adds its heads and rows to all that is kept."""
    grid, keep = source.call.grid, asked.keep
    number = torch.promote_types(source.call.query.dtype, torch.float32)
    sizes = (grid.batch, len(source.heads), len(source.rows))
    kept: dict[str, Tensor] = {}
    if "qk" in keep:
        # Copies, since a cache goes on writing into the storage of the keys.
        kept["query"], kept["key"] = source.query[:, :, list(source.rows)].clone(), source.key.clone()
    maps = [name for name in ("weights", "scores") if name in keep]
    for name in maps:
        empty = 0.0 if name == "weights" else -torch.inf
        kept[name] = torch.full((*sizes, grid.keys), empty, dtype=number, device=grid.device)
    statistics = Statistics(source, asked.statistics, asked.top)
    if "lse" in keep:
        kept["lse"] = torch.full(sizes, -torch.inf, dtype=number, device=grid.device)
        if lse is not None:
            kept["lse"] = lse.detach()[:, list(source.heads)][:, :, list(source.rows)].to(number)
    # Weights come from the softmax of their own row, so that they sum to 1; for statistics the lse of the engine is near enough.
    if lse is not None and not maps:
        source = replace(source, lse=lse.detach())
        if needs_entropy_only(source, asked.statistics):
            return kept, from_mean_keys(source, asked.statistics)
    if maps or asked.statistics or ("lse" in keep and lse is None):
        for block in source.blocks():
            put(kept, block)
            statistics.add(block)
    return kept, statistics.tables


def put(kept: dict[str, Tensor], block: Block) -> None:
    """Write a block where it belongs; the columns that no row of the block sees keep their first value."""
    columns = slice(*block.grid.columns)
    if "weights" in kept:
        kept["weights"][:, block.heads, block.rows, columns] = block.weights
    if "scores" in kept:
        kept["scores"][:, block.heads, block.rows, columns] = block.scores
    if "lse" in kept:
        kept["lse"][:, block.heads, block.rows] = block.lse


def run_eagerly(compiled: bool, *, stacklevel: int = 7) -> Any:
    """Inside, compiled code runs as it is written: hooks that came after compiling would not be called otherwise."""
    if compiled:
        warnings.warn(
            "A recording or ablation runs this compiled model as it is written (torch.compiler.set_stance('force_eager')): compiled code "
            "calls no hooks. The output differs by rounding from that of the compiled model.",
            RecordingWarning,
            stacklevel=stacklevel,
        )
    # A function compiled around the model cannot be seen from the model. Nothing has been compiled at all while the compiler
    # has not been loaded, and loading it would take a second.
    if not compiled and "torch._dynamo" not in sys.modules:
        return nullcontext()
    stance: Callable[[str], Any] = torch.compiler.set_stance
    return stance("force_eager")
