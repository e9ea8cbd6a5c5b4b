"""What became of a cell: equal to the truth, refused with a reason, or wrong."""

from typing import NamedTuple

import torch

import headwise as hw
from support.compare import bound, error


class Outcome(NamedTuple):
    """`kind` is "equal", "refused" (then `note` is the reason) or "wrong" (then it says what is wrong)."""

    kind: str
    note: str = ""


DTYPES = {"float32": torch.float32, "float64": torch.float64, "bfloat16": torch.bfloat16, "float16": torch.float16}


# The error of the plain computation is measured at one entry, at times, and may be small by luck. So many roundings of the largest number are
# allowed in any case; in float64, where the plain computation is the truth itself, there is nothing else to go by.
ROUNDINGS = {torch.float64: 2.0**16, torch.float32: 8.0, torch.bfloat16: 1.0, torch.float16: 1.0}


def judge(found, plain, truth, dtype, engine):
    """
    The names of the results that are farther from the truth than twice the error of the plain computation.

    Gradients are judged by the size of the largest of them: that of a score is a difference of products, and rounds as these do.
    """
    wrong = []
    engine = "sdpa" if engine == "auto" else engine
    largest = max((size(t) for name, t in truth.items() if name.startswith("grad")), default=0.0)
    for name, right in truth.items():
        scale = largest if name.startswith("grad") else max(1.0, size(right))
        floor = ROUNDINGS[dtype] * torch.finfo(dtype).eps * scale
        allowed = bound(error(plain[name], right), right, dtype, engine) + floor
        try:
            off = error(found[name], right)
        except AssertionError:
            wrong.append(f"{name} holds other infinities or NaN")
            continue
        if not off <= allowed:
            wrong.append(f"{name} is off by {off:.2g}, allowed {allowed:.2g}")
    return wrong


def size(tensor):
    return torch.where(tensor.isfinite(), tensor, 0).abs().max().item() if tensor.numel() else 0.0


def outcome_of(run, judged):
    """Run a cell; only a refusal in words is no result."""
    try:
        found = run()
    except hw.EngineRefused as refusal:
        reason = str(refusal)
        return Outcome("refused", reason) if "cannot run this call: " in reason else Outcome("wrong", reason)
    except Exception as fault:
        return Outcome("wrong", f"{type(fault).__name__}: {str(fault).splitlines()[0] if str(fault) else ''}")
    wrong = judged(found)
    return Outcome("wrong", "; ".join(wrong)) if wrong else Outcome("equal")
