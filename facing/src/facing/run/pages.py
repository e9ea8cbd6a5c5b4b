"""---
title: Running a page
summary: A process with a time limit, and a memory of what pages showed.
---
A process is no cage: a page that runs can do whatever its reader could do by hand. Pages therefore run only where the
configuration, or `--run`, says that the sources are trusted.
"""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from facing.config import Config
from facing.model import FacingError, Finding, Output, Page
from facing.run import inside
from facing.run.figure import FigureError, figure
from facing.version import __version__

MOST_TEXT = 20_000


# Gives a page with what it shows when it runs.
Execute = Callable[[Page, Path, Config], Page]


def executed(page: Page, file: Path, config: Config) -> Page:
    """Give the page with what it shows when it runs. A page that fails ends the build."""
    if not page.run:
        return page
    if not config.run:
        message = "A page that asks to be run is shown without its results. Allow it with `run = true` or --run."
        return replace(page, findings=(*page.findings, Finding(page.path, "", 1, "not-run", "info", message)))
    memory = Memory(config.base.resolve(), config.cache, file)
    return with_outputs(page, file, memory.read() or run_and_remember(memory, config))


@dataclass
class Later:
    """Shows what a page showed the last time, if that may be out of date, and runs it when there is time for it.

    A change of a source makes every page wait that imports it, and together they may take minutes.
    """

    waiting: dict[Path, Config] = field(default_factory=dict)
    failed: set[Path] = field(default_factory=set)
    """Pages that failed. They do not run again before something has changed."""

    def __call__(self, page: Page, file: Path, config: Config) -> Page:
        if not (page.run and config.run):
            return executed(page, file, config)
        memory = Memory(config.base.resolve(), config.cache, file)
        found = memory.read()
        if found is None:
            if file not in self.failed:
                self.waiting[file] = config
            found = memory.last()
        return page if found is None else with_outputs(page, file, found)

    def run_one(self) -> bool:
        """Run one of the pages that wait; say whether there was one."""
        if not self.waiting:
            return False
        file, config = self.waiting.popitem()
        try:
            run_and_remember(Memory(config.base.resolve(), config.cache, file), config)
        except FacingError:
            self.failed.add(file)
            raise
        return True


def run_and_remember(memory: Memory, config: Config) -> dict[str, Any]:
    found = run(memory.file, memory.base, config.run_seconds)
    if error := found["error"]:
        message = f"A page must run without an error. It ends with {error['message']}"
        raise FacingError(message, memory.file, error["line"])
    memory.write(found)
    return found


def with_outputs(page: Page, file: Path, found: dict[str, Any]) -> Page:
    """Put what a page showed beside its lines."""
    outputs, findings = [], list(page.findings)
    for each in found["outputs"]:
        outputs.append(output(each, file))
        if each["kind"] == "figure" and not outputs[-1].alt:
            message = "A figure must have an alternative text. This one has none; give its SVG a <title>."
            findings.append(Finding(page.path, "", each["line"], "alt-missing", "warning", message))
    return replace(page, outputs=tuple(outputs), findings=tuple(findings))


def output(each: dict[str, Any], file: Path) -> Output:
    """Make one output of a page safe to show."""
    line, text = int(each["line"]), str(each["text"])
    if each["kind"] == "text":
        if len(text) > MOST_TEXT:
            raise FacingError(
                f"A line of a page must print at most {MOST_TEXT} characters. It printed {len(text)}.", file, line
            )
        return Output(line, "text", text)
    try:
        html, alt = figure(text, str(each["alt"]))
    except FigureError as error:
        raise FacingError(str(error), file, line) from None
    return Output(line, "figure", html, alt)


@dataclass(frozen=True)
class Memory:
    """What a page showed, kept under the fingerprint of its text; it counts while all that the page imports is the same."""

    base: Path
    folder: str
    file: Path

    @property
    def place(self) -> Path:
        parts = (self.file.read_bytes(), sys.version.encode(), __version__.encode(), Path(inside.__file__).read_bytes())
        key = hashlib.sha256(b"\0".join(parts)).hexdigest()
        return self.base / self.folder / "run" / f"{self.file.stem}-{key[:24]}.json"

    def last(self) -> dict[str, Any] | None:
        """Give what the page showed the last time with its present text, whatever it imports."""
        try:
            found: dict[str, Any] = json.loads(self.place.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        return found

    def read(self) -> dict[str, Any] | None:
        """Give what is remembered, None if something has changed."""
        try:
            found: dict[str, Any] = json.loads(self.place.read_text(encoding="utf-8"))
            imports: dict[str, str] = found["imports"]
            now = {name: hashlib.sha256((self.base / name).read_bytes()).hexdigest() for name in imports}
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return found if now == imports else None

    def write(self, found: dict[str, Any]) -> None:
        """Remember; a build that is ended half-way leaves no half of a file."""
        place = self.place
        place.parent.mkdir(parents=True, exist_ok=True)
        for older in place.parent.glob(f"{self.file.stem}-*.json"):
            older.unlink(missing_ok=True)
        half = place.with_suffix(".half")
        half.write_text(json.dumps(found), encoding="utf-8")
        half.replace(place)


def run(file: Path, base: Path, seconds: int) -> dict[str, Any]:
    """Run a page in a process of its own, and give what it wrote down."""
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder) / "result.json"
        process = subprocess.Popen(
            [sys.executable, inside.__file__, str(file.resolve()), str(base), str(result)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            env={**os.environ, "PYTHONHASHSEED": "0", "PYTHONIOENCODING": "utf-8"},
            start_new_session=True,
        )
        try:
            _, complaint = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            raise FacingError(
                f"A page must end within run_seconds = {seconds}. It did not; raise the limit, or let it do less.", file
            ) from None
        finally:
            stop(process)
        if not result.is_file():
            last = (complaint.strip().splitlines() or ["nothing"])[-1]
            message = f"A page must run to its end. Its process ended with status {process.returncode} and said: {last}"
            raise FacingError(message, file)
        found: dict[str, Any] = json.loads(result.read_text(encoding="utf-8"))
        return found


def stop(process: subprocess.Popen[str]) -> None:
    """End the process and all that it has started."""
    if hasattr(os, "killpg"):
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            return
        except PermissionError:
            process.kill()
    else:
        process.kill()
    if process.stderr and not process.stderr.closed:
        process.stderr.close()
    process.wait()
