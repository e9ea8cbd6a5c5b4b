"""
One script for a GPU: are the engines right there, and how fast are they? At most eight minutes.

    python benchmarks/gpu_check.py > benchmarks/gpu-$(date +%F).txt

It checks every engine that runs a rule against the definition (float32 and bfloat16, output and gradients, compiled and not), and then
measures each rule beside PyTorch's kernel. It ends with a line that counts the faults, which is the exit code, too.
"""

import math
import statistics
import sys
import time
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

import headwise as hw
from headwise.bench.rules import Shape, make_rules
from headwise.engines import ENGINES

LIMIT_S = 7 * 60
START = time.monotonic()
# Largest errors, as a share of the largest number.
ALLOWED = {torch.float32: 5e-3, torch.bfloat16: 5e-2}


def make(shape: Shape, dtype: torch.dtype) -> tuple[Tensor, ...]:
    """Operands on the GPU."""
    return tuple(tensor.detach().cuda().requires_grad_() for tensor in shape.operands(dtype))


def moved(arguments: dict[str, Any]) -> dict[str, Any]:
    """A learned score lives on the GPU, too."""
    score = arguments.get("score")
    return {**arguments, "score": score.cuda()} if isinstance(score, torch.nn.Module) else arguments


def error(one: Tensor, other: Tensor) -> float:
    """The largest difference, as a share of the largest number."""
    return float((one.double() - other.double()).abs().max() / other.double().abs().max().clamp(min=1e-9))


def with_gradients(run: Any, tensors: tuple[Tensor, ...], grad: Tensor) -> list[Tensor]:
    """Output and gradients."""
    output = run(*tensors)
    return [output.detach(), *torch.autograd.grad(output, tensors, grad.to(output.dtype))]


def check(shape: Shape) -> int:
    """Compare every engine with the definition; the number of faults."""
    faults = 0
    for rule, arguments in make_rules(shape).items():
        arguments = moved(arguments)
        for dtype, allowed in ALLOWED.items():
            tensors = make(shape, dtype)
            grad = torch.randn(tensors[0].shape, device="cuda")
            exact = tuple(tensor.detach().double().requires_grad_() for tensor in tensors)
            right = with_gradients(lambda *t, a=arguments: hw.attention(*t, **a, engine="reference"), exact, grad)
            for name in ENGINES:
                for compiled in (False, True):
                    if time.monotonic() - START > LIMIT_S / 2:
                        print("time is up for checks")
                        return faults
                    faults += check_one(rule, name, compiled, arguments, tensors, grad, right, allowed)
    return faults


def check_one(
    rule: str,
    name: str,
    compiled: bool,
    arguments: dict[str, Any],
    tensors: tuple[Tensor, ...],
    grad: Tensor,
    right: list[Tensor],
    allowed: float,
) -> int:
    """One engine on one rule: 1 if it is off or breaks."""
    title = f"{rule:13} {name:10} {str(tensors[0].dtype)[6:]:9} {'compiled' if compiled else 'eager':9}"
    if compiled and name not in ("reference", "sdpa", "flex"):
        return 0
    run: Any = lambda *t: hw.attention(*t, **arguments, engine=name)  # noqa: E731
    try:
        found = with_gradients(torch.compile(run) if compiled else run, tensors, grad)
    except hw.EngineRefused as refusal:
        print(f"{title} refuses: {str(refusal)[:110]}")
        return 0
    except Exception as fault:
        print(f"{title} BREAKS: {type(fault).__name__}: {str(fault).splitlines()[0][:150]}")
        return 1
    errors = [error(one, other) for one, other in zip(found, right, strict=True)]
    wrong = max(errors) > allowed or any(map(math.isnan, errors))
    print(f"{title} errors {' '.join(f'{e:.1e}' for e in errors)}{'  WRONG' if wrong else ''}")
    return int(wrong)


def clock(run: Any, rounds: int = 12) -> float:
    """The median milliseconds of a run."""
    times = []
    for _ in range(rounds):
        start, stop = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        run()
        stop.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(stop))
    return statistics.median(times[2:])


def measure(shape: Shape) -> None:
    """Every rule by every engine, as a ratio to plain causal attention, in bfloat16."""
    tensors = make(shape, torch.bfloat16)
    grad = torch.randn_like(tensors[0])

    def plain(*t: Tensor) -> Tensor:
        return F.scaled_dot_product_attention(*t, is_causal=True)

    base = clock(lambda: plain(*tensors)), clock(lambda: with_gradients(plain, tensors, grad))
    print(f"\n{shape}, bfloat16; plain causal {base[0]:.3f} ms, with gradients {base[1]:.3f} ms")
    for rule, arguments in make_rules(shape).items():
        arguments = moved(arguments)
        for name in ENGINES:
            if time.monotonic() - START > LIMIT_S:
                print("time is up")
                return
            run: Any = lambda *t, n=name, a=arguments: hw.attention(*t, **a, engine=n)  # noqa: E731
            try:
                torch.cuda.reset_peak_memory_stats()
                forward, training = (
                    clock(lambda r=run: r(*tensors)),
                    clock(lambda r=run: with_gradients(r, tensors, grad)),
                )
                memory = torch.cuda.max_memory_allocated() / 1e6
            except hw.EngineRefused:
                continue
            except Exception as fault:
                print(f"{rule:13} {name:10} BREAKS: {type(fault).__name__}: {str(fault).splitlines()[0][:150]}")
                continue
            print(
                f"{rule:13} {name:10} {forward / base[0]:6.2f} {training / base[1]:6.2f}   peak {memory:,.0f} MB",
                flush=True,
            )


def main() -> int:
    """Check, then measure."""
    if not torch.cuda.is_available():
        print("There is no GPU here.")
        return 2
    print(
        f"{time.strftime('%Y-%m-%d')}  {torch.cuda.get_device_name()}  torch {torch.__version__}  headwise {hw.__version__}"
    )
    faults = check(Shape(2, 4, 384, 64))
    measure(Shape(1, 16, 4096, 64))
    print(f"\n{faults} faults, {time.monotonic() - START:.0f} s")
    return min(faults, 1)


if __name__ == "__main__":
    sys.exit(main())
