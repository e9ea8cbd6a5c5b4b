"""
---
title: Commands
summary: One file per command of `headwise`; each is a frozen class whose fields are the flags.
---

# Commands

A command is a dataclass: its docstring is the help text, its fields are the flags, and calling it does the work.
No module here imports torch at its top, so that `headwise --help` answers at once.
"""
