"""
---
title: headwise env
summary: Versions, devices, threads and engines; what a report of a fault should contain.
---

# headwise env
"""

from dataclasses import dataclass
from typing import Annotated, Any

import tyro

from headwise.commands.outcome import Outcome

PACKAGES = ("torch", "numpy", "safetensors", "tokenizers", "tyro", "rich", "jaxtyping")


@dataclass(frozen=True)
class Env:
    """Print versions, devices, threads and engines."""

    json: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    """Print the result as one JSON document in the last line."""

    def __call__(self) -> Outcome:
        document = environment()
        for title, content in document.items():
            print(title)
            for name, value in content.items():
                print(f"  {name:<16} {value}")
        return Outcome(document)


def environment() -> dict[str, dict[str, Any]]:
    """Everything about this machine that a result may depend on."""
    import importlib.metadata
    import os
    import platform

    import torch

    from headwise.call import Call
    from headwise.engines import ENGINES
    from headwise.version import __version__

    versions = {"headwise": __version__, "python": platform.python_version(), "system": platform.platform()}
    versions |= {name: importlib.metadata.version(name) for name in PACKAGES}
    devices = {"cpu": platform.processor() or platform.machine()}
    devices |= {f"cuda:{index}": torch.cuda.get_device_name(index) for index in range(torch.cuda.device_count())}
    threads = {
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "torch": torch.get_num_threads(),
        "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "not set"),
    }
    # A plain call on the best device here. An engine that refuses it has a reason in this machine.
    call = Call.of(*torch.empty(3, 1, 1, 1, 8, device="cuda" if torch.cuda.is_available() else "cpu"))
    return {
        "versions": versions,
        "devices": devices,
        "threads": threads,
        "engines": {name: "; ".join(engine.why_not(call)) or "available" for name, engine in ENGINES.items()},
    }
