"""Data sets of the Hugging Face hub: streamed, and refused in words where package or network are missing."""

import sys
import types

import pytest

from headwise.train.corpus import open_corpus, read_corpus
from headwise.train.data_error import DataError


@pytest.fixture
def hub(monkeypatch):
    """A stand-in for the package `datasets`, which notes how it was called."""
    module = types.ModuleType("datasets")
    module.calls, module.rows = [], [{"text": "one", "id": 1}, {"text": "", "id": 2}, {"text": "three", "id": 3}]

    def load_dataset(name, configuration, *, split, streaming):
        module.calls.append((name, configuration, split, streaming))
        if isinstance(module.rows, Exception):
            raise module.rows
        return iter(module.rows)

    module.load_dataset = load_dataset
    monkeypatch.setitem(sys.modules, "datasets", module)
    return module


@pytest.mark.parametrize(
    ("source", "name", "configuration"),
    [
        ("hf:someone/stories", "someone/stories", None),
        ("hf:someone/stories:small", "someone/stories", "small"),
        ("hf:stories[text]", "stories", None),
    ],
)
def test_a_data_set_is_streamed(hub, source, name, configuration):
    corpus = read_corpus(source)
    assert corpus.documents == ("one", "three")
    assert corpus.name == name.rpartition("/")[2]
    assert hub.calls == [(name, configuration, "train", True)]


def test_each_pass_reads_it_anew(hub):
    stream = open_corpus("hf:someone/stories")
    hub.rows = [{"text": "again"}]
    assert [list(document) for _ in range(2) for document in stream.documents()] == [["again"]] * 2


def test_a_column_that_is_absent_is_named(hub):
    with pytest.raises(DataError, match=r"text called 'body'\. Row 1 has NoneType; known are: text, id"):
        read_corpus("hf:someone/stories[body]")


def test_without_a_network_the_error_says_so(hub):
    hub.rows = ConnectionError("no route to host\nand much more")
    with pytest.raises(DataError, match=r"needs a network\. It fails with ConnectionError: no route to host$"):
        read_corpus("hf:someone/stories")


def test_a_connection_that_breaks_on_the_way_is_an_error(hub):
    def rows():
        yield {"text": "one"}
        raise TimeoutError("too slow")

    hub.rows = rows()
    with pytest.raises(DataError, match="It fails after 1 rows with TimeoutError: too slow"):
        read_corpus("hf:someone/stories")


def test_without_the_package_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(DataError, match=r"needs the package datasets.*headwise\[hf\]"):
        read_corpus("hf:someone/stories")


@pytest.mark.parametrize("source", ["hf:", "hf:a/b/c", "hf:a b"])
def test_a_name_that_is_none_is_refused(hub, source):
    with pytest.raises(DataError, match=r"named as in hf:ORG/NAME\[column\]"):
        read_corpus(source)
