"""Formulas as MathML."""

from __future__ import annotations

from latex2mathml.converter import convert


def to_mathml(tex: str, display: bool = False) -> str:
    """Turn a formula into MathML; a formula that cannot be read stays visible as TeX."""
    return convert(tex, display="block" if display else "inline")


def math_html(tex: str, display: bool = False) -> tuple[str, tuple[str, ...]]:
    return to_mathml(tex, display), ()
