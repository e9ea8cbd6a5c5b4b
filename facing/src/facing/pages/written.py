"""---
title: Writing a site
summary: Only what has changed is written, and what an earlier build wrote and this one does not is taken away.
---
A list of what was written lies in the folder of the site. Nothing but what it names is ever taken away, and of that only files that are
still as they were written: whatever somebody has put into the folder, or changed there, stays.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

LIST = ".facing.json"
# For each source that was built into the folder: its files, with the fingerprint of each.
Lists = dict[str, dict[str, str]]


def write(files: Mapping[str, bytes], out: Path, source: str) -> list[str]:
    """Write the files of the site that `source` names; give the paths of those that were taken away.

    Several sources may be built into one folder, so each has a list of its own.
    """
    lists = read_lists(out)
    before = lists.pop(source, {})
    lists[source] = {path: fingerprint(data) for path, data in files.items()}
    for path, data in files.items():
        target = out / path
        # A file that would not change is left alone, so that its time stays too.
        if target.is_file() and target.read_bytes() == data:
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
    kept = {path for each in lists.values() for path in each}
    gone = [path for path in sorted(before) if path not in kept and take_away(out, path, before[path])]
    text = json.dumps(lists, indent=0, sort_keys=True)
    if not (out / LIST).is_file() or (out / LIST).read_text(encoding="utf-8") != text:
        (out / LIST).write_text(text, encoding="utf-8")
    return gone


def read_lists(out: Path) -> Lists:
    """Read what was written before. A list that cannot be read names nothing."""
    try:
        found: Any = json.loads((out / LIST).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    if not isinstance(found, dict):
        return {}
    return {str(source): files for source, files in found.items() if all_texts(files)}


def all_texts(files: object) -> bool:
    return isinstance(files, dict) and all(isinstance(each, str) for pair in files.items() for each in pair)


def take_away(out: Path, path: str, written: str) -> bool:
    """Remove one file that is still as it was written, and the folders that it leaves empty."""
    target = out / path
    root = out.resolve()
    # A list from elsewhere could name anything: a file outside the folder, or behind a link, is not ours.
    if Path(path).is_absolute() or ".." in Path(path).parts or not target.parent.resolve().is_relative_to(root):
        return False
    if target.is_symlink() or not target.is_file() or fingerprint(target.read_bytes()) != written:
        return False
    target.unlink()
    folder = target.parent
    while folder != out and not any(folder.iterdir()):
        folder.rmdir()
        folder = folder.parent
    return True


def fingerprint(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:32]


def name_of(source: Path, out: Path) -> str:
    """Name a source as seen from the folder of the site, so that both may move together."""
    try:
        return Path(os.path.relpath(source.resolve(), out.resolve())).as_posix()
    except ValueError:
        # On another drive there is no way from one to the other.
        return source.name
