"""
---
title: Files that are whole
summary: A file is written under another name, forced to the disk, and renamed.
---

# Files that are whole

A process can end at any moment. Under the final name of a file there is always the old content or the new one, and never a half of either.
"""

import glob
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


def write_file(path: Path, write: Callable[[Path], object]) -> None:
    """Writes a file so that `path` is at no moment incomplete; `write` gets the temporary name."""
    temporary = path.with_name(f".{path.name}.part")
    try:
        write(temporary)
        to_disk(temporary)
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    # The name belongs to the folder, so the folder goes to the disk as well.
    to_disk(path.parent)


def write_text(path: Path, text: str) -> None:
    """Writes a text file that is at no moment incomplete."""
    write_file(path, lambda temporary: temporary.write_text(text, encoding="utf-8"))


@contextmanager
def shared_file(path: Path) -> Iterator[BinaryIO]:
    """
    A file to write that gets the name `path` at the end of the block, for a cache that several programs fill at once.

    Each writes a file of its own, and the last one to end gives it the name; a program that has opened the former file keeps that. What
    a killed program has left behind is removed.
    """
    for rest in path.parent.glob(f".{glob.escape(path.name)}.*.part"):
        _remove_if_left(rest)
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
    try:
        with os.fdopen(descriptor, "w+b") as file:
            locked(file.fileno())
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _remove_if_left(rest: Path) -> None:
    """Removes what a killed program has left behind; a file that is being written is locked by its writer."""
    try:
        with rest.open("rb") as file:
            if locked(file.fileno()):
                rest.unlink()
    except OSError:
        # Another program was faster.
        return


def locked(descriptor: int) -> bool | None:
    """Whether an open file or folder is now locked for this process, until it is closed; False where another one holds it.

    The system unlocks it when the process ends, however it ends. None says that there are no such locks, as on some network drives.
    """
    try:
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except (ImportError, OSError):
        return None
    return True


def to_disk(path: Path) -> None:
    """Forces a file, or the names in a folder, to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
