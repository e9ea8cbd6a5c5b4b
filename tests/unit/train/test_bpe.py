"""The byte-pair encoding in plain Python is that of the library."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import pre_tokenizers

from headwise.train.bpe import learn, words
from headwise.train.manual import manual
from headwise.train.subwords import train_bpe

TEXTS = [
    "the quick brown fox jumps over the lazy dog\n" * 20,
    "aaaa aaaaa aaa aa baaab " * 3,
    "größe naïve 日本語 日本 😀😀 x² 10½",
    "don't we'll they've I'm he'd it's  tabs\tand\n\n  lines \n",
]
# Characters that Unicode has not assigned may be letters in one table and signs in another.
CHARACTERS = st.characters(exclude_categories=["Cn", "Cs"])


def library_merges(text, vocab):
    merges = json.loads(train_bpe([text], vocab=vocab).to_json())["model"]["merges"]
    return [tuple(each) if isinstance(each, list) else tuple(each.split(" ")) for each in merges]


def our_merges(bpe):
    printable = [byte for byte in range(256) if byte not in (*range(33), *range(127, 161), 173)]
    others = [byte for byte in range(256) if byte not in printable]
    signs = {byte: chr(byte) for byte in printable} | {byte: chr(256 + number) for number, byte in enumerate(others)}
    shown = ["".join(signs[byte] for byte in content) for content in bpe.content]
    return [(shown[left], shown[right]) for left, right in bpe.ranks]


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("vocab", [256, 270, 400])
def test_the_joins_and_the_tokens_are_those_of_the_library(text, vocab):
    ours, theirs = learn(text, vocab=vocab), train_bpe([text], vocab=vocab)
    assert our_merges(ours) == library_merges(text, vocab)
    assert len(ours.content) == theirs.vocab
    for other in TEXTS:
        assert ours.encode(other) == theirs.encode(other).tolist()


def test_a_real_text_is_learned_as_the_library_learns_it():
    text = manual()[3][:6000]
    ours, theirs = learn(text, vocab=500), train_bpe([text], vocab=500)
    assert our_merges(ours) == library_merges(text, 500)
    assert ours.encode(manual()[5][:3000]) == theirs.encode(manual()[5][:3000]).tolist()


@given(st.text(CHARACTERS))
def test_words_are_cut_as_the_library_cuts_them(text):
    theirs = pre_tokenizers.ByteLevel(add_prefix_space=False).pre_tokenize_str(text)
    assert list(words(text)) == [text[begin:end] for _, (begin, end) in theirs]


@given(st.text(st.sampled_from("ab c\n'1!"), max_size=40))
def test_any_text_is_learned_and_read_back(text):
    ours, theirs = learn(text, vocab=290), train_bpe([text], vocab=290)
    assert our_merges(ours) == library_merges(text, 290)
    assert ours.encode(text) == theirs.encode(text).tolist()
    assert ours.decode(ours.encode(text)) == text


@given(st.text())
def test_every_text_reads_back(text):
    bpe = learn(TEXTS[0], vocab=280)
    assert bpe.decode(bpe.encode(text)) == text
