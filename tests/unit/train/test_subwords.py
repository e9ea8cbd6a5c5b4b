"""Bytes, byte-pair encodings, and tokenizers from files."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwise.train.choose_tokenizer import build_tokenizer, load_tokenizer
from headwise.train.config import RunConfig
from headwise.train.subwords import byte_tokenizer, train_bpe
from headwise.train.tokenizer import CharacterTokenizer, TokenizerError

TEXT = "the quick brown fox jumps over the lazy dog\n" * 20
BYTES = byte_tokenizer()
PAIRS = train_bpe([TEXT], vocab=300)


@given(st.text())
def test_every_text_reads_back_exactly(text):
    assert BYTES.decode(BYTES.encode(text)) == text
    assert PAIRS.decode(PAIRS.encode(text)) == text


@given(st.text())
def test_a_byte_is_its_own_token(text):
    assert BYTES.encode(text).tolist() == list(text.encode())
    assert BYTES.vocab == 256


def test_frequent_strings_become_one_token():
    assert len(PAIRS.encode(TEXT)) < len(TEXT) / 3
    assert 256 < PAIRS.vocab <= 300


def test_the_same_text_gives_the_same_encoding():
    assert train_bpe([TEXT], vocab=300).to_json() == PAIRS.to_json()


def test_a_vocabulary_smaller_than_the_bytes_is_refused():
    with pytest.raises(TokenizerError, match=r"at least 256.*Got 255"):
        train_bpe([TEXT], vocab=255)


def test_half_of_a_surrogate_pair_is_refused():
    with pytest.raises(TokenizerError, match="surrogate pair at index 1"):
        BYTES.encode("a\ud800")


@pytest.mark.parametrize("token", [-1, 256])
def test_a_token_outside_the_table_is_named_with_its_index(token):
    """Case T10: an id beyond the table."""
    with pytest.raises(TokenizerError, match=f"between 0 and 255. Got {token} at index 1"):
        BYTES.decode([0, token])


@pytest.mark.parametrize("kind", ["characters", "bytes", "bpe"])
def test_each_kind_reads_back_from_its_file(kind, tmp_path):
    tokenizer = build_tokenizer(RunConfig(tokenizer=kind, vocab=280), training=[TEXT], alphabet=TEXT)
    path = tmp_path / "tokenizer.json"
    path.write_text(tokenizer.to_json())
    for again in (load_tokenizer(path), build_tokenizer(RunConfig(tokenizer=str(path)), training=[], alphabet="")):
        assert again.encode(TEXT).tolist() == tokenizer.encode(TEXT).tolist()
        assert isinstance(again, CharacterTokenizer) == (kind == "characters")


@pytest.mark.parametrize("content", ["", "{}", "[1", "3"])
def test_a_damaged_file_is_refused(content, tmp_path):
    path = tmp_path / "tokenizer.json"
    path.write_text(content)
    with pytest.raises(TokenizerError, match=r"tokenizer\.json"):
        load_tokenizer(path)


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(TokenizerError, match="must hold a tokenizer"):
        load_tokenizer(tmp_path / "tokenizer.json")
    with pytest.raises(TokenizerError, match=r"characters, bytes, bpe, or a file\. Got 'words'"):
        build_tokenizer(RunConfig(tokenizer="words"), training=[], alphabet="")


@given(st.text())
def test_the_file_of_the_byte_tokenizer_means_the_same_to_the_library(text):
    assert BYTES.library.encode(text).ids == BYTES.encode(text).tolist()


def test_a_vocabulary_that_no_memory_holds_is_refused():
    with pytest.raises(TokenizerError, match=r"`vocab` must be at most 16,777,216. Got 1,000,000,000,000"):
        train_bpe(["text"], vocab=10**12)
