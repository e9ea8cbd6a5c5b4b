"""Characters to tokens and back."""

import json

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer

from headwise.train.tokenizer import CharacterTokenizer, TokenizerError, parse_characters


@given(st.text(min_size=1))
def test_every_text_of_the_alphabet_reads_back(text):
    """Case T10: decode(encode(s)) == s."""
    tokenizer = CharacterTokenizer.of(text)
    assert tokenizer.decode(tokenizer.encode(text)) == text


def test_an_unknown_character_is_named_with_its_index():
    """Case T10: vocabulary "abc", prompt "abd"."""
    with pytest.raises(
        TokenizerError, match=r"alphabet 'abc'\. Got 'd' \(U\+0064, LATIN SMALL LETTER D\) at index 2, line 1, column 3"
    ):
        CharacterTokenizer("abc").encode("abd")


def test_an_unknown_character_is_named_with_its_line_and_column():
    with pytest.raises(TokenizerError, match="at index 5, line 3, column 2"):
        CharacterTokenizer("ab\n").encode("a\na\nb?a")


def test_a_character_without_a_name_is_shown_by_its_code():
    with pytest.raises(TokenizerError, match=r"U\+0007, a character without a name"):
        CharacterTokenizer("abc").encode("\x07")


@pytest.mark.parametrize("token", [-1, 3])
def test_a_token_outside_the_table_is_named_with_its_index(token):
    """Case T10: an id beyond the table."""
    with pytest.raises(TokenizerError, match=f"between 0 and 2. Got {token} at index 1"):
        CharacterTokenizer("abc").decode(torch.tensor([0, token]))


@pytest.mark.parametrize("alphabet", ["", "aa"])
def test_an_alphabet_has_each_character_once(alphabet):
    with pytest.raises(TokenizerError, match="alphabet"):
        CharacterTokenizer(alphabet)


def test_the_file_is_read_by_the_tokenizers_library():
    tokenizer = CharacterTokenizer.of('ab \n\tü😀\\"')
    text = 'a\nb ü😀\\"\t\n\n a'
    theirs = Tokenizer.from_str(tokenizer.to_json())
    assert theirs.encode(text).ids == tokenizer.encode(text).tolist()
    assert theirs.decode(tokenizer.encode(text).tolist()) == text
    assert theirs.get_vocab_size() == tokenizer.vocab


def test_the_file_reads_back():
    assert parse_characters(json.loads(CharacterTokenizer("zab").to_json())).alphabet == "zab"


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"model": {"type": "WordLevel", "vocab": {"ab": 0}}},
        {"model": {"type": "WordLevel", "vocab": {"a": 1}}},
        {"model": 3},
    ],
)
def test_another_file_is_no_character_tokenizer(change):
    document = json.loads(CharacterTokenizer("zab").to_json())
    assert parse_characters({**document, **change} if change else {}) is None
