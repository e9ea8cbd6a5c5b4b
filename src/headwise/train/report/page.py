"""
---
title: The page of a report
summary: Numbers, curves, samples, heads and settings of one or several runs, in this order.
---

# The page of a report
"""

import html
import os
from collections.abc import Iterable, Sequence
from importlib.resources import files
from pathlib import Path

from headwise.train.progress import printable
from headwise.train.report.chart import Line, chart, number
from headwise.train.report.read import ReportError, RunRecord, read_run

STATISTICS = {
    "entropy": "Entropy of the weights, nats",
    "max": "Largest weight",
    "distance": "Distance looked back, tokens",
    "first": "Weight of the first token",
    "self": "Weight of the token itself",
}


def write_report(runs: Sequence[Path], path: Path) -> None:
    """Writes the page about these run folders."""
    if not runs:
        raise ReportError("A report needs at least one run. Got none; name a folder below `runs`.")
    text = page([read_run(run) for run in runs])
    try:
        path.write_text(text, encoding="utf-8", errors="replace")
    except OSError as error:
        raise ReportError(f"The report must be writable. {path}: {error.strerror}; choose another `--out`.") from None


def page(records: Sequence[RunRecord]) -> str:
    """The page as text."""
    names = unique_names([record.name for record in records])
    style = (files("headwise.train.report") / "style.css").read_text(encoding="utf-8")
    title = html.escape(f"Training of {', '.join(names)}" if len(names) <= 3 else f"Training of {len(names)} runs")
    sections = [
        section("numbers", "In numbers", _numbers(names, records)),
        section("curves", "Curves", f"<div class=grid>{''.join(_curves(names, records))}</div>"),
        section("samples", "What the model writes", "".join(_samples(names, records))),
        section("heads", "What the heads do", "".join(_heads(names, records))),
        section("settings", "Settings", _settings(names, records)),
    ]
    # The policy forbids every request, so a text of a model can never load anything.
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        f"<title>{title}</title><style>{style}</style></head><body><header><h1>{title}</h1></header>"
        f"<main>{''.join(sections)}</main></body></html>\n"
    )


def unique_names(names: list[str]) -> list[str]:
    """The names, with a number behind those that would stand there twice.

    ```python
    >>> unique_names(["a", "b", "a"])
    ['a', 'b', 'a (2)']

    ```
    """
    seen = [names[: index + 1].count(name) for index, name in enumerate(names)]
    return [name if count == 1 else f"{name} ({count})" for name, count in zip(names, seen, strict=True)]


def section(key: str, title: str, content: str) -> str:
    """A part of the page; nothing where it would be empty."""
    return f'<section aria-labelledby="{key}"><h2 id="{key}">{title}</h2>{content}</section>' if content else ""


def table(head: Iterable[str], rows: Iterable[Sequence[str]], label: str) -> str:
    """A table whose first column names its rows. It can be scrolled, by keyboard too."""
    top = "".join(f'<th scope="col">{html.escape(cell)}</th>' for cell in head)
    body = "".join(
        f'<tr><th scope="row">{html.escape(row[0])}</th>{"".join(f"<td>{html.escape(cell)}</td>" for cell in row[1:])}</tr>'
        for row in rows
    )
    return (
        f'<div class=table role="region" tabindex="0" aria-label="{html.escape(label)}"><table><thead><tr>{top}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def _numbers(names: Sequence[str], records: Sequence[RunRecord]) -> str:
    head = ("run", "parameters", "steps", "tokens", "training loss", "validation loss", "best", "minutes", "tokens / s")
    rows = [
        (
            name,
            "" if record.parameters is None else f"{record.parameters:,}",
            f"{record.entries[-1]['step']:,} of {record.config.train.steps:,}",
            f"{record.entries[-1]['step'] * record.tokens_per_step:,}",
            _last(record, "train_loss"),
            _last(record, "validation_loss"),
            _best(record),
            f"{record.seconds / 60:.1f}",
            _mean_speed(record),
        )
        for name, record in zip(names, records, strict=True)
    ]
    note = "Losses are in nats per token."
    if len({record.config.tokenizer for record in records}) > 1:
        note += " These runs have different tokenizers, so their losses are not comparable."
    return table(head, rows, "Table of numbers") + f"<p>{note}</p>"


def _last(record: RunRecord, key: str) -> str:
    points = record.curve(key)
    return f"{points[-1][1]:.4f}" if points else ""


def _best(record: RunRecord) -> str:
    points = record.curve("validation_loss")
    if not points:
        return ""
    step, loss = min(points, key=lambda point: point[1])
    return f"{loss:.4f} at step {step:,.0f}"


def _mean_speed(record: RunRecord) -> str:
    last = record.entries[-1]["step"]
    return f"{last * record.tokens_per_step / record.seconds:,.0f}" if record.seconds > 0 and last else ""


def _curves(names: Sequence[str], records: Sequence[RunRecord]) -> list[str]:
    numbered = [(name, record, place) for place, (name, record) in enumerate(zip(names, records, strict=True))]

    def lines(key: str) -> list[Line]:
        return [Line(name, record.curve(key), place) for name, record, place in numbered]

    losses = [
        Line(f"{name}, {kind}", record.curve(key), place, faint)
        for name, record, place in numbered
        for kind, key, faint in (("training", "train_loss", True), ("validation", "validation_loss", False))
    ]
    charts = [
        chart("Loss, nats per token", losses),
        chart("Learning rate", lines("learning_rate")),
        chart("Norm of the gradient", lines("gradient_norm"), logarithmic=True),
        chart("Tokens per second", [Line(name, record.speed(), place) for name, record, place in numbered]),
    ]
    # With batches of unequal size the same step means unequal work.
    if len({record.tokens_per_step for record in records}) > 1:
        over = [
            Line(name, [(x * record.tokens_per_step, y) for x, y in record.curve("validation_loss")], place)
            for name, record, place in numbered
        ]
        charts.insert(1, chart("Validation loss over tokens, nats per token", over, across="tokens"))
    return charts


def _samples(names: Sequence[str], records: Sequence[RunRecord]) -> list[str]:
    parts = []
    for name, record in zip(names, records, strict=True):
        # The newest text is open; those before it show how the model came there.
        texts = [
            f"<details{' open' if place == len(record.samples) - 1 else ''}><summary>after step {step:,}</summary>"
            f'<pre dir="auto">{html.escape(printable(text))}</pre></details>'
            for place, (step, text) in enumerate(record.samples)
        ]
        if texts:
            parts.append(f"<h3>{html.escape(name)}</h3>{''.join(texts)}")
    return parts


def _heads(names: Sequence[str], records: Sequence[RunRecord]) -> list[str]:
    parts = []
    for name, record in zip(names, records, strict=True):
        history = record.attention()
        if not history:
            continue
        layers = list(history[-1][1])
        charts = [
            chart(f"{title}: mean of the heads of each layer", _layer_lines(history, layers, statistic))
            for statistic, title in STATISTICS.items()
        ]
        heads = max(len(history[-1][1][layer]["entropy"]) for layer in layers)
        tables = [
            f"<details><summary>{title}, head by head, after step {history[-1][0]:,}</summary>"
            + table(
                ("layer", *(f"head {head}" for head in range(heads))),
                [(layer, *map(number, history[-1][1][layer][statistic])) for layer in layers],
                f"{title}, {name}",
            )
            + "</details>"
            for statistic, title in STATISTICS.items()
        ]
        parts.append(f"<h3>{html.escape(name)}</h3><div class=grid>{''.join(charts)}</div>{''.join(tables)}")
    return parts


def _layer_lines(
    history: list[tuple[int, dict[str, dict[str, list[float]]]]], layers: list[str], statistic: str
) -> list[Line]:
    def mean(values: list[float]) -> float:
        return sum(values) / len(values)

    return [
        Line(layer, [(step, mean(found[layer][statistic])) for step, found in history if layer in found], place)
        for place, layer in enumerate(layers)
    ]


def _settings(names: Sequence[str], records: Sequence[RunRecord]) -> str:
    settings = [record.settings() for record in records]
    keys = list(dict.fromkeys(key for each in settings for key in each))
    rows = [(key, *(each.get(key, "") for each in settings)) for key in keys]
    different = [row for row in rows if len(set(row[1:])) > 1]
    head = ("setting", *names)
    if len(records) == 1:
        return table(head, rows, "Table of settings")
    what = table(head, different, "Settings that differ") if different else "<p>All settings are equal.</p>"
    return f"<h3>What differs</h3>{what}<details><summary>All settings</summary>{table(head, rows, 'All settings')}</details>"


def default_path(runs: Sequence[Path]) -> Path:
    """Where a report goes if nothing else is said: into the folder of the only run, or beside the first of several."""
    return runs[0] / "report.html" if len(runs) == 1 else Path(os.path.normpath(runs[0] / os.pardir)) / "report.html"
