"""An encoding is learned once for a text and its settings, and read again from then on."""

from dataclasses import replace

import pytest

from headwise.train import material
from headwise.train.config import RunConfig, TrainConfig
from headwise.train.corpus import open_corpus
from headwise.train.material import learned_tokenizer
from headwise.train.split import survey


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("HEADWISE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "tokenizers"


@pytest.fixture
def learned(monkeypatch):
    """How often an encoding was learned."""
    calls = []
    real = material.train_bpe
    monkeypatch.setattr(material, "train_bpe", lambda *given, **named: calls.append(1) or real(*given, **named))
    return calls


@pytest.fixture
def config(tmp_path):
    (tmp_path / "text.txt").write_text("".join(f"{n} and {n + 1} make {2 * n + 1}.\n" for n in range(300)))
    return RunConfig(data=str(tmp_path / "text.txt"), tokenizer="bpe", vocab=300)


def tokenizer_of(config):
    corpus = open_corpus(config.data, config.encoding)
    return learned_tokenizer(config, corpus, survey(corpus.documents()))


def test_the_second_start_learns_nothing_and_has_the_same_tokenizer(config, cache, learned):
    first, second = tokenizer_of(config), tokenizer_of(config)
    assert learned == [1]
    assert first.to_json() == second.to_json()
    assert [each.suffix for each in cache.iterdir()] == [".json"]


def test_another_text_vocabulary_or_split_is_learned_anew(config, cache, learned, tmp_path):
    tokenizer_of(config)
    tokenizer_of(replace(config, vocab=290))
    tokenizer_of(replace(config, train=TrainConfig(seed=7)))
    (tmp_path / "text.txt").write_text("Another text, and so other pairs. " * 90)
    assert "Another" in tokenizer_of(config).to_json()
    assert len(learned) == 4
    assert len(list(cache.iterdir())) == 4


@pytest.mark.parametrize("content", ["", "{}", '{"version": "1.0"'])
def test_a_damaged_file_is_learned_again_and_mended(config, cache, learned, content):
    whole = tokenizer_of(config).to_json()
    (path,) = cache.iterdir()
    path.write_text(content)
    assert tokenizer_of(config).to_json() == whole
    assert tokenizer_of(config).to_json() == whole
    assert len(learned) == 2


def test_without_a_folder_to_write_to_nothing_is_kept(config, learned, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("HEADWISE_CACHE", str(tmp_path / "file" / "below"))
    assert tokenizer_of(config).to_json() == tokenizer_of(config).to_json()
    assert len(learned) == 2


def test_a_file_that_cannot_be_finished_leaves_no_part_of_it(config, cache, learned, monkeypatch):
    def full(*given):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("headwise.train.safe_files.os.fsync", full)
    tokenizer_of(config)
    assert list(cache.iterdir()) == []


def test_what_a_killed_program_left_behind_is_removed(config, cache, learned):
    tokenizer_of(config)
    (path,) = cache.iterdir()
    path.rename(cache / f".{path.name}.abc.part")
    tokenizer_of(config)
    assert list(cache.iterdir()) == [path]
