"""
---
title: The tape
summary: What a recording holds, and what it says when asked for something that it does not hold.
---

# The tape

A recording is a mapping from the name of a layer to a list with one `Record` for each call of that layer. Nothing on it is
ever empty, averaged or `None` in silence: what was not kept, not called or not there raises an error that says so.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor

from headwise.errors import HeadwiseError


class RecordingError(HeadwiseError, KeyError):
    """A recording is asked for something that it cannot or did not keep."""

    def __str__(self) -> str:
        # A KeyError shows its message in quotes, as if it were a key.
        return str(self.args[0])


@dataclass(frozen=True, eq=False)
class Record:
    """
    One call of one layer: what was asked for, for the heads and rows that were asked for.

    * `heads` (H numbers) and `rows` (I numbers) say which heads and queries of the call the tensors are about;
    * `query_positions` `[1 or B, I]` and `key_positions` `[1 or B, J]` say where these tokens stand in their sequence.

    All tensors are detached. Weights are before dropout.
    """

    layer: str
    heads: tuple[int, ...]
    rows: tuple[int, ...]
    query_positions: Tensor
    key_positions: Tensor
    kept: Mapping[str, Tensor]
    measured: Mapping[str, Tensor]

    @property
    def weights(self) -> Float[Tensor, "B H I J"]:
        """The share of each key, before dropout: rows sum to 1, or to 0 where a query sees no key."""
        return self._get("weights")

    @property
    def scores(self) -> Float[Tensor, "B H I J"]:
        """The scores that the softmax gets: scaled, changed by the score parts, $-\\infty$ where hidden."""
        return self._get("scores")

    @property
    def lse(self) -> Float[Tensor, "B H I"]:
        """The natural logarithm of the softmax's denominator; $-\\infty$ where a query sees no key."""
        return self._get("lse")

    @property
    def query(self) -> Float[Tensor, "B H I D"]:
        """The queries, turned by their positions."""
        return self._get("query", "qk")

    @property
    def key(self) -> Float[Tensor, "B H J D"]:
        """The keys, turned by their positions; a key head that serves several query heads appears once for each of them."""
        return self._get("key", "qk")

    @property
    def stats(self) -> Mapping[str, Tensor]:
        """Statistics by name; see `headwise.recording.statistics`."""
        if not self.measured:
            raise _not_kept("stats", "stats", self.layer)
        return self.measured

    def _get(self, name: str, asked: str | None = None) -> Tensor:
        if name not in self.kept:
            raise _not_kept(name, asked or name, self.layer)
        return self.kept[name]


class Tape(Mapping[str, list[Record]]):
    """
    Records by the name of the layer, as `named_modules()` has it; the layers are those that have been called.

    `layers` are the names of all layers that are listened to, and `eager` says whether a compiled model was run as written.
    """

    def __init__(self, layers: tuple[str, ...], aliases: Mapping[str, str], *, eager: bool) -> None:
        self.layers = layers
        self.eager = eager
        self._aliases = aliases
        self._records: dict[str, list[Record]] = {}

    def append(self, record: Record) -> None:
        """Add the record of a call."""
        self._records.setdefault(record.layer, []).append(record)

    def __getitem__(self, name: str) -> list[Record]:
        # A layer that stands in a model under several names is one layer; each of its names finds it.
        name = self._aliases.get(name, name)
        if name not in self.layers:
            raise RecordingError(
                f"a recording holds the layers that it was asked for, {_names(self.layers)}; got {name!r}. "
                "Usual fix: one of these names, or layers=None for all layers."
            )
        if name not in self._records:
            raise RecordingError(
                f"layer {name!r} must be called inside the with block to be recorded; it was not called. "
                "Usual fix: run the model inside `with hw.record(model) as tape:`."
            )
        return self._records[name]

    def __iter__(self) -> Iterator[str]:
        # In the order of the model, whatever the order of the calls.
        return (name for name in self.layers if name in self._records)

    def __len__(self) -> int:
        return len(self._records)

    def __repr__(self) -> str:
        calls = sum(len(records) for records in self._records.values())
        return f"Tape({len(self)} of {len(self.layers)} layers called, {calls} calls)"


def _names(names: tuple[str, ...]) -> str:
    shown = ", ".join(repr(name) for name in names[:8])
    return shown if len(names) <= 8 else f"{shown} and {len(names) - 8} more"


def _not_kept(name: str, asked: str, layer: str) -> RecordingError:
    return RecordingError(
        f"{name} must be asked for before the call; the recording of layer {layer!r} did not keep it. "
        f'Usual fix: hw.record(model, keep=("{asked}", ...)).'
    )
