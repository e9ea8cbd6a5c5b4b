"""
---
title: Where settings come from
summary: A preset, a file on top of it, and what follows from a depth; flags come last.
---

# Where settings come from

Preset < file < flags: each overrules what stands before it. `--depth` is a flag that stands for four others, and each of those
four overrules it.
"""

from pathlib import Path

from headwise.train.config import RunConfig
from headwise.train.presets import Table, derived, merged, preset
from headwise.train.toml import read_table, settings_of


def gathered(*, name: str | None = None, path: Path | None = None, depth: int | None = None) -> RunConfig:
    """The settings under the flags."""
    table: Table = {} if name is None else preset(name)
    source = "the defaults" if name is None else f"the preset {name}"
    if path is not None:
        table, source = merged(table, read_table(path)), str(path)
    config = settings_of(table, source)
    if depth is None:
        return config
    rows = config.train.batch * config.model.context
    return settings_of(merged(table, derived(depth, rows=rows)), f"{source} with the depth {depth}")


def differences(given: RunConfig, stored: RunConfig) -> list[str]:
    """The flags whose values differ between two settings."""
    flat = [{**vars(each), **vars(each.model), **vars(each.train)} for each in (given, stored)]
    names = [name for name in flat[0] if name not in ("model", "train") and flat[0][name] != flat[1][name]]
    return ["--" + name.replace("_", "-") for name in names]
