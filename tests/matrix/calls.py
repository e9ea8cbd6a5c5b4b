"""Cells of the function `attention`: masks and scores on each engine, in each dtype and layout."""

import torch

import headwise as hw
from matrix.outcome import DTYPES, judge, outcome_of
from support.compare import copies, gradients, operands
from support.engines import ENGINES
from support.oracle import attend, make_pairs
from support.parts import MASKS, SCORES, Sizes, ruled

# Three sequences, of which the examples of padding hide one wholly; four heads. Fewer keys than queries leave rows empty.
BATCH, HEADS, FEATURES = 3, 4, 6
POSITIONS = {
    "slots": lambda s: {},
    "offsets": lambda s: {"query_positions": 5, "key_positions": 3},
    "a row each": lambda s: {
        "query_positions": torch.arange(s.queries) + torch.arange(s.batch)[:, None],
        "key_positions": torch.arange(s.keys) + 2 * torch.arange(s.batch)[:, None],
    },
}
KEYS = {"equal": lambda length: length, "more": lambda length: length + 6, "fewer": lambda length: max(1, length - 3)}
AXES = {
    "mask": list(MASKS),
    "score": list(SCORES),
    "engine": ["auto", *ENGINES],
    "dtype": list(DTYPES),
    "groups": ["4", "2", "1"],
    "length": ["1", "2", "7", "33"],
    "keys": list(KEYS),
    "positions": list(POSITIONS),
    "values": ["6", "9", "3"],
    "lse": ["without", "with"],
    "mode": ["grad", "no grad"],
}
LEVELS = {
    "mask x score": ("mask", "score", "engine", "dtype"),
    "mask x keys": ("mask", "keys", "positions", "length", "engine"),
    "score x keys": ("score", "keys", "positions", "length", "engine"),
    "grouping x everything": ("groups", "mask", "score", "engine"),
}


def check(cell):
    """The outcome of a cell."""
    length, dtype = int(cell["length"]), DTYPES[cell["dtype"]]
    sizes = Sizes(BATCH, HEADS, length, KEYS[cell["keys"]](length))
    mask, score, places = MASKS[cell["mask"]], SCORES[cell["score"]], POSITIONS[cell["positions"]](sizes)
    torch.manual_seed(0)
    given = operands(sizes, int(cell["groups"]), FEATURES, int(cell["values"]), dtype, cell["mode"] == "grad")
    arguments = {"mask": mask.make(sizes), "score": score.make(sizes), "engine": cell["engine"], **places}
    with_lse = cell["lse"] == "with"

    def run():
        with torch.set_grad_enabled(cell["mode"] == "grad"):
            result = hw.attention(*given, return_lse=with_lse, **arguments)
        return results(given, *(result if with_lse else (result, None)))

    def oracle(tensors):
        rules = {"sees": ruled(mask, sizes), "score": ruled(score, sizes)}
        output, lse = attend(
            *tensors, make_pairs(*sizes, **places), sink=score.sink(sizes) if score.sink else None, **rules
        )
        return results(tensors, output, lse if with_lse else None)

    def judged(found):
        if found["output"].dtype != dtype:
            return [f"the output is {found['output'].dtype}"]
        return judge(found, oracle(copies(given, dtype)), oracle(copies(given)), dtype, cell["engine"])

    return outcome_of(run, judged)


def results(given, output, lse):
    """Everything that is compared: output, lse, and the gradients of the operands."""
    found = {"output": output.detach()}
    if lse is not None:
        found["lse"] = lse.detach()
    if given[0].requires_grad:
        found |= zip(("grad of query", "grad of key", "grad of value"), gradients(given, output, lse), strict=True)
    return found
