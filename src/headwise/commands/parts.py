"""
---
title: Parts from the command line
summary: Reads `Causal() & Window(128)` from a flag, as it is written in Python, without running anything else.
---

# Parts from the command line

A mask or a score on the command line is written as in Python. The text is taken apart with `ast` and only what the tables below
name is built: no attribute, no other call, no arithmetic. `eval` would run whatever stands in the flag.
"""

import ast
import operator
from collections.abc import Callable
from typing import Any

import torch

import headwise as hw
from headwise.errors import ArgumentError

_OPERATORS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {ast.BitAnd: operator.and_, ast.BitOr: operator.or_}


def parse_mask(text: str, *, batch: int, keys: int) -> Any:
    """The mask that a text describes; `Padding()` hides the last quarter of the keys, `Documents(n)` has n equal documents."""

    def padding() -> Any:
        return hw.Padding((torch.arange(keys) < keys - keys // 4).expand(batch, keys))

    def documents(number: int) -> Any:
        return hw.Documents((torch.arange(keys) * number // keys).expand(batch, keys))

    names: dict[str, Callable[..., Any]] = {
        "Full": hw.Full,
        "Causal": hw.Causal,
        "Window": hw.Window,
        "Prefix": hw.Prefix,
        "Dilated": hw.Dilated,
        "Padding": padding,
        "Documents": documents,
    }
    return _Reader("mask", text, names).read()


def parse_score(text: str, *, heads: int) -> Any:
    """The score part or the tuple of parts that a text describes; parts for each head take the number of heads of the call."""

    def for_heads(part: Callable[..., Any]) -> Callable[..., Any]:
        return lambda number=heads, **others: part(number, **others)

    by_head = {name: for_heads(part) for name, part in (("Alibi", hw.Alibi), ("T5Bias", hw.T5Bias), ("Sink", hw.Sink))}
    return _Reader("score", text, {"Softcap": hw.Softcap, **by_head}).read()


class _Reader:
    """Builds the value of one expression out of named parts."""

    def __init__(self, flag: str, text: str, names: dict[str, Callable[..., Any]]) -> None:
        self.flag, self.text, self.names = flag, text, names

    def read(self) -> Any:
        try:
            tree = ast.parse(self.text.strip(), mode="eval")
        except SyntaxError:
            raise self._refusal(f"{self.text!r}") from None
        return self._build(tree.body)

    def _build(self, node: ast.expr) -> Any:
        match node:
            case ast.Name(id=name) if name in self.names:
                return self._call(name, [], {})
            case ast.Call(func=ast.Name(id=name), args=arguments, keywords=keywords) if name in self.names:
                return self._call(
                    name,
                    [self._number(each) for each in arguments],
                    {each.arg or "": self._number(each.value) for each in keywords},
                )
            case ast.BinOp(left=left, op=operation, right=right) if type(operation) in _OPERATORS:
                return _OPERATORS[type(operation)](self._build(left), self._build(right))
            case ast.UnaryOp(op=ast.Invert(), operand=operand):
                return ~self._build(operand)
            case ast.Tuple(elts=parts):
                return tuple(self._build(each) for each in parts)
        raise self._refusal(repr(ast.unparse(node)))

    def _number(self, node: ast.expr) -> Any:
        try:
            value = ast.literal_eval(node)
        except ValueError:
            raise self._refusal(repr(ast.unparse(node))) from None
        if isinstance(value, int | float):
            return value
        raise self._refusal(repr(value))

    def _call(self, name: str, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        try:
            return self.names[name](*arguments, **keywords)
        except TypeError as error:
            raise ArgumentError(f"`{self.flag}` must give {name} its arguments. Got {self.text!r}: {error}.") from None

    def _refusal(self, came: str) -> ArgumentError:
        known = ", ".join(self.names)
        return ArgumentError(
            f"`{self.flag}` must be built from {known} with numbers as arguments, as in Python. Got {came}."
        )
