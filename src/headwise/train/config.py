"""
---
title: Settings of a run
summary: Every choice of a training run is a field of three small frozen classes, filled by flags or by a TOML file.
---

# Settings of a run

`ModelConfig` says what is trained, `TrainConfig` how, and `RunConfig` joins both with the text.
The command line shows each field as a flag, and a run folder keeps the same fields in `config.toml`.

This module imports nothing heavy, because `headwise --help` reads it. Ranges are checked by `check`, which everything that takes
settings calls first: the command line builds them from flags and shall show a wrong value in the words below.

```python
>>> RunConfig(train=TrainConfig(steps=20)).train.warmup_steps
1

```
"""

import math
import types
from dataclasses import dataclass, field, fields
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from headwise.errors import HeadwiseError

Precision = Literal["float32", "bfloat16", "float16"]
MOST_THREADS = 1024
# Larger tensors end inside of PyTorch, without a word that tells which number was too large.
LARGEST_SIZE = 2**31


class ConfigError(HeadwiseError):
    """A setting that cannot be used: unknown, of a wrong kind, or out of its range."""


@dataclass(frozen=True)
class ModelConfig:
    """The shape of the transformer."""

    layers: int = 4
    """Number of transformer layers."""
    d_model: int = 128
    """Width: the number of features of a token between the layers."""
    heads: int = 4
    """Number of query heads; it divides the width."""
    kv_heads: int | None = None
    """Number of key and value heads; as many as query heads by default."""
    context: int = 128
    """Number of tokens that the model sees at once in training."""
    position: Literal["rotary", "learned", "sinusoidal"] = "rotary"
    """How the order of the tokens enters."""
    feed_forward: Literal["swiglu", "gelu", "relu"] = "swiglu"
    """Kind of the feed-forward block."""
    width: int | None = None
    """Hidden features of the feed-forward block; the model chooses by default."""
    norm: Literal["rms", "layer"] = "rms"
    """Kind of normalisation."""
    pre_norm: bool = True
    """Normalise before each block (or after it, as the first transformer did)."""
    dropout: float = 0.0
    """Probability of dropping an activation in training."""
    bias: bool = False
    """Whether the linear maps have biases."""
    tied: bool = True
    """Whether the output layer shares the weights of the embedding."""
    recompute: bool = False
    """Keep no activations of the layers and compute them again in the backward pass: less memory, more time."""

    def check(self) -> None:
        """Raises `ConfigError` where a value is out of its range."""
        # Which feed-forward blocks and norms there are, the model itself knows, and says.
        _require_kinds(self, known_elsewhere=("feed_forward", "norm"))
        for name in ("layers", "d_model", "heads", "context"):
            _require_count(name, getattr(self, name), below=LARGEST_SIZE)
        _require(
            self.d_model % self.heads == 0,
            "`heads` must divide `d_model`",
            f"d_model={self.d_model} and heads={self.heads}",
        )
        _require(0.0 <= self.dropout < 1.0, "`dropout` must be at least 0 and less than 1", f"{self.dropout}")


@dataclass(frozen=True)
class TrainConfig:
    """How the model is trained."""

    steps: int = 600
    """Number of updates."""
    seed: int = 1
    """Seed of everything that is drawn: weights, batches, dropout, samples."""
    threads: int | None = None
    """CPU threads; by default OMP_NUM_THREADS, and without it a short measurement chooses."""
    device: str = "cpu"
    """Device of the model, as cpu or cuda."""
    batch: int = 8
    """Rows in a batch."""
    accumulate: int = 1
    """Parts into which a batch is cut to save memory; the update stays the same."""
    learning_rate: float = 2e-3
    """Highest learning rate of the cosine schedule."""
    final_fraction: float = 0.05
    """Learning rate of the last update, as a fraction of the highest."""
    warmup: int | None = None
    """Updates until the highest learning rate; a twentieth of all steps by default."""
    schedule: Literal["cosine", "linear", "wsd", "noam"] = "cosine"
    """Learning rate schedule; wsd is warmup, stable, decay."""
    decay: int | None = None
    """Updates of the decay at the end of wsd; a fifth of all steps by default."""
    noam_factor: float = 1.0
    """Scale of the Noam schedule."""
    optimizer: Literal["adamw", "muon"] = "adamw"
    """AdamW for everything, or Muon for the matrices inside the layers and AdamW for the rest."""
    weight_decay: float = 0.1
    """Decay of the matrices; vectors are left alone."""
    beta1: float = 0.9
    """Memory of the first moment of AdamW."""
    beta2: float = 0.98
    """Memory of the second moment of AdamW."""
    clip: float | None = 1.0
    """Largest norm of the gradient; longer gradients are shortened to it."""
    parallel: Literal["ddp", "fsdp"] = "ddp"
    """Under torchrun: copies of the model (ddp), or a part of each weight in each process (fsdp)."""
    timeout: int = 300
    """Seconds that a process waits for the others before the training ends."""
    label_smoothing: float = 0.0
    """Share of a target's probability that is spread over all tokens in training; the validation is without it."""
    ema: float | None = None
    """Decay of an average of the weights, as 0.999; it is then what is measured, sampled and stored."""
    precision: Precision = "float32"
    """Precision of the products; float16 also scales the loss."""
    compile: bool = False
    """Compile the model with torch.compile: a slow start, and faster steps on many machines."""
    patience: int | None = None
    """Stop after this many reports without a better validation loss."""
    validation_rows: int = 128
    """Rows of the validation text that are measured, spread evenly over it."""
    report_every: int = 50
    """Steps between two measurements of the validation loss."""
    sample_every: int = 200
    """Steps between two samples of text."""
    checkpoint_every: int = 200
    """Steps between two checkpoints; the last step has one in any case."""
    prompt: str = "The "
    """Beginning of each sample."""
    sample_length: int = 300
    """Tokens of a sample."""
    track: tuple[Literal["csv", "tensorboard", "wandb", "mlflow", "trackio"], ...] = ()
    """Other programs that get the numbers of the log; nothing leaves this machine unless their own settings say so."""
    debug: tuple[Literal["attention"], ...] = ()
    """Further values for the log; `attention` adds statistics per layer and head."""

    def check(self) -> None:
        """Raises `ConfigError` where a value is out of its range."""
        _require_kinds(self)
        for name in (
            "steps",
            "batch",
            "accumulate",
            "validation_rows",
            "timeout",
            "report_every",
            "sample_every",
            "checkpoint_every",
        ):
            _require_count(name, getattr(self, name), below=LARGEST_SIZE if name == "batch" else 2**63)
        # A generator takes 64 bits, and the step is added to the seed of a sample.
        _require(0 <= self.seed < 2**63, "`seed` must be at least 0 and less than 2**63", f"{self.seed}")
        _require(self.sample_length >= 0, "`sample_length` must be at least 0", f"{self.sample_length}")
        # Thousands of threads end the process inside OpenMP, without a word.
        _require(
            self.threads is None or 1 <= self.threads <= MOST_THREADS,
            f"`threads` must lie between 1 and {MOST_THREADS}",
            f"{self.threads}",
        )
        _require(self.learning_rate > 0, "`learning_rate` must be above 0", f"{self.learning_rate}")
        for name in ("beta1", "beta2", "label_smoothing"):
            share = getattr(self, name)
            _require(0 <= share < 1, f"`{name}` must be at least 0 and less than 1", f"{share}")
        _require(self.weight_decay >= 0, "`weight_decay` must be at least 0", f"{self.weight_decay}")
        _require(self.noam_factor > 0, "`noam_factor` must be above 0", f"{self.noam_factor}")
        _require(0 <= self.final_fraction <= 1, "`final_fraction` must lie between 0 and 1", f"{self.final_fraction}")
        _require(
            self.clip is None or self.clip > 0, "`clip` must be above 0", f"{self.clip}; leave it out to clip nothing"
        )
        _require(
            self.warmup is None or 0 <= self.warmup <= self.steps,
            "`warmup` must lie between 0 and `steps`",
            f"warmup={self.warmup} and steps={self.steps}",
        )
        _require(self.ema is None or 0 < self.ema < 1, "`ema` must lie between 0 and 1", f"{self.ema}")
        _require(self.patience is None or self.patience >= 1, "`patience` must be at least 1", f"{self.patience}")
        _require(self.decay is None or self.decay >= 0, "`decay` must be at least 0", f"{self.decay}")
        _require(
            self.batch % self.accumulate == 0,
            "`accumulate` must divide `batch`",
            f"batch={self.batch}, accumulate={self.accumulate}",
        )

    @property
    def decay_steps(self) -> int:
        """The decay of the schedule wsd in updates, with the default filled in; it begins after the warmup at the earliest."""
        return min(self.steps - self.warmup_steps, self.steps // 5 if self.decay is None else self.decay)

    @property
    def warmup_steps(self) -> int:
        """The warmup in updates, with the default filled in."""
        return self.steps // 20 if self.warmup is None else self.warmup


@dataclass(frozen=True)
class RunConfig:
    """All settings of a run: the text, the model and the training."""

    data: str = "manual"
    """Text to learn from: manual, shakespeare, shakespeare-tiny, a file, FILE.jsonl[field], FILE.csv[column], a folder,
    hf:ORG/NAME[column], or - (input)."""
    encoding: str = "utf-8"
    """Encoding of the files."""
    tokenizer: str = "characters"
    """What a token is: characters, bytes, bpe (learned from the text), or a tokenizer.json."""
    vocab: int = 1024
    """Number of tokens of bpe."""
    documents: Literal["joined", "apart"] = "joined"
    """Documents as one text, or kept apart: then a token sees only its own document."""
    model: ModelConfig = field(default_factory=ModelConfig)
    train: TrainConfig = field(default_factory=TrainConfig)

    def check(self) -> None:
        """Raises `ConfigError` where a value is out of its range."""
        _require_kinds(self)
        self.model.check()
        self.train.check()


def _require(holds: bool, rule: str, came: str) -> None:
    if not holds:
        raise ConfigError(f"{rule}. Got {came}.")


def _require_count(name: str, value: int, *, below: int) -> None:
    _require(value >= 1, f"`{name}` must be at least 1", f"{value}")
    _require(value < below, f"`{name}` must be less than {below:,}", f"{value:,}")


def _require_kinds(settings: object, known_elsewhere: tuple[str, ...] = ()) -> None:
    """Each value is of the kind that its field declares; from Python anything may come, and `steps=True` would train for one step."""
    hints = get_type_hints(type(settings))
    for each in fields(settings):  # type: ignore[arg-type]
        hint, value = hints[each.name], getattr(settings, each.name)
        options = get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)
        if each.name in known_elsewhere or (value is None and type(None) in options):
            continue
        wrong = _why_not(value, next(option for option in options if option is not type(None)))
        _require(not wrong, f"`{each.name}` must be {wrong}", f"{value!r}")


def _why_not(value: Any, kind: Any) -> str:
    """What the value must be and is not; nothing if it is."""
    origin, options = get_origin(kind), get_args(kind)
    if origin is tuple:
        fits = isinstance(value, tuple | list) and all(not _why_not(each, options[0]) for each in value)
        known = ", ".join(map(str, get_args(options[0])))
        return "" if fits and len(set(value)) == len(value) else f"a tuple of {known}, each once"
    if origin is Literal:
        return "" if value in options else "one of " + ", ".join(map(str, options))
    if kind is float:
        # No settings file can hold a number that is not finite, and no training needs one.
        whole = isinstance(value, int) and not isinstance(value, bool)
        return "" if whole or (isinstance(value, float) and math.isfinite(value)) else "a finite number"
    if kind is str:
        return "" if isinstance(value, str) and _is_unicode(value) else "text in valid Unicode"
    fits = isinstance(value, kind) and not (kind is int and isinstance(value, bool))
    return "" if fits else {int: "a whole number", bool: "True or False"}.get(kind, kind.__name__)


def _is_unicode(text: str) -> bool:
    """Whether files in UTF-8 can hold the text; an argument of the command line with other bytes is none."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
