"""The layer written a second time: projections, the oracle of attention, and no cache; every chunk is computed from the whole past."""

import torch

from matrix.schemes import MASKS, PADDINGS, SCORES
from support.oracle import attend, make_pairs


def halves(length):
    cut = (length + 1) // 2
    return [(0, cut), (cut, length)] if cut < length else [(0, length)]


# How a sequence is cut: without a cache, in one step that fills it, in two, and token by token.
CHUNKS = {
    "none": lambda length: [(0, length)],
    "one step": lambda length: [(0, length)],
    "two steps": halves,
    "uneven steps": lambda length: [(0, 1), *([(1, length - 1)] if length > 2 else []), (length - 1, length)][
        : min(length, 3)
    ],
    "token by token": lambda length: [(place, place + 1) for place in range(length)],
}


def plain(layer, x, cell):
    """What `layers.found_by` finds, by the definition."""
    from matrix.layers import compared, positions_of

    x = x.detach().requires_grad_(cell["mode"].endswith(", grad"))
    padding = PADDINGS[cell["padding"]](*x.shape[:2])
    places = torch.arange(x.shape[1])[None] if padding is None else positions_of(padding)
    outputs, kept = [], {}
    with torch.set_grad_enabled(x.requires_grad):
        for start, stop in CHUNKS[cell["cache"]](x.shape[1]):
            output, weights, lse = chunk_of(layer, x, cell, (start, stop), padding, places)
            outputs.append(output)
            if cell["record"] in ("weights", "keep_attention"):
                kept[f"weights of {start}"] = weights
            if cell["record"] == "lse":
                kept[f"lse of {start}"] = lse
            if cell["record"] == "entropy":
                kept[f"entropy of {start}"] = -torch.special.xlogy(weights, weights).sum(-1)
    return compared(layer, x, torch.cat(outputs, 1), kept)


def chunk_of(layer, x, cell, chunk, padding, places):
    """Output, weights and lse of the queries of one chunk over all keys up to its end."""
    start, stop = chunk
    score = SCORES[cell["score"]]

    def heads(prepare, norm, tokens):
        split = prepare(tokens)
        return (split if norm is None else norm(split)).transpose(1, 2)

    query = heads(layer.query, layer.query_norm, x[:, start:stop])
    key, value = heads(layer.key, layer.key_norm, x[:, :stop]), heads(layer.value, None, x[:, :stop])
    if layer.position is not None:
        depends = layer.position.depends_on_length
        length = (stop if padding is None else places[:, :stop].amax(1) + 1) if depends else None
        query = layer.position(query, places[:, start:stop], length=length)
        key = layer.position(key, places[:, :stop], length=length)
    pairs = make_pairs(len(x), layer.heads, stop - start, stop, places[:, start:stop], places[:, :stop])
    rules = {
        "sees": lambda p: MASKS[cell["mask"]].rule(p, padding if padding is None else padding[:, :stop]),
        "score": lambda scores, p: score.rule(scores, p, layer, query, key),
        "sink": score.sink(layer) if score.sink else None,
    }
    output, lse = attend(query, key, value, pairs, **rules)
    one_hot = torch.eye(stop, dtype=x.dtype).expand(len(x), layer.kv_heads, -1, -1)
    weights, _ = attend(query, key, one_hot, pairs, **rules)
    return layer.output(output.transpose(1, 2).flatten(-2)), weights, lse
