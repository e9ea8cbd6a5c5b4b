"""The token file: made once, made anew when something changes, and never larger in memory than a piece."""

import json
import os
import tracemalloc

import numpy as np
import pytest

from headwise.train.choose_tokenizer import build_tokenizer, load_tokenizer
from headwise.train.config import RunConfig
from headwise.train.corpus import Corpus, open_corpus, split_corpus
from headwise.train.data import TextData
from headwise.train.data_error import DataError
from headwise.train.decode import BLOCK, regrouped
from headwise.train.material import Material
from headwise.train.safe_files import locked
from headwise.train.split import survey
from headwise.train.subwords import byte_tokenizer, train_bpe
from headwise.train.token_file import read_header, tokens_of
from headwise.train.tokenizer import CharacterTokenizer

CORPUS = Corpus("many", tuple(f"document {number}: größe \U0001f600\n  and {number * 7} more" for number in range(60)))


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("HEADWISE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def made(corpus=CORPUS, tokenizer=None, **given):
    facts = survey(corpus.stream.documents())
    chosen = tokenizer or CharacterTokenizer.of(facts.alphabet)
    return tokens_of(corpus.stream, facts, chosen, **{"name": "a name", "seed": 3, **given})


@pytest.mark.parametrize("kind", ["characters", "bytes", "bpe"])
def test_the_file_holds_the_tokens_of_both_texts(kind):
    texts = split_corpus(CORPUS, seed=3)
    tokenizer = build_tokenizer(RunConfig(tokenizer=kind, vocab=300), training=[texts[0]], alphabet=CORPUS.text)
    tokens = made(tokenizer=tokenizer)
    for part, text in zip((tokens.training, tokens.validation), texts, strict=True):
        assert np.array_equal(part.tokens, tokenizer.encode(text).numpy())
        assert (part.characters, part.bytes) == (len(text), len(text.encode()))
        assert part.tokens.dtype == np.uint16


def test_the_batches_of_a_file_are_those_of_the_texts_in_memory():
    tokenizer = CharacterTokenizer.of(CORPUS.text)
    data = TextData.of_tokens(made(tokenizer=tokenizer), context=16)
    expected = TextData.of(split_corpus(CORPUS, seed=3), tokenizer, context=16)
    for step in range(3):
        ours, theirs = (each.batch(seed=1, step=step, rows=5) for each in (data, expected))
        assert ours.inputs.tolist() == theirs.inputs.tolist()
        assert ours.targets.tolist() == theirs.targets.tolist()


def test_documents_that_are_kept_apart_end_with_the_mark():
    tokenizer = byte_tokenizer()
    part = made(tokenizer=tokenizer, apart=True).training
    ends = [*part.starts[1:], len(part.tokens)]
    texts = [tokenizer.decode(part.tokens[begin:end].tolist()) for begin, end in zip(part.starts, ends, strict=True)]
    assert set(texts) <= {f"{document}\n\n\n" for document in CORPUS.documents}
    assert 50 < len(texts) < 60


def test_a_file_is_made_once():
    first = made()
    before = first.path.stat().st_mtime_ns
    again = made()
    assert (first.reused, again.reused) == (False, True)
    assert again.path.stat().st_mtime_ns == before
    assert list(first.path.parent.iterdir()) == [first.path]


@pytest.mark.parametrize("change", ["text", "tokenizer"])
def test_a_file_is_made_anew_when_its_origin_changes(change):
    first = made(tokenizer=byte_tokenizer())
    old = first.training.tokens[:9].tolist()
    second = (
        made(Corpus("many", (*CORPUS.documents, "one more")), byte_tokenizer())
        if change == "text"
        else made(tokenizer=train_bpe([CORPUS.text], vocab=300))
    )
    assert second.path == first.path
    assert not second.reused
    # What was mapped before stays as it was.
    assert first.training.tokens[:9].tolist() == old


def test_a_torn_file_is_made_anew():
    first = made()
    os.truncate(first.path, first.path.stat().st_size - 1)
    assert not made().reused


@pytest.mark.parametrize("place", [4096, -1, 4200])
def test_a_file_whose_bytes_changed_at_equal_size_is_made_anew(place):
    first = made()
    tokens = first.training.tokens.tolist()
    content = bytearray(first.path.read_bytes())
    content[place] ^= 1
    # A file of its own: the pages that are mapped stay as they are.
    first.path.unlink()
    first.path.write_bytes(content)
    again = made()
    assert not again.reused
    assert again.training.tokens.tolist() == tokens
    assert made().reused


def test_the_header_says_what_the_file_holds(tmp_path):
    tokens = made()
    header = read_header(tokens.path)
    assert header["origin"]["text"] == CORPUS.digest
    assert header["training"]["tokens"][1] == len(tokens.training.tokens)
    (tmp_path / "other").write_bytes(b"something else")
    with pytest.raises(DataError, match="must begin with 'headwise tokens 1'"):
        read_header(tmp_path / "other")


def test_a_cache_that_cannot_be_written_to_costs_nothing_but_the_next_time(cache):
    cache.write_text("a file where the folder should be")
    tokens = made()
    assert tokens.path is None
    assert len(tokens.training.tokens) > 1000


def test_large_vocabularies_take_four_bytes_a_token():
    class Wide(CharacterTokenizer):
        vocab = 70_000

    tokens = made(tokenizer=Wide.of(CORPUS.text))
    assert tokens.training.tokens.dtype == np.uint32


@pytest.mark.parametrize("size", [5, 17, 64])
@pytest.mark.parametrize("pieces", [[CORPUS.text], list(CORPUS.text), ["x" * 100, " y"]])
def test_tokens_of_pieces_are_tokens_of_the_whole(size, pieces):
    tokenizer = train_bpe([CORPUS.text], vocab=400)
    found = list(regrouped(pieces, size=size))
    assert "".join(found) == "".join(pieces)
    assert max(map(len, found)) <= 2 * size
    if size > 16 and len(pieces) != 2:
        tokens = [token for piece in found for token in tokenizer.encode(piece).tolist()]
        assert tokens == tokenizer.encode("".join(pieces)).tolist()


def test_a_large_corpus_takes_the_memory_of_a_piece(tmp_path):
    """The file has twelve pieces; in memory at once, its tokens alone would take 100 MB."""
    path = tmp_path / "large.jsonl"
    row = json.dumps({"text": "the quick brown fox jumps over the lazy dog. " * 200}) + "\n"
    with path.open("w") as file:
        for _ in range(12 * BLOCK // len(row)):
            file.write(row)
    config = RunConfig(data=f"{path}[text]")
    tracemalloc.start()
    try:
        material = Material.of(config)
        material.baselines(config)
        material.data.batch(seed=1, step=0, rows=8)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(material.data.training) > 10 * BLOCK
    assert peak < 40 * BLOCK


def test_a_large_file_is_one_document_in_pieces(tmp_path):
    path = tmp_path / "large.txt"
    path.write_bytes("ä\r\n".encode() * BLOCK)
    (document,) = open_corpus(str(path)).documents()
    pieces = list(document)
    assert len(pieces) > 3
    assert "".join(pieces) == "ä\n" * BLOCK


def test_the_offset_of_a_wrong_byte_counts_from_the_beginning_of_the_file(tmp_path):
    path = tmp_path / "large.txt"
    # The block ends inside of the two bytes of a character, and the wrong byte is in the second block.
    path.write_bytes(b"a" * (BLOCK - 1) + "ä".encode() + b"bc\xff")
    with pytest.raises(DataError, match=f"0xff at offset {BLOCK + 3}"):
        list(next(open_corpus(str(path)).documents()))


@pytest.mark.parametrize("kind", ["characters", "bytes", "bpe"])
def test_a_stored_tokenizer_finds_the_same_file(kind, tmp_path):
    tokenizer = build_tokenizer(RunConfig(tokenizer=kind, vocab=300), training=[CORPUS.text], alphabet=CORPUS.text)
    (tmp_path / "tokenizer.json").write_text(tokenizer.to_json())
    assert not made(tokenizer=tokenizer).reused
    assert made(tokenizer=load_tokenizer(tmp_path / "tokenizer.json")).reused


def test_what_a_killed_program_left_behind_is_removed_and_what_another_one_writes_is_not(tmp_path, monkeypatch):
    monkeypatch.setenv("HEADWISE_CACHE", str(tmp_path))
    corpus = Corpus("a", ("abc " * 50,)).stream
    made = tokens_of(corpus, survey(corpus.documents()), CharacterTokenizer("\n abc"), name="n", seed=1)
    left, written = (made.path.with_name(f".{made.path.name}.{each}.part") for each in ("left", "written"))
    for each in (left, written):
        each.write_bytes(b"some")
    made.path.unlink()
    with written.open("rb") as file:
        assert locked(file.fileno())
        tokens_of(corpus, survey(corpus.documents()), CharacterTokenizer("\n abc"), name="n", seed=1)
    assert written.exists()
    assert not left.exists()
