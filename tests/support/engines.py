"""The engines that run on the machine of the tests: those for GPUs refuse everything on a CPU, and have tests of their own."""

import torch

from headwise.call import Call
from headwise.engines import ENGINES as ALL

PLAIN = Call.of(*(torch.zeros(1, 1, 2, 8) for _ in range(3)))
ENGINES = {name: engine for name, engine in ALL.items() if not engine.why_not(PLAIN)}
