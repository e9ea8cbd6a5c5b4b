"""Formulas and the punctuation beside them."""

from __future__ import annotations

import pytest

from facing.math import hold_together, to_mathml

FORMULA = to_mathml("x")


@pytest.mark.parametrize("touching", ["{},", "{}.", "{}，", "（{}）", "（{}", "{}）。"])
def test_punctuation_stays_with_its_formula(touching: str) -> None:
    both = touching.format(FORMULA)
    assert hold_together(f"<p>数 {both}而且</p>") == f'<p>数 <span class="held">{both}</span>而且</p>'


def test_each_formula_of_a_text_is_held_on_its_own() -> None:
    assert hold_together(f"{FORMULA}, {FORMULA}.").count('<span class="held"><math>') == 2


@pytest.mark.parametrize("html", [f"<p>{FORMULA} and more</p>", to_mathml("x", display=True) + ",", "<p>plain.</p>"])
def test_formulas_without_punctuation_stay_as_they_are(html: str) -> None:
    assert hold_together(html) == html
