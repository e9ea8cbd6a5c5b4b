"""
---
title: Settings in TOML
summary: Reading settings strictly, with the nearest known name for a misspelt one, and writing them so that they read back equal.
---

# Settings in TOML

A settings file has one table per class of settings. A key that no class knows is an error and never ignored:
a misspelt `learing_rate` would otherwise train with another learning rate than its author believes.

`extends = "other.toml"`, or the name of a preset, at the top of a file puts its settings on top of the other ones.

```python
>>> from headwise.train.config import RunConfig
>>> load_toml(dump_toml(RunConfig()), "example") == RunConfig()
True

```
"""

import dataclasses
import difflib
import json
import tomllib
import types
from pathlib import Path
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from headwise.train.config import ConfigError, RunConfig
from headwise.train.presets import PRESETS, Table, merged

Settings = TypeVar("Settings")


def read_toml(path: Path, below: Table | None = None) -> RunConfig:
    """Reads the settings of a run from a file; what it does not say is taken from `below`."""
    return settings_of(merged(below or {}, read_table(path)), str(path))


def read_table(path: Path, seen: tuple[Path, ...] = ()) -> Table:
    """The table of a file, on top of what it `extends`: a preset, or another file, named from the folder of this one."""
    table = _parsed(_text(path), str(path))
    base = table.pop("extends", None)
    # Each file is checked by itself, so that an error names the file in which it stands.
    _build(RunConfig, table, str(path), "")
    if base is None:
        return table
    if not isinstance(base, str):
        raise ConfigError(f"`extends` must be the name of a preset or of a file. {path} has {base!r}.")
    if base in PRESETS:
        return merged(PRESETS[base], table)
    place = path.resolve()
    if place in seen:
        raise ConfigError(f"A settings file must not extend itself. {path} does, by way of {base}.")
    return merged(read_table(place.parent / base, (*seen, place)), table)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"The settings file must be readable. {path}: {error.strerror}.") from None
    except UnicodeDecodeError as error:
        raise ConfigError(
            f"The settings file must be UTF-8 text. {path} has another byte at offset {error.start}."
        ) from None


def load_toml(text: str, source: str) -> RunConfig:
    """Settings from TOML text; `source` names the text in error messages."""
    return settings_of(_parsed(text, source), source)


def _parsed(text: str, source: str) -> Table:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"The settings must be TOML. {source}: {error}.") from None


def settings_of(table: Table, source: str) -> RunConfig:
    """Settings from a table; `source` names it in error messages."""
    config = _build(RunConfig, table, source, "")
    try:
        config.check()
    except ConfigError as error:
        raise ConfigError(f"{error} It stands in {source}.") from None
    return config


def dump_toml(config: RunConfig) -> str:
    """TOML text that reads back as equal settings; a field that is None is left out."""
    lines: list[str] = []
    tables: list[str] = []
    for item in dataclasses.fields(config):
        value = getattr(config, item.name)
        if dataclasses.is_dataclass(value):
            entries = [
                f"{each.name} = {_literal(getattr(value, each.name))}"
                for each in dataclasses.fields(value)
                if _is_set(value, each.name)
            ]
            tables.append("\n".join([f"[{item.name}]", *entries]))
        elif value is not None:
            lines.append(f"{item.name} = {_literal(value)}")
    return "\n\n".join(["\n".join(lines), *tables]) + "\n"


def _is_set(value: Any, name: str) -> bool:
    return getattr(value, name) is not None


def _literal(value: Any) -> str:
    # JSON and TOML write strings, numbers and truth values alike, with one exception: TOML wants the character DEL escaped.
    if isinstance(value, tuple):
        return "[" + ", ".join(_literal(each) for each in value) + "]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _build(kind: type[Settings], table: dict[str, Any], source: str, prefix: str) -> Settings:
    hints = get_type_hints(kind)
    known = [each.name for each in dataclasses.fields(kind)]  # type: ignore[arg-type]
    values: dict[str, Any] = {}
    for name, value in table.items():
        full = prefix + name
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"the nearest known name is `{prefix}{near[0]}`" if near else f"known here are {', '.join(known)}"
            raise ConfigError(f"Each key of the settings must be known. {source} has `{full}`; {hint}.")
        hint_type = hints[name]
        if isinstance(hint_type, type) and dataclasses.is_dataclass(hint_type) and isinstance(value, dict):
            values[name] = _build(hint_type, value, source, full + ".")
        else:
            values[name] = _convert(value, hint_type, source, full)
    return kind(**values)


def _convert(value: Any, hint: Any, source: str, name: str) -> Any:
    """The value as the kind that the field declares; TOML has lists for tuples and writes whole floats as integers."""
    origin, options = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        inner = next(each for each in options if each is not type(None))
        return _convert(value, inner, source, name)
    if origin is tuple and isinstance(value, list):
        return tuple(_convert(each, options[0], source, name) for each in value)
    if origin is Literal and value in options:
        return value
    if hint is float and type(value) is int:
        return float(value)
    # `type(...) is` and not `isinstance`: to Python `True` is an integer, and `steps = true` would train for one step.
    if type(value) is hint:
        return value
    wanted = "one of " + ", ".join(map(str, options)) if origin is Literal else getattr(hint, "__name__", str(hint))
    raise ConfigError(f"`{name}` must be {wanted}. {source} has {value!r}.")


def with_setting(config: RunConfig, name: str, text: str) -> RunConfig:
    """The settings with one of them changed, as `with_setting(config, "learning-rate", "1e-3")` does."""
    field = name.strip().replace("-", "_")
    for section in ("", "model", "train"):
        owner: Any = getattr(config, section) if section else config
        hints = get_type_hints(type(owner))
        if field not in hints or dataclasses.is_dataclass(hints[field]):
            continue
        value = _convert(_value(text.strip()), hints[field], "the list", field)
        changed = dataclasses.replace(owner, **{field: value})
        inner: dict[str, Any] = {section: changed}
        return dataclasses.replace(config, **inner) if section else changed
    raise ConfigError(f"A setting must be known. Got {name!r}; the flags of `headwise train` are their names.")


def _value(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        # A word needs no quotation marks here.
        return text
