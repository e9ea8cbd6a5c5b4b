"""Texts and their split."""

from headwise.train.corpus import CORPORA, Corpus, read_corpus, split_corpus
from headwise.train.sources import NAMED


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


def test_a_few_large_documents_are_cut_at_the_end():
    training, validation = split_corpus(Corpus("two", ("a" * 50, "b" * 47)), seed=0)
    assert training + validation == "a" * 50 + "\n\n\n" + "b" * 47
    assert len(validation) == 10


def test_the_message_names_each_corpus():
    assert set(NAMED) == set(CORPORA)
