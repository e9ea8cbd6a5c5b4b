"""
---
title: The matrix of combinations
summary: Runs the cells of the test matrix and writes what became of them as a Markdown page.
---

# Every part, in every combination

`python benchmarks/matrix.py` runs the cells of `tests/matrix` and writes `benchmarks/MATRIX.md`: for each level the cells that equal the truth,
those that an engine refuses with a reason, and those that are neither, of which there must be none. With `--whole` it runs whole
products, which takes minutes.
"""

import argparse
import sys
from collections import Counter
from datetime import date
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests"))

import headwise as hw  # noqa: E402
from matrix import calls, layers  # noqa: E402
from matrix.cover import Cell, pairwise, product  # noqa: E402
from matrix.outcome import Outcome  # noqa: E402

SUITES = {"attention": calls, "layer": layers}
Results = list[tuple[Cell, Outcome]]


def levels(whole: bool) -> dict[str, tuple[str, list[Cell]]]:
    """The cells of each level, and the suite that runs them."""
    if not whole:
        return {f"{suite}: every two values": (suite, pairwise(module.AXES)) for suite, module in SUITES.items()}
    return {
        f"{suite}: {level}": (suite, product(module.AXES, axes))
        for suite, module in SUITES.items()
        for level, axes in module.LEVELS.items()
    }


def count_table(results: dict[str, Results]) -> list[str]:
    """One row a level."""
    rows = ["| level | cells | equal | refused, with a reason | silent |", "|---|--:|--:|--:|--:|"]
    for level, found in results.items():
        kinds = Counter(outcome.kind for _, outcome in found)
        rows.append(f"| {level} | {len(found)} | {kinds['equal']} | {kinds['refused']} | {kinds['wrong']} |")
    return rows


def pair_table(found: Results, down: str, across: list[str], axis: str) -> list[str]:
    """For each value of `down` and of `axis`: equal / refused, summed over everything else."""
    rows = [f"| {down} | " + " | ".join(across) + " |", "|---|" + "--:|" * len(across)]
    for value in dict.fromkeys(cell[down] for cell, _ in found):
        kinds = [
            Counter(outcome.kind for cell, outcome in found if cell[down] == value and cell[axis] == other)
            for other in across
        ]
        rows.append(f"| {value} | " + " | ".join(map(entry, kinds)) + " |")
    return rows


def entry(kinds: Counter[str]) -> str:
    """The counts of a cell of the table, as short as they can be read."""
    refused = f", {kinds['refused']} refused" if kinds["refused"] else ""
    wrong = f", **{kinds['wrong']} silent**" if kinds["wrong"] else ""
    return f"{kinds['equal']} equal{refused}{wrong}"


def reason_table(results: dict[str, Results]) -> list[str]:
    """Every reason that was given, with how often."""
    reasons: Counter[str] = Counter()
    for found in results.values():
        for _, outcome in found:
            if outcome.kind == "refused":
                reasons[outcome.note.split(". Usual fix")[0]] += 1
    return ["| refusal | times |", "|---|--:|", *(f"| {reason} | {times} |" for reason, times in reasons.most_common())]


def page(results: dict[str, Results], whole: bool) -> str:
    """The whole page."""
    import torch

    lines = [
        "# Every part, in every combination",
        "",
        "Each cell runs one combination and compares output, lse, records and gradients with attention written a second time, "
        "in float64; projections, norms and rotations of the layer are its own. "
        "**Equal** means at most twice the error of the plain computation in the same dtype. **Refused** means `EngineRefused` with the reason. "
        "**Silent** is everything else.",
        "",
        f"Measured {date.today().isoformat()}, headwise {hw.__version__}, PyTorch {torch.__version__.split('+')[0]}, CPU. "
        f"Made by `python benchmarks/matrix.py{' --whole' if whole else ''}`.",
        "",
        *count_table(results),
    ]
    for suite, module in SUITES.items():
        found = [item for level, items in results.items() if level.startswith(f"{suite}: ") for item in items]
        for down in ("mask", "score", *(["position", "cache", "record"] if suite == "layer" else [])):
            lines += ["", f"## {suite}: {down} x engine", "", *pair_table(found, down, module.AXES["engine"], "engine")]
    return "\n".join([*lines, "", "## Reasons", "", *reason_table(results), ""])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[2])
    parser.add_argument("--whole", action="store_true", help="whole products, in minutes")
    parser.add_argument("--out", type=Path, default=ROOT / "benchmarks" / "MATRIX.md")
    arguments = parser.parse_args()
    results = {
        level: [(cell, SUITES[suite].check(cell)) for cell in cells]
        for level, (suite, cells) in levels(arguments.whole).items()
    }
    arguments.out.write_text(page(results, arguments.whole), encoding="utf-8")
    print("\n".join(count_table(results)))
    wrong = [(cell, outcome.note) for found in results.values() for cell, outcome in found if outcome.kind == "wrong"]
    for cell, note in wrong[:20]:
        print(note, cell, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
