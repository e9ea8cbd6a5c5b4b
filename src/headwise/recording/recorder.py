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
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from headwise.call import Call
from headwise.recording.choose import Numbers, as_numbers, choose_layers, find_layers, numbers_of
from headwise.recording.recompute import Block, Recomputation
from headwise.recording.statistics import STATISTICS, Statistics
from headwise.recording.tape import Record, RecordingError, Tape
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
    found = find_layers(model)
    names = choose_layers(found.layers, layers)
    compiled = found.compiled
    tape = Tape(tuple(names), found.aliases, eager=compiled)
    with ExitStack() as stack:
        stack.enter_context(run_eagerly(compiled))
        for name in names:
            handle = found.layers[name].register_forward_hook(partial(listen, tape, name, asked))
            stack.callback(handle.remove)
        yield tape


@dataclass(frozen=True)
class Asked:
    """What a recording keeps."""

    heads: slice | tuple[int, ...] | None
    rows: slice | tuple[int, ...] | None
    keep: frozenset[str]
    statistics: frozenset[str]
    top: int

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


def listen(tape: Tape, name: str, asked: Asked, module: nn.Module, inputs: tuple[Call, ...], output: Any) -> None:
    """The hook: one call, recorded. It returns nothing, so the output stays what it is."""
    # Activation checkpointing calls the layer a second time, inside the backward pass.
    if torch._C._current_graph_task_id() != -1:
        return
    tape.append(record_call(inputs[0], name, asked))


@torch.no_grad()
def record_call(call: Call, name: str, asked: Asked) -> Record:
    """Compute again what was asked for."""
    heads = numbers_of("heads", asked.heads, call.grid.heads, name)
    rows = numbers_of("rows", asked.rows, call.grid.queries, name)
    # Autocast would compute the scores in half precision once more.
    with torch.autocast(call.query.device.type, enabled=False):
        source = Recomputation(call, heads, rows)
        kept, statistics = gather(source, asked)
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


def gather(source: Recomputation, asked: Asked) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """Go through the blocks once; each adds its rows to all that is kept."""
    grid, keep = source.call.grid, asked.keep
    number = torch.promote_types(source.call.query.dtype, torch.float32)
    sizes = (grid.batch, len(source.heads), len(source.rows))
    kept: dict[str, Tensor] = {}
    if "qk" in keep:
        # Copies, since a cache goes on writing into the storage of the keys.
        kept["query"], kept["key"] = source.query[:, :, list(source.rows)].clone(), source.key.clone()
    for name, size, empty in (
        ("weights", (grid.keys,), 0.0),
        ("scores", (grid.keys,), -torch.inf),
        ("lse", (), -torch.inf),
    ):
        if name in keep:
            kept[name] = torch.full((*sizes, *size), empty, dtype=number, device=grid.device)
    statistics = Statistics(source, asked.statistics, asked.top)
    if keep != {"qk"}:
        for block in source.blocks():
            put(kept, block)
            statistics.add(block)
    return kept, statistics.tables


def put(kept: dict[str, Tensor], block: Block) -> None:
    """Write a block where it belongs; the columns that no row of the block sees keep their first value."""
    columns = slice(*block.grid.columns)
    if "weights" in kept:
        kept["weights"][:, :, block.place, columns] = block.weights
    if "scores" in kept:
        kept["scores"][:, :, block.place, columns] = block.scores
    if "lse" in kept:
        kept["lse"][:, :, block.place] = block.lse


def run_eagerly(compiled: bool) -> Any:
    """Inside, compiled code runs as it is written: hooks that came after compiling would not be called otherwise."""
    if compiled:
        warnings.warn(
            "A recording runs this compiled model as it is written (torch.compiler.set_stance('force_eager')): compiled code calls no hooks. "
            "The output differs by rounding from that of the compiled model.",
            RecordingWarning,
            stacklevel=5,
        )
    # A function compiled around the model cannot be seen from the model. Nothing has been compiled at all while the compiler
    # has not been loaded, and loading it would take a second.
    if not compiled and "torch._dynamo" not in sys.modules:
        return nullcontext()
    stance: Callable[[str], Any] = torch.compiler.set_stance
    return stance("force_eager")
