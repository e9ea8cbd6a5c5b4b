r"""
---
title: Byte-pair encoding in plain Python
summary: How subwords are learned and used, in a few functions that agree with the tokenizers library token by token.
---

# Byte-pair encoding in plain Python

A model that reads characters needs many steps for a word; one that reads words knows none that it has not seen. Byte-pair encoding
stands between them. It begins with the 256 bytes, which can write every text, and joins neighbours that often stand together:

$$\text{next token} = \arg\max_{(a, b)} \text{count}(a\,b)$$

The pair becomes a token of its own, all of its places are replaced, and the counting starts again, until the vocabulary is full.
A text is encoded by the same joins in the same order.

A training uses the library (`subwords.py`), which is some hundred times faster. This page is for reading; a test holds both equal.

*Source.* Sennrich et al., 2016, "Neural machine translation of rare words with subword units", https://arxiv.org/abs/1508.07909.

```python
>>> bpe = learn("low lower newer lower wider low", vocab=260)
>>> [bpe.content[token] for token in range(256, 260)]
[b'er', b'lo', b'low', b' low']
>>> [bpe.content[token] for token in bpe.encode("lower slow")]
[b'low', b'er', b' ', b's', b'low']
>>> bpe.decode(bpe.encode("größer als slow"))
'größer als slow'

```
"""

import itertools
import unicodedata
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

Pair = tuple[int, int]

ENDINGS = ("'s", "'t", "'re", "'ve", "'m", "'ll", "'d")
# The first 256 tokens are the bytes. Their order decides which of two equally frequent pairs comes first, and the library
# begins with those that it can print.
BYTES = sorted(range(256), key=lambda byte: (byte in (*range(33), *range(127, 161), 173), byte))


# ## 1. Words


def words(text: str) -> Iterator[str]:
    """Cuts a text into words; pairs are joined inside of words only.

    Without this, "dog." and "dog!" would become tokens of their own because both are frequent. A word is a run of letters, of digits or
    of other signs, with the space before it. A longer run of spaces leaves its last one to the word behind it.

    ```python
    >>> list(words("It's  42 dogs!\\n"))
    ['It', "'s", ' ', ' 42', ' dogs', '!', '\\n']

    ```
    """
    place = 0
    while place < len(text):
        end = _end_of_word(text, place)
        yield text[place:end]
        place = end


def _end_of_word(text: str, place: int) -> int:
    # English endings are words of their own, so that "dog" and "dog's" share a token.
    for ending in ENDINGS:
        if text.startswith(ending, place):
            return place + len(ending)
    # One space belongs to the run behind it.
    begin = place + 1 if text[place] == " " and _kind(text, place + 1) not in ("space", "end") else place
    kind = _kind(text, begin)
    end = begin
    while _kind(text, end) == kind:
        end += 1
    # The last space of a run goes to what follows, unless nothing follows or it is the only one.
    return end - 1 if kind == "space" and end < len(text) and end - begin > 1 else end


def _kind(text: str, place: int) -> str:
    if place >= len(text):
        return "end"
    # Python counts four control characters as spaces, Unicode does not.
    if text[place].isspace() and text[place] not in "\x1c\x1d\x1e\x1f":
        return "space"
    return {"L": "letters", "N": "digits"}.get(unicodedata.category(text[place])[0], "signs")


# ## 2. Learning


def learn(text: str, *, vocab: int) -> "BytePairs":
    """Learns joins from a text until there are `vocab` tokens, or until no pair is left.

    *Units.* `vocab` includes the 256 bytes.
    """
    # Equal words are joined in equal ways, so each is kept once, with its number.
    counted = Counter(words(text))
    spelled = {word: [BYTES.index(byte) for byte in word.encode()] for word in counted}
    bpe = BytePairs([bytes([byte]) for byte in BYTES])
    while len(bpe.content) < vocab:
        pairs = Counter[Pair]()
        for word, tokens in spelled.items():
            for pair in itertools.pairwise(tokens):
                pairs[pair] += counted[word]
        if not pairs:
            break
        # Among equally frequent pairs the one with the smaller tokens comes first; any rule would do, but there must be one.
        best = min(pairs, key=lambda pair: (-pairs[pair], pair))
        token = bpe.add(best)
        for word, tokens in spelled.items():
            spelled[word] = joined(tokens, best, token)
    return bpe


def joined(tokens: list[int], pair: Pair, token: int) -> list[int]:
    """The tokens with each place of the pair replaced by one token, from left to right.

    ```python
    >>> joined([1, 1, 1, 2], (1, 1), 9)
    [9, 1, 2]

    ```
    """
    found: list[int] = []
    place = 0
    while place < len(tokens):
        here = tuple(tokens[place : place + 2]) == pair
        found.append(token if here else tokens[place])
        place += 2 if here else 1
    return found


# ## 3. Using


@dataclass
class BytePairs:
    """What was learned: the bytes of each token, and the rank and the token of each pair."""

    content: list[bytes]
    ranks: dict[Pair, int] = field(default_factory=dict)
    tokens: dict[Pair, int] = field(default_factory=dict)

    def add(self, pair: Pair) -> int:
        """The token of a new pair. Two ways can lead to the same bytes, a + bc and ab + c; then they share one token."""
        content = self.content[pair[0]] + self.content[pair[1]]
        if content not in self.content:
            self.content.append(content)
        self.ranks[pair] = len(self.ranks)
        self.tokens[pair] = self.content.index(content)
        return self.tokens[pair]

    def encode(self, text: str) -> list[int]:
        """The tokens of a text."""
        return [token for word in words(text) for token in self._encode_word(word)]

    def _encode_word(self, word: str) -> list[int]:
        tokens = [BYTES.index(byte) for byte in word.encode()]
        while True:
            pairs = [pair for pair in itertools.pairwise(tokens) if pair in self.ranks]
            if not pairs:
                return tokens
            # The pair that was learned first is joined first: later ones were counted when it was joined already.
            first = min(pairs, key=self.ranks.__getitem__)
            tokens = joined(tokens, first, self.tokens[first])

    def decode(self, tokens: list[int]) -> str:
        """The text of tokens; bytes that are no whole character become the replacement character."""
        return b"".join(self.content[token] for token in tokens).decode("utf-8", "replace")
