"""
---
title: Reading the flags
summary: Arguments become a command, a frozen dataclass whose fields are the flags.
---

# Reading the flags
"""

from pathlib import Path
from typing import Annotated, Union

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
from headwise.recording.cli import Inspect
from headwise.train.config import RunConfig

Command = Train | Sweep | Eval | Data | Sample | Report | Inspect | Explain | Bench | Env


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
    """The value of a flag, which stands in the next argument or behind an equals sign; of a flag given twice, the last one counts."""
    value = None
    for argument, following in zip(arguments, [*arguments[1:], None], strict=True):
        if argument.startswith(f"{flag}="):
            value = argument.removeprefix(f"{flag}=")
        elif argument == flag:
            value = following
    return value
