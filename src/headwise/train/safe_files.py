"""
---
title: Files that are whole
summary: A file is written under another name, forced to the disk, and renamed.
---

# Files that are whole

A process can end at any moment. Under the final name of a file there is always the old content or the new one, and never a half of either.
"""

import os
from collections.abc import Callable
from pathlib import Path


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
