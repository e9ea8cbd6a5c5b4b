"""
---
title: Building the page of commands
summary: What `--help` says of every command becomes the page `commands.md`, so that it is what the program says.
---

`python docs/commands_page.py` writes `commands.md` beside this file. A test holds the two together.
"""

import contextlib
import io
import os
import re
import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

from headwise.cli import main

PAGE = Path(__file__).with_name("commands.md")
# So wide that the help of a flag is never wrapped.
WIDE = {"COLUMNS": "4000", "LINES": "100", "NO_COLOR": "1"}
HEAD = """---
title: All commands
summary: Every command of headwise and every flag that it knows, as the program itself tells them.
---

`headwise COMMAND --help` says the same in a terminal. In a clone of the repository the program is `.venv/bin/headwise`.

Behind a flag stands what it takes: `INT` is a whole number, `FLOAT` any number, `STR` a text, `PATH` a file or a folder. Of `{a,b}` one is
taken, `...` stands for more of the same, and what is in brackets may be left out.

[The command line](/cli.py) is the page that reads the flags; [the settings](/train/settings.py) of a training can also stand in a file.
"""
WHOLE_WORDS = {"break_long_words": False, "break_on_hyphens": False}
# How the groups of settings are called here.
GROUPS = {
    "settings options": "The text",
    "settings.model options": "The model",
    "settings.train options": "The training",
}


@dataclass(frozen=True)
class Box:
    """One box of the help: its title, and its entries with what is said of each."""

    title: str
    entries: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Help:
    """The help of one command, taken apart."""

    about: str
    boxes: tuple[Box, ...]


def asked(*command: str) -> Help:
    """What a command answers to `--help`."""
    # The frame around each box is drawn where the output knows its characters.
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    with mock.patch.dict(os.environ, WIDE), contextlib.redirect_stdout(out), contextlib.suppress(SystemExit):
        main([*command, "--help"])
    out.seek(0)
    head, *boxes = re.split(r"^╭─ ", out.read(), flags=re.MULTILINE)
    _, about = head.split("\n\n", 1)
    return Help(" ".join(about.split()), tuple(box(text) for text in boxes))


def box(text: str) -> Box:
    """Take one box apart. What belongs to an entry is indented; what a box says of itself ends in a rule."""
    title, *lines = text.splitlines()
    inside = [line.removeprefix("│ ").removesuffix("│").rstrip() for line in lines if line.startswith("│")]
    rule = next((at for at, line in enumerate(inside) if line and not line.strip("─")), -1)
    entries: list[list[str]] = []
    for line in inside[rule + 1 :]:
        if line.startswith(" ") and entries:
            entries[-1][1] += f" {line.strip()}"
        else:
            entries.append([*re.split(r" {2,}", line, maxsplit=1), ""][:2])
    return Box(title.split(" ─")[0].strip(), tuple((name, said.strip()) for name, said in entries))


def commands() -> list[str]:
    """The names of all commands, in the order of the help."""
    (found,) = [each for each in asked().boxes if each.title == "subcommands"]
    return re.findall(r"• (\S+)", " ".join(f"{name} {said}" for name, said in found.entries))


def page() -> str:
    """The whole page: for each command its purpose and its flags; groups that another command has in just the same way are linked."""
    shown: dict[Box, str] = {}
    parts = [HEAD]
    for name in commands():
        parts += section(name, asked(name), shown)
    return "\n".join(parts)


def section(name: str, found: Help, shown: dict[Box, str]) -> Iterator[str]:
    """The part of one command. `shown` says which group stands where."""
    own = [entry for each in found.boxes if each.title not in GROUPS for entry in each.entries]
    own = [(flag, said) for flag, said in own if not flag.startswith("-h,")]
    places = " ".join(shortened(flag) for flag, _ in own if not flag.startswith("-"))
    yield f"## `headwise {name}`\n\n{found.about}\n\n```sh\nheadwise {name} {places}{' ' * bool(places)}[flags]\n```\n"
    yield listed(own)
    known: dict[str, list[str]] = {}
    for each in found.boxes:
        if each in shown:
            known.setdefault(shown[each], []).append(GROUPS[each.title].lower())
        elif each.title in GROUPS:
            shown[each] = name
            yield f"### {GROUPS[each.title]}\n\n{listed(each.entries)}"
    for other, groups in known.items():
        words = ", ".join(groups[:-1]) + " and " * bool(groups[1:]) + groups[-1]
        yield f"And, as for [`headwise {other}`](#headwise-{other}): the flags of {words}.\n"


def listed(entries: Iterable[tuple[str, str]]) -> str:
    """Entries as a list in Markdown."""
    lines = (textwrap.fill(entry(*each), 140, subsequent_indent="  ", **WHOLE_WORDS) for each in entries)
    return "\n".join(lines) + "\n"


def entry(flag: str, said: str) -> str:
    """One flag as a line of a list."""
    pair = ", --no-" in flag
    names = ", ".join(f"`{shortened(each)}`" for each in re.split(r", (?=-)", flag))
    said, _, default = said.replace("(required)", "Must be given.").removesuffix(")").partition("(default: ")
    # A star or a bracket in the help is no Markdown.
    parts = re.split(r"(`[^`]*`)", said.strip())
    said = "".join(part if part.startswith("`") else re.sub(r"([*_\[\]<])", r"\\\1", part) for part in parts)
    if pair:
        said += " On by default." if default == "True" else " Off by default."
    elif default not in ("", "None", "False"):
        said += f" Default: `{default}`."
    return f"* {names}: {said}"


def shortened(flag: str) -> str:
    """What a flag takes in fewer signs: that it may be left out is true of every flag, and lists look alike."""
    flag = flag.replace("{None}|", "").replace("{None,", "{")
    return re.sub(r"\[+([^\[\]]+) \[.*\.\.\.\]+", r"\1 ...", flag)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
