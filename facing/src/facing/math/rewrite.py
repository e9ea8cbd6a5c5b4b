r"""---
title: Rewriting TeX
summary: A few commands are put in the form that the converter knows.
---
The converter, latex2mathml, covers TeX well but not evenly. Each rewrite below is for something that formulas of this
field use and that it would show wrongly: `aligned`, `\color{c}{x}`, a size command inside `\text`, a line break outside
an environment. The formula is a list of tokens, so that `\\` and `\{` are never taken apart.
"""

from __future__ import annotations

import re
from collections.abc import Callable

TOKEN = re.compile(r"\\[a-zA-Z]+\*?|\\.|\s+|.", re.DOTALL)

SIZES = frozenset(
    rf"\{size}"
    for size in ["tiny", "scriptsize", "footnotesize", "small", "normalsize", "large", "Large", "LARGE", "huge", "Huge"]
)
DROPPED = SIZES | {r"\nonumber", r"\notag", r"\allowbreak", r"\hline"}
ALIGNED = frozenset(
    [
        "align",
        "aligned",
        "align*",
        "split",
        "eqnarray",
        "eqnarray*",
        "alignat",
        "alignat*",
        "alignedat",
        "flalign",
        "flalign*",
    ]
)
NUMBERED = frozenset(["alignat", "alignat*", "alignedat"])
GATHERED = frozenset(["gather", "gather*", "gathered", "multline", "multline*"])
PLAIN = frozenset(["equation", "equation*", "math", "displaymath"])
SYNONYMS = {
    r"\R": r"\mathbb{R}",
    r"\N": r"\mathbb{N}",
    r"\Z": r"\mathbb{Z}",
    r"\sim": "∼",
    r"\pmb": r"\boldsymbol",
    r"\bm": r"\boldsymbol",
    r"\lvert": "|",
    r"\rvert": "|",
    r"\perp": "⟂",
    r"\gets": r"\leftarrow",
    r"\arg": r"\operatorname{arg}",
    r"\newline": r"\\",
}

NEGATED = {"=": "≠", "<": "≮", ">": "≯", r"\in": "∉", r"\equiv": "≢", r"\subset": "⊄", r"\supset": "⊅", r"\sim": "≁"}
NEGATED |= {
    "∼": "≁",
    r"\le": "≰",
    r"\leq": "≰",
    r"\ge": "≱",
    r"\geq": "≱",
    r"\exists": "∄",
    r"\mid": "∤",
    r"\approx": "≉",
}

Tokens = list[str]


def rewrite(tex: str) -> str:
    """Put a formula in the form that the converter knows. Its meaning and its look stay the same."""
    tokens = TOKEN.findall(tex)
    for step in STEPS:
        tokens = step(tokens)
    return "".join(tokens)


def commands(tex: str) -> set[str]:
    """Give the commands that a formula uses."""
    return {token for token in TOKEN.findall(tex) if token.startswith("\\") and token[1:2].isalpha()}


def argument(tokens: Tokens, at: int) -> tuple[Tokens, int]:
    """Give the tokens of the argument that starts at `at`, without its braces, and the place after it."""
    while at < len(tokens) and tokens[at].isspace():
        at += 1
    if at >= len(tokens) or tokens[at] != "{":
        return tokens[at : at + 1], at + 1
    depth = 0
    for end in range(at, len(tokens)):
        depth += {"{": 1, "}": -1}.get(tokens[end], 0)
        if depth == 0:
            return tokens[at + 1 : end], end + 1
    return tokens[at + 1 :], len(tokens)


def replace(names: set[str], change: Callable[[str, Tokens, int], tuple[Tokens, int]]) -> Callable[[Tokens], Tokens]:
    """Build a step that hands each of these commands to `change`, which gives new tokens and where to go on."""

    def step(tokens: Tokens) -> Tokens:
        done: Tokens = []
        at = 0
        while at < len(tokens):
            if tokens[at] in names:
                new, at = change(tokens[at], tokens, at + 1)
                done += new
            else:
                done.append(tokens[at])
                at += 1
        return done

    return step


def drop(tokens: Tokens) -> Tokens:
    """Take out what only concerns size, numbering or rules; TeX eats the blank after a command, so that goes too."""
    done: Tokens = []
    skip = False
    for token in tokens:
        if token in DROPPED or (skip and token.isspace()):
            skip = True
            continue
        skip = False
        done.append(SYNONYMS.get(token, token))
    # A synonym may be longer than one token.
    return TOKEN.findall("".join(done))


def label(name: str, tokens: Tokens, at: int) -> tuple[Tokens, int]:
    return [], argument(tokens, at)[1]


def tag(name: str, tokens: Tokens, at: int) -> tuple[Tokens, int]:
    """A number that the author gave stands at the end, in brackets."""
    body, at = argument(tokens, at)
    return [r"\qquad", r"\text", "{", "(", *body, ")", "}"], at


def negation(name: str, tokens: Tokens, at: int) -> tuple[Tokens, int]:
    r"""`\not` strikes through what follows; for the usual signs there is one character."""
    body, end = argument(tokens, at)
    sign = NEGATED.get("".join(body))
    return ([sign], end) if sign else ([name], at)


def color(name: str, tokens: Tokens, at: int) -> tuple[Tokens, int]:
    r"""`\color{c}{x}` colours its second argument, as the authors of such formulas mean it, not all that follows."""
    value, at = argument(tokens, at)
    if at < len(tokens) and tokens[at] == "{":
        body, at = argument(tokens, at)
        return [r"\textcolor", "{", *value, "}", "{", *STEP_COLOR(body), "}"], at
    return [r"\color", "{", *value, "}"], at


def operator(name: str, tokens: Tokens, at: int) -> tuple[Tokens, int]:
    r"""Names of operators hold letters and thin spaces only; `\operatorname*` takes its limits below."""
    body, at = argument(tokens, at)
    letters = "".join(
        {r"\,": "\u2009", r"\ ": "\u2009", "~": "\u2009"}.get(token, token) for token in body if not token.isspace()
    )
    letters = re.sub(r"\\(?:text|mathrm|rm)\b", "", letters).replace("{", "").replace("}", "")
    if "\\" in letters:
        return [r"\mathop", "{", *body, "}"], at
    return [r"\mathop" if name.endswith("*") else r"\operatorname", "{", *letters, "}"], at


def text(name: str, tokens: Tokens, at: int) -> tuple[Tokens, int]:
    """Close a text before a formula inside it and open it again after."""
    body, at = argument(tokens, at)
    if "$" not in body:
        return [
            name,
            "{",
            *(token[1:] if token in (r"\_", r"\%", r"\&", r"\#", r"\$") else token for token in body),
            "}",
        ], at
    done: Tokens = []
    for number, part in enumerate("".join(body).split("$")):
        done += TOKEN.findall(part) if number % 2 else [name, "{", *TOKEN.findall(part), "}"] if part else []
    return done, at


def upright(name: str, tokens: Tokens, at: int) -> tuple[Tokens, int]:
    """One upright letter keeps its shape only if its argument does not look like a single letter."""
    body, at = argument(tokens, at)
    return ([r"\text", "{", *body, "}"] if len(body) == 1 and body[0].isalpha() else [name, "{", *body, "}"]), at


def environments(tokens: Tokens) -> Tokens:
    """Give environments the names that the converter knows; those for one line vanish."""
    done: Tokens = []
    at = 0
    while at < len(tokens):
        if tokens[at] not in (r"\begin", r"\end"):
            done.append(tokens[at])
            at += 1
            continue
        command = tokens[at]
        body, at = argument(tokens, at + 1)
        name = "".join(body)
        if name in PLAIN:
            continue
        if name in NUMBERED and command == r"\begin":
            at = argument(tokens, at)[1]
        new = "align*" if name in ALIGNED else "matrix" if name in GATHERED else name
        done += [command, "{", new, "}"]
    return done


def loose_lines(tokens: Tokens) -> Tokens:
    """Put lines that stand outside any environment into one."""
    depth = 0
    loose = aligned = False
    for token in tokens:
        depth += {r"\begin": 1, "{": 1, r"\end": -1, "}": -1}.get(token, 0)
        loose = loose or (depth == 0 and token == r"\\")
        aligned = aligned or (depth == 0 and token == "&")
    if not (loose or aligned):
        return tokens
    name = "align*" if aligned else "matrix"
    return [rf"\begin{{{name}}}", *tokens, rf"\end{{{name}}}"]


STEP_COLOR = replace({r"\color"}, color)
STEPS: tuple[Callable[[Tokens], Tokens], ...] = (
    drop,
    replace({r"\label"}, label),
    replace({r"\tag"}, tag),
    replace({r"\not"}, negation),
    STEP_COLOR,
    replace({r"\text", r"\textrm", r"\textbf", r"\textit", r"\texttt", r"\textsf", r"\mbox"}, text),
    replace({r"\operatorname", r"\operatorname*"}, operator),
    replace({r"\mathrm"}, upright),
    environments,
    loose_lines,
)
