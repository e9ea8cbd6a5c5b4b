"""LINT.md says what the code says."""

from __future__ import annotations

import re
from pathlib import Path

from facing.lint.codes import CODES

PAGE = Path(__file__).parents[2] / "LINT.md"


def test_table_of_codes_is_complete() -> None:
    rows = re.findall(r"^\| `([a-z-]+)` \| (\w+) \| (.+) \|$", PAGE.read_text("utf-8"), re.MULTILINE)
    assert {code: (kind, text) for code, kind, text in rows} == CODES
