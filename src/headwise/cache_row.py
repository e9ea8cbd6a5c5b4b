"""
---
title: A row of the cache
summary: What one layer has stored, in a storage that grows.
---

# What one layer has stored

Besides keys and values a row keeps **where** each key stands (its position) and **whether** it is a token at all (padding), so that a
sequence cut into chunks, in any way, gives what one pass gives.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from headwise.errors import CacheError
from headwise.mask.base import Mask
from headwise.mask.padding import Padding

if TYPE_CHECKING:
    from headwise.cache import KVCache


class CacheRow:
    """
    What one layer has stored.

    * `key` `[B,G,L,D]`, `value` `[B,G,L,E]`: views of the filled part of the storage;
    * `positions`: position of the first key, if they run on evenly from it, else a tensor `[1 or B, L]`;
    * `keep` `[B,L]`: which slots hold a token; None: all of them;
    * `fixed`: is it the memory of cross-attention, which does not grow and of which nothing is forgotten?
    * `seen`, `steps`: tokens that were ever stored, forgotten ones included, and in how many steps;
    * `cache`: the cache whose row it is, if any.
    """

    def __init__(self, cache: "KVCache | None" = None) -> None:
        self.cache = cache
        self.length = 0
        self.seen = 0
        self.steps = 0
        self.fixed = False
        self.positions: int | Tensor = 0
        self.keep: Bool[Tensor, "B L"] | None = None
        self._key: Tensor | None = None
        self._value: Tensor | None = None

    @property
    def key(self) -> Float[Tensor, "B G L D"]:
        assert self._key is not None, "an empty row has no keys"
        return self._key[:, :, : self.length]

    @property
    def value(self) -> Float[Tensor, "B G L E"]:
        assert self._value is not None, "an empty row has no values"
        return self._value[:, :, : self.length]

    def append(self, key: Float[Tensor, "B G L D"], value: Float[Tensor, "B G L E"]) -> None:
        """Store keys and values of new tokens behind those that are there."""
        if self.length:
            self._check(key, value)
        new = key.shape[2]
        if self.cache is not None and not self.fixed:
            self.cache.check_pace(self, new)
        self._key = _extended(self._key, self.length, key)
        self._value = _extended(self._value, self.length, value)
        self.length += new
        self.seen += new
        self.steps += 1

    def evict(self, count: int) -> None:
        """Forget the oldest `count` tokens. Those that stay keep their positions."""
        count = max(0, min(check_count(count), self.length))
        if self.fixed or count == 0:
            return
        assert self._key is not None and self._value is not None, "a row with tokens has a storage"
        self._key, self._value = self._key[:, :, count:], self._value[:, :, count:]
        self.length -= count
        self.positions = self.positions[:, count:] if isinstance(self.positions, Tensor) else self.positions + count
        self.keep = None if self.keep is None else self.keep[:, count:]

    def __deepcopy__(self, memo: dict[int, object]) -> "CacheRow":
        """A row of no cache, whose keys may be the results of a computation that has gradients."""
        return self.copy(None)

    def place(self, given: int | Tensor | None, new: int) -> int | Tensor:
        """
        Positions of `new` tokens, and note them for the keys: given ones, or those that follow what is stored.

        Call it before `append`.
        """
        following = self.following(new) if given is None else given
        if self.length == 0:
            self.positions = following
        elif (
            isinstance(following, Tensor)
            or isinstance(self.positions, Tensor)
            or following != self.positions + self.length
        ):
            old, added = _tensor(self.positions, self.length, following), _tensor(following, new, self.positions)
            batch = max(old.shape[0], added.shape[0])
            self.positions = torch.cat([old.expand(batch, -1).to(added.device), added.expand(batch, -1)], dim=1)
        return following

    def following(self, new: int) -> int | Tensor:
        """Positions of `new` tokens behind those that are stored."""
        if isinstance(self.positions, Tensor):
            return self.positions[:, -1:] + 1 + torch.arange(new, device=self.positions.device)
        return self.positions + self.length

    def remember(self, mask: Mask, new: int) -> Mask:
        """
        Note which slots hold a token, and return the mask that hides the others. Call it after `append`.

        Flags come from a `Padding` in the mask, with a column for every key. Without one, the flags of before hold, and new
        tokens count as real.
        """
        keep = mask.facts().keep
        if keep is None and self.keep is not None:
            keep = torch.cat([self.keep, self.keep.new_ones(self.keep.shape[0], new)], dim=1)
            mask = mask & Padding(keep)
        # A copy: what the caller does to the tensor later is not the cache's business.
        self.keep = None if keep is None else keep.clone()
        return mask

    def check_memory(self, memory: Float[Tensor, "B L C"]) -> None:
        """The memory of cross-attention is fixed by the first call; a memory of another size is another memory."""
        batch, length = self.key.shape[0], self.length
        if not self.fixed:
            raise CacheError(
                f"a row of a cache serves self-attention or cross-attention; this one holds {length} tokens of self-attention, and the call "
                "passes key=. Usual fix: a KVCache() of its own for cross-attention."
            )
        if memory.shape[:2] != (batch, length):
            raise CacheError(
                f"cross-attention keeps the keys of its first call, {batch} sequences of {length}; this call brings {list(memory.shape)}. "
                "Usual fix: a new KVCache() for a new memory."
            )

    def copy(self, cache: "KVCache | None") -> "CacheRow":
        """The same contents in a storage of its own, as a row of another cache, or of none."""
        row = CacheRow()
        row.__dict__.update(
            {name: held.clone() if isinstance(held, Tensor) else held for name, held in self.__dict__.items()}
        )
        row.cache = cache
        return row

    @contextmanager
    def step(self) -> Iterator[None]:
        """All or nothing: if the step raises, the row is as it was before."""
        before = dict(self.__dict__)
        try:
            yield
        except BaseException:
            self.__dict__.update(before)
            raise

    @property
    def held_bytes(self) -> int:
        """Memory that the row holds, places not yet filled included."""
        return sum(held.untyped_storage().nbytes() for held in (self._key, self._value) if held is not None)

    def __repr__(self) -> str:
        if self._key is None:
            return "CacheRow(empty)"
        batch, heads, capacity, _ = self._key.shape
        return (
            f"CacheRow(length={self.length}, capacity={capacity}, batch={batch}, heads={heads}, dtype={self._key.dtype}, "
            f"device={self._key.device}, bytes={self.held_bytes}{', fixed' if self.fixed else ''})"
        )

    def _check(self, key: Tensor, value: Tensor) -> None:
        if self.fixed:
            raise CacheError(
                f"a row of a cache serves self-attention or cross-attention; this one holds a memory of {self.length} tokens, and the call "
                "passes no key=. Usual fix: a KVCache() of its own for cross-attention."
            )
        for name, old, new in (("key", self.key, key), ("value", self.value, value)):
            same = old.shape[:2] == new.shape[:2] and old.shape[3] == new.shape[3]
            if not same or old.dtype != new.dtype or old.device != new.device:
                raise CacheError(
                    f"a cache goes on with the batch, heads, features, dtype and device that it began with; it holds {name}s {list(old.shape)} "
                    f"{old.dtype} on {old.device}, this call brings {list(new.shape)} {new.dtype} on {new.device}. "
                    "Usual fix: a new KVCache() for a new batch or another model."
                )


def _extended(storage: Tensor | None, length: int, new: Tensor) -> Tensor:
    # Gradients need every version of the storage, so with gradients the parts are joined anew; without them, they are
    # written into a storage that doubles when full: each token is then copied a bounded number of times.
    if storage is None:
        return new
    if torch.is_grad_enabled() and (new.requires_grad or storage.requires_grad):
        return torch.cat([storage[:, :, :length], new], dim=2)
    total = length + new.shape[2]
    # A tensor of inference mode may not be written to outside of it; a graph that is being compiled cannot be asked, and raises when it runs.
    foreign = not torch.compiler.is_compiling() and storage.is_inference() and not torch.is_inference_mode_enabled()
    if total > storage.shape[2] or storage.requires_grad or foreign or length == new.shape[2] == storage.shape[2]:
        grown = storage.new_zeros(*storage.shape[:2], max(total, 2 * length), storage.shape[3])
        grown[:, :, :length] = storage[:, :, :length]
        storage = grown
    storage[:, :, length:total] = new
    return storage


def _tensor(positions: int | Tensor, length: int, like: int | Tensor) -> Tensor:
    if isinstance(positions, Tensor):
        return positions if positions.dim() == 2 else positions[None]
    device = like.device if isinstance(like, Tensor) else None
    return torch.arange(positions, positions + length, device=device)[None]


def check_count(count: int) -> int:
    """Return how many tokens are to be forgotten, which must be a whole number."""
    if not isinstance(count, int) or isinstance(count, bool):
        raise CacheError(
            f"evict(count) must be a whole number of tokens; got {count!r}. Usual fix: cache.evict(int(count))."
        )
    return count
