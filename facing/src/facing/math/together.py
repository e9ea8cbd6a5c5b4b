"""---
title: Formulas and their punctuation
summary: A comma after a formula stays on its line.
---
Browsers may break a line on either side of a formula, even before a comma. Only an element around both holds them together.
"""

from __future__ import annotations

import re

OPENING = "(\\[\u201c\u300c\u300e\uff08"
CLOSING = ",.;:!?)\\]\u201d\u2019\u3001\u3002\u300d\u300f\uff01\uff09\uff0c\uff1a\uff1b\uff1f"
INLINE = re.compile(rf"([{OPENING}]*)(<math>(?:(?!</math>).)*</math>)([{CLOSING}]*)", re.DOTALL)


def hold_together(html: str) -> str:
    """Put each formula inside running text and the punctuation that touches it into one element."""

    def held(match: re.Match[str]) -> str:
        return f'<span class="held">{match[0]}</span>' if match[1] or match[3] else match[0]

    return INLINE.sub(held, html)
