"""
---
title: The cache
summary: Keys and values of the tokens so far, so that each is computed once.
---

# Keys and values, kept

A model that writes token after token would compute the keys and values of the same past again at each step. A `KVCache` keeps them.
One cache serves a whole model: it has one row of storage for each layer, made when the layer first asks.

What a row holds, besides keys and values, says [the page of a row](cache_row.py); a sequence cut into chunks, in any way, gives what
one pass gives.
"""

from collections.abc import Hashable, Iterator
from contextlib import ExitStack, contextmanager

from jaxtyping import Bool
from torch import Tensor

from headwise.cache_row import CacheRow as CacheRow
from headwise.cache_row import check_count
from headwise.errors import CacheError


class KVCache:
    """
    Keys and values of a whole model.

    ```python
    >>> layer, cache = MultiHeadAttention(64, heads=4, mask=Causal()).eval(), KVCache()
    >>> tokens = torch.randn(2, 7, 64)
    >>> chunks = [layer(chunk, cache=cache) for chunk in tokens.split(3, dim=1)]
    >>> torch.allclose(torch.cat(chunks, dim=1), layer(tokens), atol=1e-6), cache.length
    (True, 7)
    ```

    *Units*: `length` counts the tokens stored, padding included; it is a whole number, not a view of a counter.

    *Edge*: a layer that a model of your own calls at several depths needs a row for each: pass it `cache.row(depth)`.

    *Errors*: a cache serves the model that filled it, and its layers keep pace; `CacheError` for another model, or a layer left out before.
    """

    def __init__(self) -> None:
        self._rows: dict[Hashable, CacheRow] = {}
        self._closed = False

    @property
    def _first(self) -> CacheRow | None:
        # A row without tokens says nothing. Memories of cross-attention are as long as the other text, and count where there is nothing else.
        growing = next((row for row in self._rows.values() if row.seen and not row.fixed), None)
        return growing or next((row for row in self._rows.values() if row.seen), None)

    @property
    def length(self) -> int:
        """Tokens stored so far."""
        return 0 if self._first is None else self._first.length

    @property
    def keep(self) -> Bool[Tensor, "B L"] | None:
        """Which stored slots hold a token; None: all of them."""
        return None if self._first is None else self._first.keep

    def following(self, new: int) -> int | Tensor:
        """Positions of `new` tokens behind those that are stored."""
        return 0 if self._first is None else self._first.following(new)

    @contextmanager
    def step(self) -> Iterator[None]:
        """All or nothing, for a whole model: if the step raises, every row is as it was before."""
        rows, closed = dict(self._rows), self._closed
        # A model opens all of its rows in its first step, so a row that is asked for later is that of another model.
        self._closed = self._first is not None
        try:
            with ExitStack() as steps:
                for row in rows.values():
                    steps.enter_context(row.step())
                yield
        except BaseException:
            self._rows = rows
            raise
        finally:
            self._closed = closed

    def evict(self, count: int) -> None:
        """
        Forget the oldest `count` tokens of every layer; the memory of cross-attention stays.

        What stays was computed when the tokens that go were still there: deeper layers remember them.
        """
        check_count(count)
        for row in self._rows.values():
            row.evict(count)

    def row(self, owner: Hashable) -> CacheRow:
        """The row of this owner (a layer, or a stack and a depth), made on first use."""
        row = self._rows.get(owner)
        if row is None:
            if self._closed:
                raise _another(self.length, "nothing")
            row = self._rows[owner] = CacheRow(self)
        return row

    def check_pace(self, row: CacheRow, new: int) -> None:
        """
        Raise if this row is to get `new` tokens, and lacks tokens that other layers have.

        An empty row would silently stand for the past. In a step some layers have the new tokens already and some do not yet; all rows
        are opened in the first one.
        """
        first = self._first
        if first is None or first is row or first.fixed:
            return
        late = row.steps == 0 and first.steps > 1
        if late or row.seen not in (first.seen, first.seen - new):
            raise _another(first.seen, f"{row.seen} of them")

    def __repr__(self) -> str:
        rows = [row for row in self._rows.values() if row._key is not None]
        growing = [row for row in rows if not row.fixed]
        if not rows:
            return "KVCache(empty)"
        key = (growing or rows)[0]._key
        assert key is not None, "only rows with a storage are counted"
        memories = f", memories={len(rows) - len(growing)}" if len(rows) > len(growing) else ""
        return (
            f"KVCache(layers={len(growing)}{memories}, batch={key.shape[0]}, length={self.length}, capacity={key.shape[2]}, "
            f"dtype={key.dtype}, device={key.device}, bytes={sum(row.held_bytes for row in rows)})"
        )

    def __deepcopy__(self, memo: dict[int, object]) -> "KVCache":
        """
        A copy for another continuation of the same tokens.

        It serves the same layers, so these are not copied along; it serves their copies where they were copied before it, as parts of one object.
        """
        fork = KVCache()
        fork._rows = {_copied(owner, memo): row.copy(fork) for owner, row in self._rows.items()}
        return fork


def row_of(cache: KVCache | CacheRow | None, owner: Hashable) -> CacheRow | None:
    """The row that a layer writes to, from whatever a caller may give as its cache."""
    if cache is None or isinstance(cache, CacheRow):
        return cache
    if isinstance(cache, KVCache):
        return cache.row(owner)
    raise CacheError(
        f"cache must be a KVCache, one of its rows, or None; got {type(cache).__name__}. Usual fix: cache = KVCache(), kept from step to step."
    )


def check_cache(cache: object) -> None:
    """Raise if this cannot be the cache of a stack of layers, which needs a row for each."""
    if cache is not None and not isinstance(cache, KVCache):
        raise CacheError(
            f"the cache of a whole model must be a KVCache or None; got {type(cache).__name__}. Usual fix: cache = KVCache(), kept from step to step."
        )


def _copied(owner: Hashable, memo: dict[int, object]) -> Hashable:
    if isinstance(owner, tuple):
        return tuple(_copied(each, memo) for each in owner)
    copied = memo.get(id(owner), owner)
    return copied if isinstance(copied, Hashable) else owner


def _another(held: int, has: str) -> CacheError:
    return CacheError(
        f"a cache serves the layers of the model that filled it; it holds {held} tokens, and a layer that now asks for it has stored {has}. "
        "Usual fix: a KVCache() for each model, and for each stack that reads at a pace of its own."
    )
