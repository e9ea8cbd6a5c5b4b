"""
---
title: The command line as a module
summary: `python -m headwise` is `headwise`, and `torchrun -m headwise` starts it in several processes.
---
"""

import sys

from headwise.cli import main

if __name__ == "__main__":
    sys.exit(main())
