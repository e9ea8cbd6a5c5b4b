"""
---
title: What a training prints
summary: A bar that moves on a terminal, plain lines everywhere else, and the same words in both.
---

# What a training prints

One line per report, with both losses in nats and in bits per character. On a terminal a bar below the lines shows how far the run is;
in a pipe or a file there is no bar, and each line stands alone.
"""

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.text import Text

from headwise.train.baselines import Baselines, bits
from headwise.train.observer import Report
from headwise.train.pace import Pace


class Screen:
    """Writes lines, and shows a bar if the output is a terminal."""

    def __init__(self, console: Console, *, steps: int, scale: float, per_byte: float) -> None:
        # `scale` times a loss per token is a loss per character, and `per_byte` times it one per byte.
        self.console, self.scale, self.per_byte = console, scale, per_byte
        self.pace: Pace | None = None
        columns = (
            TextColumn("step {task.completed:.0f}/{task.total:.0f}"),
            BarColumn(),
            TextColumn("{task.fields[loss]}"),
            TextColumn("{task.fields[pace]}"),
            TimeRemainingColumn(),
        )
        self._bar = Progress(*columns, console=console, transient=True)
        self._task = self._bar.add_task("train", total=steps, loss="", pace="")

    def start_bar(self) -> None:
        """Shows the bar. Anything else than a terminal keeps every character, and a moving bar would be thousands of lines there."""
        if self.console.is_terminal:
            self._bar.start()

    def stop_bar(self) -> None:
        """Removes the bar, so that what follows stands alone."""
        self._bar.stop()

    def advance(self, step: int, loss: float) -> None:
        """Moves the bar to a step."""
        if self.pace is not None:
            self.pace.tick()
        if self.console.is_terminal:
            shown = f"loss {loss:.3f}, {bits(loss * self.per_byte):.2f} bits/byte"
            self._bar.update(
                self._task, completed=step, loss=shown, pace="" if self.pace is None else self.pace.words()
            )

    def line(self, text: str = "", style: str = "") -> None:
        """One line, exactly as it is: no markup, and no wrapping outside of terminals."""
        self.console.print(Text(text, style=style), soft_wrap=True)

    def fact(self, name: str, value: str) -> None:
        """One named fact of the run."""
        self.line(f"{name:<11} {value}")

    def untrained(self, report: Report) -> None:
        """The loss before the first update."""
        loss = report.validation_loss * self.scale
        self.fact("untrained", f"validation loss {loss:.3f} nats, {bits(loss):.3f} bits per character")

    def header(self, baselines: Baselines) -> None:
        """The baselines and the titles of the columns."""
        self.line()
        self.line(f"{'':>8}  {'':>7}  {'training loss':^17}  {'validation loss':^17}")
        self.line(f"{'step':>8}  {'seconds':>7}  {'nats':>8} {'bits':>8}  {'nats':>8} {'bits':>8}   per character")
        self.line(
            f"{'unigram':>8}  {'':>7}  {'':>17}  {_both(baselines.unigram)}   knows how frequent each character is"
        )
        self.line(f"{'bigram':>8}  {'':>7}  {'':>17}  {_both(baselines.bigram)}   knows which character follows which")

    def report(self, report: Report, baselines: Baselines) -> None:
        """One line of losses, with what the model is better than."""
        training = f"{'':>17}" if report.train_loss is None else _both(report.train_loss * self.scale)
        loss = report.validation_loss * self.scale
        line = f"{report.step:>8}  {report.seconds:>7.1f}  {training}  {_both(loss)}   {judgement(loss, baselines)}"
        self.line(line.rstrip())

    def sample(self, step: int, text: str) -> None:
        """A text of the model, set off by a bar on its left side."""
        self.line()
        self.line(f"    The model at step {step} writes:", style="bold")
        for line in self._fitting(printable(text).strip("\n").split("\n")):
            self.line(f"    │ {line}".rstrip(), style="cyan")
        self.line()

    def _fitting(self, lines: list[str]) -> list[str]:
        """The lines cut to the width of the terminal, which would otherwise go on below the bar; elsewhere the lines as they are."""
        if not self.console.is_terminal:
            return lines
        width = max(20, self.console.width - 7)
        return [line[start : start + width] for line in lines for start in range(0, max(1, len(line)), width)]


def judgement(loss: float, baselines: Baselines) -> str:
    """What a validation loss per character says beside the baselines."""
    if loss < baselines.bigram:
        return f"{100 * (1 - loss / baselines.bigram):.0f} % below bigram"
    return "below unigram" if loss < baselines.unigram else ""


def printable(text: str) -> str:
    """The text without characters that would move the cursor or ring the bell of a terminal.

    ```python
    >>> printable("a\\x1b[2Jb")
    'a?[2Jb'

    ```
    """
    return "".join(character if character.isprintable() or character in "\n\t" else "?" for character in text)


def _both(nats: float) -> str:
    return f"{nats:>8.3f} {bits(nats):>8.3f}"
