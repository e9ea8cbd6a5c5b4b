"""Cells of the layer: positions, caches, masks, scores, groups, norms and recordings, in each dtype and mode."""

import copy

import torch

import headwise as hw
from matrix.outcome import DTYPES, judge, outcome_of
from matrix.plain_layer import CHUNKS, plain
from matrix.schemes import MASKS, PADDINGS, POSITIONS, SCORES
from support.engines import ENGINES

WIDTH, HEADS, BATCH = 16, 4, 3
AXES = {
    "position": list(POSITIONS),
    "cache": list(CHUNKS),
    "mask": list(MASKS),
    "score": list(SCORES),
    "engine": ["auto", *ENGINES],
    "dtype": list(DTYPES),
    "groups": ["4", "2", "1"],
    "length": ["1", "2", "7", "33"],
    "padding": list(PADDINGS),
    "record": ["nothing", "keep_attention", "weights", "lse", "entropy"],
    "mode": ["train, grad", "eval, grad", "eval, no grad"],
    "norm": ["none", "rms"],
    "layout": ["batch first", "classic"],
}
LEVELS = {
    "position x cache": ("position", "cache", "padding", "engine", "dtype"),
    "mask x cache": ("mask", "cache", "padding", "engine"),
    "score x cache": ("score", "cache", "engine", "dtype"),
    "score x record": ("score", "record", "engine", "dtype", "cache"),
    "mask x record": ("mask", "record", "engine", "padding"),
    "grouping x everything": ("groups", "mask", "score", "position"),
}


class Distance(hw.MultiHeadAttention):
    """Scores that are no dot products."""

    def get_scores(self, query, key, query_positions, key_positions):
        return -(query[:, :, :, None] - key[:, :, None]).square().sum(-1)


def make_layer(cell, dtype):
    training = cell["mode"].startswith("train")
    kind = Distance if cell["score"] == "own get_scores" else hw.MultiHeadAttention
    layer = kind(
        WIDTH,
        HEADS,
        kv_heads=int(cell["groups"]),
        # In eval nothing is dropped, so that much is the same as none.
        dropout=0.0 if training else 0.5,
        position=POSITIONS[cell["position"]],
        mask=MASKS[cell["mask"]].of_layer,
        score=SCORES[cell["score"]].make(HEADS),
        qk_norm=None if cell["norm"] == "none" else cell["norm"],
        batch_first=cell["layout"] == "batch first",
        engine=cell["engine"],
    )
    for name, parameter in layer.named_parameters():
        if name.startswith("score") or "bias" in name:
            torch.nn.init.normal_(parameter)
    return layer.train(training).to(dtype)


def check(cell):
    """The outcome of a cell."""
    torch.manual_seed(0)
    dtype, length = DTYPES[cell["dtype"]], int(cell["length"])
    layer = make_layer(cell, dtype)
    x = torch.randn(BATCH, length, WIDTH).to(dtype)

    def oracle(wide):
        return plain(copy.deepcopy(layer).to(wide), x.to(wide), cell)

    def judged(found):
        if found["output"].dtype != dtype:
            return [f"the output is {found['output'].dtype}"]
        return judge(found, oracle(dtype), oracle(torch.float64), dtype, cell["engine"])

    return outcome_of(lambda: found_by(layer, x, cell), judged)


def found_by(layer, x, cell):
    """Output, recorded numbers and gradients of the layer, chunk after chunk through its cache."""
    x = x.requires_grad_(cell["mode"].endswith(", grad"))
    padding, mask = PADDINGS[cell["padding"]](BATCH, x.shape[1]), MASKS[cell["mask"]]
    cache, outputs, kept = None if cell["cache"] == "none" else hw.KVCache(), [], {}
    layer.keep_attention = cell["record"] == "keep_attention"
    recorded = cell["record"] if cell["record"] in ("weights", "lse", "entropy") else None
    keep = () if recorded is None else ("stats" if recorded == "entropy" else recorded,)
    with torch.set_grad_enabled(x.requires_grad):
        for start, stop in CHUNKS[cell["cache"]](x.shape[1]):
            options = {"mask": mask.of_call(start, stop, padding), "cache": cache}
            if padding is not None:
                options["positions"] = positions_of(padding)[:, start:stop]
            chunk = x[:, start:stop] if layer.batch_first else x[:, start:stop].transpose(0, 1)
            if recorded is None:
                output = layer(chunk, **options)
            else:
                with hw.record(layer, keep=keep) as tape:
                    output = layer(chunk, **options)
                (record,) = tape[""]
                kept[f"{recorded} of {start}"] = (
                    record.stats["entropy"] if recorded == "entropy" else getattr(record, recorded)
                )
            if layer.keep_attention:
                kept[f"weights of {start}"] = layer.attn
            outputs.append(output if layer.batch_first else output.transpose(0, 1))
    return compared(layer, x, torch.cat(outputs, 1), kept)


def positions_of(padding):
    return (padding.cumsum(1) - 1).clamp(min=0)


def compared(layer, x, output, kept):
    """Output, what was recorded, and the gradients of the input and of all parameters."""
    found = {"output": output.detach()} | {name: tensor.detach() for name, tensor in kept.items()}
    if not x.requires_grad:
        return found
    names = ["x", *dict(layer.named_parameters())]
    tensors = [x, *layer.parameters()]
    loss = (output * torch.cos(torch.arange(output.numel()).view(output.shape)).to(output)).sum()
    grads = torch.autograd.grad(loss, tensors, allow_unused=True, materialize_grads=True)
    return found | {f"grad of {name}": grad for name, grad in zip(names, grads, strict=True)}
