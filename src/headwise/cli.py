"""
---
title: The command line
summary: Flags become a command, the command is called, and what went wrong is one clear message.
---

# The command line

Each command is a frozen dataclass of `headwise.commands`. tyro reads the flags from its fields and the help from its docstrings.
[All commands](/commands.md) lists them; `python docs/commands_page.py` writes that page from the help.

*Errors.* A `HeadwiseError` is bad input: it is printed as one message, and the exit code is 2, as for a wrong flag.
Any other exception is a fault of this program and keeps its traceback.

*Signals.* Ctrl-C ends the program with one line and the exit code 130, at any time; a training saves first what it has. A program that
reads the output and goes, as `head` does, ends it with the exit code 141. Both are 128 and the number of the signal, as in a shell.
"""

import errno
import io
import json
import os
import signal
import sys
from types import FrameType
from typing import NoReturn

from headwise.errors import HeadwiseError
from headwise.version import __version__

BAD_INPUT = 2
INTERRUPT = "\nheadwise: interrupted."
INTERRUPTED = 130
NOBODY_READS = 141
FULL = (errno.ENOSPC, errno.EDQUOT)


def main(arguments: list[str] | None = None) -> int:
    """Runs the command that the arguments name and returns its exit code."""
    given = sys.argv[1:] if arguments is None else arguments
    if sys.stdout is None:
        # The output is closed, as `>&-` does it: what would be printed goes nowhere.
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115
    if os.environ.get("COLUMNS") == "0":
        # Some terminals do not know their width. In no column nothing could be shown.
        del os.environ["COLUMNS"]
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A character that the output's encoding has not, as on a terminal without UTF-8, is no reason to stop.
        sys.stdout.reconfigure(errors="replace")
    try:
        return _answer(given)
    except HeadwiseError as error:
        return _refuse(error, as_json="--json" in given)
    except KeyboardInterrupt:
        print(INTERRUPT, file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # Python would complain once more when it closes the output at its end, so the output is replaced.
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115
        return NOBODY_READS
    except OSError as error:
        if error.errno not in FULL:
            raise
        return _refuse(HeadwiseError(f"There must be room to write. {error}."), as_json="--json" in given)


def program() -> NoReturn:
    """Runs the command line and ends the process with its exit code."""
    signal.signal(signal.SIGINT, interrupt)
    code = main()
    if "RANK" in os.environ:
        from headwise.train.processes import leave

        leave(code)
    sys.exit(code)


def interrupt(number: int, frame: FrameType | None) -> None:
    """
    The handler of Ctrl-C: the ordinary interrupt, and an end at once while modules are imported.

    Some modules take the interrupt for a fault of what they import, and go on without it: a training would begin all the same.
    """
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            os.write(2, f"{INTERRUPT}\n".encode())
            os._exit(INTERRUPTED)
        frame = frame.f_back
    raise KeyboardInterrupt


def _answer(arguments: list[str]) -> int:
    try:
        if arguments == ["--version"]:
            print(f"headwise {__version__}")
            code = 0
        else:
            # Commands are imported here, where an interrupt is waited for.
            from headwise.commands.parse import parse

            command = parse(arguments or ["--help"])
            outcome = command()
            if command.json and outcome.document is not None:
                print(json.dumps(outcome.document))
            code = outcome.code
    except SystemExit as leaving:
        # rich leaves the program by itself where nobody reads its lines.
        if isinstance(leaving.__context__, BrokenPipeError):
            raise leaving.__context__ from None
        sys.stdout.flush()
        raise
    # What is written last finds out only now that nobody reads it.
    sys.stdout.flush()
    return code


def _refuse(error: HeadwiseError, *, as_json: bool) -> int:
    # With `--json` the last line of the output is a document in any case, so that a program need not read two streams.
    print(f"headwise: {error}", file=sys.stderr)
    if as_json:
        print(json.dumps({"error": str(error)}))
    return BAD_INPUT


if __name__ == "__main__":
    program()
