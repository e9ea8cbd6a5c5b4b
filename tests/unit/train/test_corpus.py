"""Texts and their split."""

import pytest

from headwise.train.corpus import Corpus, DataError, read_corpus, split_corpus


def test_the_manual_has_documents_without_repeated_paragraphs():
    corpus = read_corpus("manual")
    paragraphs = [part.strip() for text in corpus.documents for part in text.split("\n\n") if len(part.strip()) >= 40]
    assert len(corpus.documents) > 30
    assert len(corpus.text) > 200_000
    assert len(paragraphs) == len(set(paragraphs))


def test_a_split_takes_whole_documents_by_the_seed():
    corpus = Corpus("many", tuple(f"document {number} " * 5 for number in range(40)))
    training, validation = split_corpus(corpus, seed=3)
    for document in corpus.documents:
        assert (document in training) != (document in validation)
    assert 0.05 < len(validation) / len(corpus.text) <= 0.1
    assert split_corpus(corpus, seed=3) == (training, validation)
    assert split_corpus(corpus, seed=4) != (training, validation)


def test_a_single_document_is_cut_near_its_end():
    training, validation = split_corpus(Corpus("one", ("0123456789" * 10,)), seed=0)
    assert training + validation == "0123456789" * 10
    assert len(validation) == 10


def test_a_file_becomes_one_document(tmp_path):
    (tmp_path / "poem.txt").write_bytes("ä\r\nb".encode())
    assert read_corpus(str(tmp_path / "poem.txt")) == Corpus("poem", ("ä\nb",))


def test_a_byte_that_is_no_text_is_named_with_its_offset(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"abc\xff")
    with pytest.raises(DataError, match="byte 0xff at offset 3"):
        read_corpus(str(tmp_path / "a.txt"))


def test_a_missing_file_is_named():
    with pytest.raises(DataError, match=r"`data` must be `manual` or a readable file\. 'manul': No such file"):
        read_corpus("manul")


def test_a_folder_is_refused(tmp_path):
    with pytest.raises(DataError, match="Is a directory"):
        read_corpus(str(tmp_path))


def test_an_empty_file_is_refused(tmp_path):
    (tmp_path / "a.txt").write_text("")
    with pytest.raises(DataError, match=r"a\.txt is empty"):
        read_corpus(str(tmp_path / "a.txt"))
