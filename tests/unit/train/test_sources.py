"""Documents from files, tables, folders and the standard input."""

import io
import json
import sys

import pytest

from headwise.train.corpus import Corpus, read_corpus
from headwise.train.data_error import DataError


def test_a_file_becomes_one_document(tmp_path):
    (tmp_path / "poem.txt").write_bytes("\ufeffä\r\nb".encode())
    assert read_corpus(str(tmp_path / "poem.txt")) == Corpus("poem", ("ä\nb",))


def test_an_encoding_can_be_named(tmp_path):
    (tmp_path / "a.txt").write_bytes("größe".encode("latin-1"))
    assert read_corpus(str(tmp_path / "a.txt"), "latin-1").text == "größe"
    with pytest.raises(
        DataError, match=r"must be text in utf-8.*byte 0xf6 at offset 2; name its encoding with `--encoding`"
    ):
        read_corpus(str(tmp_path / "a.txt"))
    with pytest.raises(DataError, match=r"one that Python knows.*Got 'klingon'"):
        read_corpus(str(tmp_path / "a.txt"), "klingon")


def test_a_folder_is_read_in_the_order_of_names(tmp_path):
    (tmp_path / "sub").mkdir()
    for name, text in (
        ("b.md", "second"),
        ("a.txt", "first"),
        ("sub/c.py", "third"),
        ("d.png", "picture"),
        ("e.txt", ""),
    ):
        (tmp_path / name).write_text(text)
    assert read_corpus(str(tmp_path)).documents == ("first", "second", "third")


def test_a_folder_without_texts_is_refused(tmp_path):
    with pytest.raises(DataError, match=r"has no file that ends in \.txt, \.md, \.py"):
        read_corpus(str(tmp_path))


def test_a_field_of_json_lines_is_read(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps({"text": "one\ntwo", "id": 3}) + "\n\n" + json.dumps({"text": "three"}) + "\n")
    assert read_corpus(f"{path}[text]") == Corpus("a", ("one\ntwo", "three"))
    with pytest.raises(DataError, match=r"must have a text called 'id'. Row 1 has int; known are: text, id"):
        read_corpus(f"{path}[id]")
    path.write_text('{"text": "a"}\n{"text')
    with pytest.raises(DataError, match="Line 2 is not"):
        read_corpus(f"{path}[text]")


def test_a_column_of_a_csv_file_is_read(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text('id,text\n1,"two\nlines, quoted"\n2,plain\n')
    assert read_corpus(f"{path}[text]").documents == ("two\nlines, quoted", "plain")
    with pytest.raises(DataError, match=r"called 'body'. Row 3 has NoneType; known are: id, text"):
        read_corpus(f"{path}[body]")


def test_a_table_without_a_column_is_refused(tmp_path):
    (tmp_path / "a.csv").write_text("x\n1\n")
    with pytest.raises(DataError, match=r"as in .*a\.csv\[text\]"):
        read_corpus(str(tmp_path / "a.csv"))


def test_a_parquet_file_without_its_package_is_refused(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(DataError, match=r"needs the package pyarrow.*headwise\[parquet\]"):
        read_corpus(f"{tmp_path}/a.parquet[text]")


def test_the_standard_input_is_read(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"some text")))
    assert read_corpus("-") == Corpus("text", ("some text",))


def test_a_missing_file_is_named():
    with pytest.raises(
        DataError,
        match=r"named corpus \(manual, shakespeare, shakespeare-tiny\) or something readable\. 'manul': No such file",
    ):
        read_corpus("manul")


def test_an_empty_file_is_refused(tmp_path):
    (tmp_path / "a.txt").write_text("")
    with pytest.raises(DataError, match=r"a\.txt is empty"):
        read_corpus(str(tmp_path / "a.txt"))
