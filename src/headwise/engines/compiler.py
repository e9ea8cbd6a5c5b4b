"""
---
title: The C++ compiler
summary: What torch.compile needs on a CPU, looked for before it is missed.
---

# The C++ compiler

On a CPU `torch.compile` writes C++, which a compiler and the headers of Python turn into machine code. Where one of them is missing, the
error comes late and is long; asked for beforehand, it is one sentence.
"""

import os
import shutil
import sys
import sysconfig
from pathlib import Path


def why_no_compiler() -> str | None:
    """What `torch.compile` would miss on a CPU, or None."""
    usual = {"darwin": "clang++", "win32": "cl"}.get(sys.platform, "g++")
    name = os.environ.get("CXX", usual)
    if shutil.which(name) is None:
        return f"there is no C++ compiler {name}"
    if not Path(sysconfig.get_path("include"), "Python.h").is_file():
        return "the headers of Python are not installed"
    return None
