"""Formulas of the field: each has its MathML on record, and what browsers need is asserted of each."""

from __future__ import annotations

import json
import os
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from facing.math.letters import styled
from facing.math.mathml import math_html, to_mathml
from facing.math.rewrite import rewrite

HERE = Path(__file__).parent
FORMULAS = (HERE / "formulas.txt").read_text(encoding="utf-8").splitlines()
GOLDEN = HERE / "golden.json"

# The elements and attributes of MathML Core; others are not drawn.
CORE = {
    "math",
    "semantics",
    "annotation",
    "mrow",
    "mi",
    "mn",
    "mo",
    "mtext",
    "mspace",
    "mfrac",
    "msqrt",
    "mroot",
    "mstyle",
    "mpadded",
}
CORE |= {"mphantom", "msub", "msup", "msubsup", "munder", "mover", "munderover", "mtable", "mtr", "mtd"}
UNKNOWN = {r"\lse_i = \log \sum_j e^{S_{ij}}", r"\unknowncommand{x} + 1"}


def inner(tex: str, display: bool = True) -> str:
    """Give the MathML without its annotation, which only repeats the TeX."""
    html = to_mathml(tex, display)
    return html.partition("<semantics>")[2].partition("<annotation")[0]


@pytest.mark.parametrize(
    "tex",
    [
        r"\newcommand{\R}{\mathbb{R}} x \in \R",
        r"\def\a{b} \a",
        r"\let\a\alpha \a",
        r"\DeclareMathOperator*{\best}{best} \best_x x",
    ],
)
def test_commands_of_ones_own_are_refused_in_words_and_stay_visible(tex: str) -> None:
    html, problems = math_html(tex)
    name = tex.partition("{")[0].partition("\\a")[0]
    assert problems == (
        f"A formula must be written out in commands that TeX knows. `{name}` defines one of its own; "
        r"write what it stands for, or `\operatorname{name}` for a name.",
    )
    assert html.startswith('<code class="unknown">\\')


def test_formulas_become_the_mathml_on_record() -> None:
    now = {tex: inner(tex) for tex in FORMULAS}
    if os.environ.get("FACING_UPDATE_GOLDEN"):
        GOLDEN.write_text(json.dumps(now, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    recorded = json.loads(GOLDEN.read_text(encoding="utf-8"))
    assert len(recorded) > 100
    for tex, expected in recorded.items():
        assert now[tex] == expected, tex


@pytest.mark.parametrize("tex", FORMULAS)
def test_a_formula_uses_only_what_browsers_draw(tex: str) -> None:
    root = ElementTree.fromstring(inner(tex))
    for element in root.iter():
        assert element.tag in CORE
        assert element.get("mathvariant") in (None, "normal")
        assert element.tag not in ("mi", "mn", "mo", "mtext") or not len(element)


@pytest.mark.parametrize("tex", FORMULAS)
def test_only_unknown_commands_are_reported(tex: str) -> None:
    assert bool(math_html(tex, True)[1]) == (tex in UNKNOWN)


def test_tex_is_kept_beside_the_formula() -> None:
    assert '<annotation encoding="application/x-tex">a &lt; b</annotation>' in to_mathml("a < b")


def test_an_unknown_command_stays_visible() -> None:
    html, problems = math_html(r"\nonsense + 1")
    assert r'<mtext class="unknown">\nonsense</mtext>' in html
    assert problems == (r"A formula must use commands that are known. `\nonsense` is not; it is shown as it stands.",)


@pytest.mark.parametrize("tex", [r"\left( x", r"\frac", r"\begin{cases} x", "}", r"x^"])
def test_a_broken_formula_stays_visible_or_is_drawn(tex: str) -> None:
    html, problems = math_html(tex)
    assert "<math>" in html or (problems and "must be valid TeX" in problems[0])


def test_sizes_in_a_text_are_dropped() -> None:
    assert inner(r"\text{\small a b}") == inner(r"\text{a b}")


def test_align_has_no_numbers_and_is_aligned_by_class() -> None:
    html = inner(r"\begin{align} a &= b \\ &= c \end{align}")
    assert 'class="align"' in html
    assert "(1)" not in html
    assert html == inner(r"\begin{aligned} a &= b \\ &= c \end{aligned}")


@pytest.mark.parametrize(
    ("command", "sign"), [(r"\{", "{"), (r"\langle", "⟨"), (r"\lfloor", "⌊"), (r"\Vert", "‖"), ("(", "(")]
)
def test_large_delimiters_have_a_size(command: str, sign: str) -> None:
    html = inner(rf"\Big{command} x \Big.")
    assert f">{sign}</mo>" in html
    assert 'minsize="1.623em"' in html


def test_a_colour_ends_with_its_argument() -> None:
    assert inner(r"\color{red}{x} y") == inner(r"\textcolor{red}{x} y")
    assert 'class="tex-red"' in inner(r"\color{red}{x}")


def test_limits_stand_below_in_a_displayed_formula() -> None:
    assert "<munder>" in inner(r"\max_x f")
    assert "<munder>" in inner(r"\operatorname*{argmax}_x f")


def test_styled_letters_are_characters() -> None:
    assert styled("Rx1θ", "bold") == "𝐑𝐱𝟏𝛉"
    assert styled("RCE", "double-struck") == "ℝℂ𝔼"
    assert styled("LN", "script") == "ℒ𝒩"
    assert styled("é", "bold") == "é"


def test_minus_infinity_is_one_number_and_can_be_subtracted_from() -> None:
    html = inner(r"-\infty - x")
    assert '<mo form="prefix">−</mo><mi>∞</mi><mo>−</mo><mi>x</mi>' in html


def test_a_display_formula_has_a_box_that_scrolls() -> None:
    assert to_mathml("x", True).startswith('<span class="formula"><math display="block">')
    assert to_mathml("x").startswith("<math><semantics>")


@given(st.text(alphabet="\\{}&^_abxαΣ0 1+-=()[]|$%~'<>\"\n", max_size=30))
def test_any_text_gives_well_formed_html_and_keeps_its_tex(tex: str) -> None:
    html, problems = math_html(tex, True)
    root = ElementTree.fromstring(html)
    kept = "".join(root.itertext()) if problems else next(iter(root.iter("annotation"))).text or ""
    assert tex.strip() in kept or tex.strip() == kept or problems


@given(st.sampled_from(FORMULAS))
def test_rewriting_twice_changes_nothing_more(tex: str) -> None:
    once = rewrite(tex)
    assert rewrite(once) == once
