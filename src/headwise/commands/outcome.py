"""
---
title: The outcome of a command
summary: What a command hands back: a document for programs, and the exit code.
---

# The outcome of a command
"""

from dataclasses import dataclass
from typing import Any

# A command that a signal has ended exits with 128 plus the number of the signal, as shells do. A run stopped by Ctrl-C has saved
# everything, but it has not done what was asked for, and a script must be able to see that.
SIGNAL_BASE = 128


@dataclass(frozen=True)
class Outcome:
    """`document` is what `--json` prints, None in a process that leaves this to another one; `code` is the exit code."""

    document: dict[str, Any] | None
    code: int = 0
