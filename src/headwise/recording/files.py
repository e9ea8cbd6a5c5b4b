"""
---
title: Files of maps
summary: npz, CSV and JSON, for whatever comes after looking.
---
"""

import csv
import io
import json
from pathlib import Path

import numpy as np

from headwise.recording.maps import Maps
from headwise.recording.tape import RecordingError


def write_npz(maps: Maps, path: Path) -> None:
    """One array `[H,I,J]` for each layer, and `queries` and `keys`, the texts; `numpy.load` reads it."""
    buffer = io.BytesIO()
    np.savez_compressed(buffer, queries=np.array(maps.queries), keys=np.array(maps.keys), pool=maps.pool, **maps.layers)  # type: ignore[arg-type]
    write(path, buffer.getvalue())


def write_csv(maps: Maps, path: Path) -> None:
    """One line for each weight above 0: layer, head, slot and text of query and key, weight."""
    buffer = io.StringIO()
    lines = csv.writer(buffer, lineterminator="\n")
    lines.writerow(["layer", "head", "query", "query_text", "key", "key_text", "weight"])
    for name, weights_HIJ in maps.layers.items():
        for head, query, key in zip(*np.nonzero(weights_HIJ), strict=True):
            texts = maps.queries[query], maps.keys[key]
            lines.writerow([name, head, query, texts[0], key, texts[1], f"{weights_HIJ[head, query, key]:.6g}"])
    write(path, buffer.getvalue())


def write_json(maps: Maps, path: Path) -> None:
    """The same content as one document."""
    layers = {name: np.round(weights_HIJ.astype(float), 6).tolist() for name, weights_HIJ in maps.layers.items()}
    write(
        path,
        json.dumps(
            {"queries": maps.queries, "keys": maps.keys, "pool": maps.pool, "layers": layers}, ensure_ascii=False
        ),
    )


def write(path: Path, content: str | bytes) -> None:
    """Write a file, with a message that names it where that is not possible."""
    try:
        path.write_bytes(content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content)
    except OSError as error:
        raise RecordingError(f"The file must be writable. {path}: {error.strerror}; choose another place.") from None
