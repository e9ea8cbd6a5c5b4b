"""Documents from files, tables, folders and the standard input."""

import csv
import io
import json
import os
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


@pytest.mark.parametrize(
    ("encoding", "message"),
    [
        ("utf-16", r"must be text in utf-16.*does not start with BOM; name its encoding"),
        ("undefined", "one that Python knows"),
        ("utf\0", "one that Python knows"),
    ],
)
def test_errors_of_an_encoding_without_a_place_are_told(tmp_path, encoding, message):
    (tmp_path / "a.txt").write_text("no mark at the beginning")
    with pytest.raises(DataError, match=message):
        read_corpus(str(tmp_path / "a.txt"), encoding)


@pytest.mark.parametrize("name", ["a" * 300, "a\0b"])
def test_a_name_that_no_file_can_have_is_refused(name):
    with pytest.raises(DataError, match="must be a named corpus"):
        read_corpus(name)


def test_an_empty_name_is_not_the_folder_one_is_in(tmp_path, monkeypatch):
    (tmp_path / "a.txt").write_text("text")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DataError, match="Got an empty name"):
        read_corpus("")
    assert read_corpus(".").text == "text"


def test_a_folder_below_that_cannot_be_read_is_not_left_out(tmp_path, monkeypatch):
    # Whoever runs the tests as root may read everything, so the refusal of the system is acted.
    (tmp_path / "a.txt").write_text("text")
    (tmp_path / "closed").mkdir()
    scan = os.scandir

    def refusing(path):
        if str(path).endswith("closed"):
            raise PermissionError(13, "Permission denied", str(path))
        return scan(path)

    monkeypatch.setattr(os, "scandir", refusing)
    with pytest.raises(DataError, match=r"closed': Permission denied"):
        read_corpus(str(tmp_path))


def test_a_closed_standard_input_is_told(monkeypatch):
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(DataError, match="The standard input must be open"):
        read_corpus("-")


@pytest.mark.parametrize("line", ["[1]", "5", "NaN", "[" * 100_000])
def test_a_line_that_is_no_object_is_named(tmp_path, line):
    (tmp_path / "a.jsonl").write_text(line)
    with pytest.raises(DataError, match=r"must be a JSON object. Line 1 is not"):
        read_corpus(f"{tmp_path / 'a.jsonl'}[text]")


def test_half_of_a_surrogate_pair_in_a_table_is_refused(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"text": "ab"}\n{"text": "ab\\ud800"}\n')
    with pytest.raises(DataError, match=r"Row 2 of .* has half of a surrogate pair at index 2"):
        read_corpus(f"{tmp_path / 'a.jsonl'}[text]")


def test_a_row_of_a_csv_file_with_too_many_fields_is_not_cut(tmp_path):
    (tmp_path / "a.csv").write_text("text\nOne\nHello, world\n")
    with pytest.raises(DataError, match=r"Row 3 has more than 1; a text with commas stands in quotation marks"):
        read_corpus(f"{tmp_path / 'a.csv'}[text]")


def test_a_column_that_is_there_twice_is_refused(tmp_path):
    (tmp_path / "a.csv").write_text("text,text\na,b\n")
    with pytest.raises(DataError, match="has 2 called 'text'"):
        read_corpus(f"{tmp_path / 'a.csv'}[text]")


def test_a_field_of_a_csv_file_may_be_long(tmp_path):
    limit = csv.field_size_limit()
    (tmp_path / "a.csv").write_text("text\n" + "a" * (limit + 1) + "\n")
    assert len(read_corpus(f"{tmp_path / 'a.csv'}[text]").text) == limit + 1
    assert csv.field_size_limit() == limit
