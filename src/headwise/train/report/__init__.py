"""
---
title: The report of runs
summary: One HTML page that shows how one or several trainings went, and needs nothing else.
---

# The report of runs

`headwise report RUN...` reads run folders (`read.py`), draws curves as SVG (`chart.py`) and joins them to one page (`page.py`).
The page asks for nothing from outside and holds no script, so it can be sent, stored and opened years later.
"""

from headwise.train.report.page import write_report

__all__ = ["write_report"]
