"""
---
title: headwise inspect
summary: Shows what the heads of a trained model look at, on the terminal or in a file.
---

# headwise inspect
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from headwise.commands.outcome import Outcome

if TYPE_CHECKING:
    from rich.console import Console

    from headwise.recording.maps import Maps

SUFFIXES = (".html", ".png", ".svg", ".npz", ".csv", ".json")


@dataclass(frozen=True)
class Inspect:
    """Show what the heads of a trained model look at."""

    run: tyro.conf.Positional[Path]
    """Folder of a run, as `headwise train` makes it."""
    prompt: str
    """Text that the model reads."""
    layer: int | None = None
    """Layer to draw on the terminal, from 0 on; the one with the best previous-token head by default."""
    head: int | None = None
    """Head to draw on the terminal, from 0 on; the best previous-token head of the layer by default."""
    html: Path | None = None
    """File for a page that shows all layers and heads, without a network."""
    save: tuple[Path, ...] = ()
    """More files to write; names end in .html, .png, .svg, .npz, .csv or .json. A picture shows all heads, or the one of --layer or --head."""
    checkpoints: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    """Also say how alike each head was, in each checkpoint of the run, to what it is now: 1 is the same map, 0 looks elsewhere."""
    json: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    """Print the result as one JSON document in the last line."""

    def __call__(self) -> Outcome:
        from rich.console import Console

        from headwise.recording.heads import head_scores
        from headwise.recording.maps import maps_of
        from headwise.train.build import load_run

        # Everything that can be wrong with the names of files is found before the model runs.
        paths = (*([self.html] if self.html else []), *self.save)
        check_suffixes(paths)
        model, tokenizer, config = load_run(self.run)
        tokens = tokenizer.encode(self.prompt)
        check_length(len(tokens))
        texts = [tokenizer.decode([number]) for number in tokens.tolist()]
        maps = maps_of(model, tokens, texts)
        scores = {
            name: {kind: numbers.tolist() for kind, numbers in kinds.items()}
            for name, kinds in head_scores(model, tokens[None]).items()
        }
        layer, head = self.chosen(scores)
        alike = similarities(model, self.run, maps, lambda: maps_of(model, tokens, texts)) if self.checkpoints else {}

        console = Console(highlight=False)
        print_scores(console, scores)
        print_similarities(console, alike)
        console.print(
            f"\nLayer {list(scores).index(layer)}, head {head}: rows are queries, columns are keys, numbers are percent."
        )
        notes = [maps.note] if maps.note else []
        if len(tokens) > config.model.context:
            notes.append(f"The text has {len(tokens)} tokens; the model was trained on rows of {config.model.context}.")
        for note in notes:
            console.print(note)
        draw(console, maps, layer, head)
        asked = None if self.layer is None and self.head is None else (layer, head)
        for path in paths:
            save(maps, path, asked, title=f"Attention of {self.run.name}")
            console.print(f"written: {path}", soft_wrap=True)
        return Outcome(
            {
                "run": str(self.run),
                "tokens": texts,
                "pool": maps.pool,
                "notes": notes,
                "layer": layer,
                "head": head,
                "scores": scores,
                "checkpoints": alike,
                "files": [str(path) for path in paths],
            }
        )

    def chosen(self, scores: dict[str, dict[str, list[float]]]) -> tuple[str, int]:
        """The layer and head to draw."""
        names = list(scores)
        previous = {name: kinds.get("previous") or [0.0] for name, kinds in scores.items()}
        best = max(names, key=lambda name: max(previous[name]))
        layer = best if self.layer is None else names[in_range("layer", self.layer, len(names))]
        heads = previous[layer]
        return layer, heads.index(max(heads)) if self.head is None else in_range("head", self.head, len(heads))


def in_range(flag: str, number: int, size: int) -> int:
    """The number, if there are so many layers or heads."""
    from headwise.recording.tape import RecordingError

    if not 0 <= number < size:
        raise RecordingError(f"`{flag}` must be one of 0 to {size - 1}. Got {number}.")
    return number


def check_suffixes(paths: tuple[Path, ...]) -> None:
    """Refuse a file whose name says no known format."""
    from headwise.recording.tape import RecordingError

    for path in paths:
        if path.suffix.lower() not in SUFFIXES:
            raise RecordingError(f"The name of a file must end in one of {', '.join(SUFFIXES)}. Got {path}.")


def check_length(length: int) -> None:
    """Refuse a text without pairs."""
    from headwise.recording.tape import RecordingError

    if length < 2:
        raise RecordingError(f"`prompt` must have at least two tokens, because attention is about pairs. Got {length}.")


def print_scores(console: "Console", scores: dict[str, dict[str, list[float]]]) -> None:
    """A line for each head; the numbers are mean weights on the places where such a head would look."""
    from rich.text import Text

    kinds = list(next(iter(scores.values())))
    console.print(Text("layer  head  " + "  ".join(f"{kind:>9}" for kind in kinds), style="bold"))
    for layer, (name, table) in enumerate(scores.items()):
        for head in range(len(table[kinds[0]])):
            console.print(
                f"{layer:>5}  {head:>4}  "
                + "  ".join(f"{table[kind][head]:>9.3f}" for kind in kinds)
                + (f"  {name}" if head == 0 else "")
            )


def similarities(model: Any, run: Path, now: "Maps", look: Callable[[], "Maps"]) -> dict[str, dict[str, list[float]]]:
    """For each checkpoint and layer: how alike each head is to itself now. The model keeps the newest weights."""
    import torch

    from headwise.recording.heads import similarity
    from headwise.train.weights import load_weights

    found = {}
    for folder in sorted((run / "state").glob("step-*")):
        load_weights(model, folder / "model.safetensors")
        before = look()
        both = [{name: torch.from_numpy(table)[None] for name, table in maps.layers.items()} for maps in (before, now)]
        found[folder.name] = {name: table.diagonal().tolist() for name, table in similarity(*both).items()}
    load_weights(model, run / "model.safetensors")
    return found


def print_similarities(console: "Console", alike: dict[str, dict[str, list[float]]]) -> None:
    """A line for each checkpoint, a number for each head, layers side by side."""
    for step, layers in alike.items():
        numbers = " | ".join(" ".join(f"{number:.2f}" for number in heads) for heads in layers.values())
        console.print(f"{step}: as now  {numbers}", soft_wrap=True)


def draw(console: "Console", maps: "Maps", layer: str, head: int) -> None:
    """The map of one head."""
    from headwise.recording.terminal import draw_map

    draw_map(console, maps.layers[layer][head], maps.queries)


def save(maps: "Maps", path: Path, head: tuple[str, int] | None, *, title: str) -> None:
    """Write a file in the format that its name says."""
    from headwise.recording import files

    kind = path.suffix.lower()
    if kind == ".html":
        from headwise.recording.viewer import write_page

        write_page(maps, path, title=title)
    elif kind in (".png", ".svg"):
        from headwise.recording.plots import write_picture

        write_picture(maps, path, head=head, title=title if head is None else "")
    else:
        writers: dict[str, Any] = {".npz": files.write_npz, ".csv": files.write_csv, ".json": files.write_json}
        writers[kind](maps, path)
