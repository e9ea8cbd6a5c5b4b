"""
---
title: The command line as a module
summary: `python -m headwise` is `headwise`, and `torchrun -m headwise` starts it in several processes.
---
"""

from headwise.cli import program

if __name__ == "__main__":
    program()
