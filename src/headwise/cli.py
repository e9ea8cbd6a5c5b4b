"""
---
title: The command line
summary: Flags become a command, the command is called, and what went wrong is one clear message.
---

# The command line

Each command is a frozen dataclass of `headwise.commands`. tyro reads the flags from its fields and the help from its docstrings.

*Errors.* A `HeadwiseError` is bad input: it is printed as one message, and the exit code is 2, as for a wrong flag.
Any other exception is a fault of this program and keeps its traceback.
"""

import errno
import io
import json
import os
import sys
from pathlib import Path
from typing import Annotated, NoReturn, Union

import tyro

from headwise.commands.bench import Bench
from headwise.commands.data import Data
from headwise.commands.env import Env
from headwise.commands.evaluate import Eval
from headwise.commands.explain import Explain
from headwise.commands.report import Report
from headwise.commands.sample import Sample
from headwise.commands.sweep import Sweep
from headwise.commands.train import Train
from headwise.errors import HeadwiseError
from headwise.recording.cli import Inspect
from headwise.train.config import RunConfig
from headwise.version import __version__

Command = Train | Sweep | Eval | Data | Sample | Report | Inspect | Explain | Bench | Env
BAD_INPUT = 2
INTERRUPTED = 130
FULL = (errno.ENOSPC, errno.EDQUOT)


def main(arguments: list[str] | None = None) -> int:
    """Runs the command that the arguments name and returns its exit code."""
    given = sys.argv[1:] if arguments is None else arguments
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A character that the output's encoding has not, as on a terminal without UTF-8, is no reason to stop.
        sys.stdout.reconfigure(errors="replace")
    if given == ["--version"]:
        print(f"headwise {__version__}")
        return 0
    try:
        command = parse(given or ["--help"])
        outcome = command()
    except HeadwiseError as error:
        return _refuse(error, as_json="--json" in given)
    except KeyboardInterrupt:
        print("\nheadwise: interrupted.", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # The reader of the output has gone, as `headwise sample RUN | head` does. Python would complain once more when it closes
        # the output at its end, so the output is replaced.
        sys.stdout = open("/dev/null", "w")  # noqa: SIM115
        return 0
    except OSError as error:
        if error.errno not in FULL:
            raise
        return _refuse(HeadwiseError(f"There must be room to write. {error}."), as_json="--json" in given)
    if command.json and outcome.document is not None:
        print(json.dumps(outcome.document))
    return outcome.code


def program() -> NoReturn:
    """Runs the command line and ends the process with its exit code."""
    code = main()
    if "RANK" in os.environ:
        from headwise.train.processes import leave

        leave(code)
    sys.exit(code)


def parse(arguments: list[str]) -> Command:
    """The command that the arguments describe; tyro itself ends the program for wrong flags, with the exit code 2."""
    # A file of settings supplies the defaults of the flags, so it is read before the flags are.
    defaults, sweep = Train(settings=_settings("train", arguments)), Sweep(settings=_settings("sweep", arguments))
    commands = Union[  # noqa: UP007
        Annotated[Train, tyro.conf.subcommand("train", default=defaults)],
        Annotated[Sweep, tyro.conf.subcommand("sweep", default=sweep)],
        Annotated[Eval, tyro.conf.subcommand("eval")],
        Annotated[Data, tyro.conf.subcommand("data")],
        Annotated[Sample, tyro.conf.subcommand("sample")],
        Annotated[Report, tyro.conf.subcommand("report")],
        Annotated[Inspect, tyro.conf.subcommand("inspect")],
        Annotated[Explain, tyro.conf.subcommand("explain")],
        Annotated[Bench, tyro.conf.subcommand("bench")],
        Annotated[Env, tyro.conf.subcommand("env")],
    ]
    parsed: Command = tyro.cli(
        commands,
        prog="headwise",
        description="Multi-head attention that can be read, changed and trusted.",
        args=arguments,
        config=(tyro.conf.OmitArgPrefixes, tyro.conf.OmitSubcommandPrefixes),
    )
    return parsed


def _settings(command: str, arguments: list[str]) -> RunConfig:
    """The settings under the flags: of the run that is resumed, or of the preset, the file and the depth that the flags name."""
    if arguments[:1] != [command]:
        return RunConfig()
    from headwise.train.settings import gathered
    from headwise.train.toml import read_toml

    run, config, depth = (_value(flag, arguments) for flag in ("--run", "--config", "--depth"))
    if "--resume" in arguments and run is not None:
        return read_toml(Path(run) / "config.toml")
    # A depth that is no number is refused with the other flags.
    number = int(depth) if depth is not None and depth.lstrip("-").isdecimal() else None
    return gathered(name=_value("--preset", arguments), path=None if config is None else Path(config), depth=number)


def _value(flag: str, arguments: list[str]) -> str | None:
    """The value of a flag, which stands in the next argument or behind an equals sign."""
    for argument, following in zip(arguments, [*arguments[1:], ""], strict=True):
        if argument.startswith(f"{flag}="):
            return argument.removeprefix(f"{flag}=")
        if argument == flag and following:
            return following
    return None


def _refuse(error: HeadwiseError, *, as_json: bool) -> int:
    # With `--json` the last line of the output is a document in any case, so that a program need not read two streams.
    print(f"headwise: {error}", file=sys.stderr)
    if as_json:
        print(json.dumps({"error": str(error)}))
    return BAD_INPUT


if __name__ == "__main__":
    program()
