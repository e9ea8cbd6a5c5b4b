"""
---
title: Stopping on request
summary: Ctrl-C and the polite kill signal let the current update finish, so that what is saved is whole.
---

# Stopping on request

A signal can arrive in the middle of an update. The handler therefore only notes it, and the training loop looks at the note
between two updates. Whoever presses Ctrl-C a second time does not want to wait, and gets the ordinary interrupt.
"""

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType


class StopRequest:
    """Whether a signal has asked to stop, and which one."""

    def __init__(self) -> None:
        self.signal: int | None = None

    def __bool__(self) -> bool:
        return self.signal is not None

    def note(self, number: int, frame: FrameType | None) -> None:
        """The signal handler."""
        if self.signal is not None:
            raise KeyboardInterrupt
        self.signal = number


@contextlib.contextmanager
def stop_on_signal() -> Iterator[StopRequest]:
    """Notes SIGINT and SIGTERM inside the block, and puts the former handlers back after it."""
    request = StopRequest()
    # Python lets the main thread alone install handlers. Elsewhere the run cannot be asked to stop this way.
    if threading.current_thread() is not threading.main_thread():
        yield request
        return
    former = {number: signal.signal(number, request.note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield request
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)
