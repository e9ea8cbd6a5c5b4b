# ---
# title: Attention from the inside
# summary: Attention computed by hand, step by step; then masks, scores, engines, and a model that learns where to look.
# run: true
# ---

# %% [markdown]
# # Attention from the inside
#
# This notebook computes attention by hand, one step at a time, and then lets the library do the same. At its end a small model is trained, and
# you look at what its heads look at. It needs no GPU and takes less than a minute.

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

# %%
import torch
import torch.nn.functional as F
from torch import nn

import headwise as hw
from headwise.drawing import curves, squares

torch.manual_seed(0)
torch.set_num_threads(1)
print("torch", torch.__version__, "and headwise", hw.__version__)

# %% [markdown]
# ## One query looks at five keys
#
# A query, a key and a value are vectors. How well a key matches the query is their **dot product**: large where the two point the same way.

# %%
query = torch.tensor([1.0, 0.0, 1.0, 0.0])
keys = torch.tensor(
    [
        [1.0, 0.0, 1.0, 0.0],  # the same
        [1.0, 0.0, 0.0, 1.0],  # half the same
        [0.0, 1.0, 0.0, 1.0],  # nothing in common
        [-1.0, 0.0, -1.0, 0.0],  # the opposite
        [2.0, 0.0, 2.0, 0.0],  # the same, and longer
    ]
)
scores = keys @ query
scores

# %% [markdown]
# The softmax turns scores into shares that sum to 1. Before it, the scores are divided by the root of the number of features, here $\sqrt{4} = 2$:
# otherwise they would grow with the width of a head, and the softmax would put everything on one key and learn no more.

# %%
weights = (scores / 2).softmax(dim=0)
print("weights", [round(weight, 3) for weight in weights.tolist()], "sum", round(float(weights.sum()), 3))

# %% [markdown]
# The output is the mixture of the values by these shares. With these values one can read it off: each key has a feature of its own.

# %%
values = torch.eye(5)
output = weights @ values
torch.testing.assert_close(output, weights)

# %% [markdown]
# The library does the same for all queries, heads and sequences of a batch at once. Tensors have the axes `[batch, heads, queries, features]`.

# %%
ours = hw.attention(query[None, None, None], keys[None, None], values[None, None])
torch.testing.assert_close(ours[0, 0, 0], output)
print(tuple(ours.shape))

# %% [markdown]
# ## Who may look at whom
#
# A mask says for each pair of a query and a key whether the query may see the key. True means *may see*. A model that writes must not read ahead:

# %%
hw.Causal().table(6, 6)

# %% [markdown]
# Masks join with `&`, `|` and `~`. This one looks back at most three tokens, and always sees the first one.

# %%
mask = hw.Causal() & (hw.Window(3) | hw.Prefix(1))
mask.table(10, 10)

# %% [markdown]
# Your own rule is a function of one pair: batch, head, query, key. Here even queries see even keys, and odd ones odd keys.

# %%
q, k, v = (torch.randn(1, 2, 8, 16) for _ in range(3))
own = hw.attention(q, k, v, mask=lambda b, h, i, j: (i - j) % 2 == 0)
print(tuple(own.shape))

# %% [markdown]
# ## Scores that know the distance
#
# Attention alone sees a set: the order of the keys changes nothing. One way to bring it in is to subtract from each score a penalty for the
# distance. With all scores equal, what remains is the penalty:

# %%
zeros = torch.zeros(1, 4, 20, 8)
identity = torch.eye(20).expand(1, 4, 20, 20)
maps = hw.attention(zeros, zeros, identity, mask=hw.Causal(), score=hw.Alibi(4))
squares(
    {f"head {h}": maps[0, h] for h in range(4)},
    alt="Four heads, each with a wider band below the diagonal than the one before.",
)

# %% [markdown]
# ## Which engine computed this?
#
# The definition is slow and simple. Engines compute the same numbers faster, and say what they cannot do.

# %%
print(hw.explain(q, k, v, mask=hw.Causal(), score=hw.Alibi(2)))

# %%
slow = hw.attention(q, k, v, mask=hw.Causal(), score=hw.Alibi(2), engine="reference")
fast = hw.attention(q, k, v, mask=hw.Causal(), score=hw.Alibi(2))
print(f"largest difference: {(slow - fast).abs().max():.0e}")

# %% [markdown]
# ## A model learns where to look
#
# One layer of attention learns to write ten tokens backwards. Place $i$ must look at place $9 - i$; nobody tells it so but the loss.


# %%
class Reverser(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(8, 32)
        self.position = hw.Learned(32, 10)
        self.attention = hw.MultiHeadAttention(32, heads=2)
        self.generator = nn.Linear(32, 8)

    def forward(self, tokens):
        return self.generator(self.attention(self.position(self.embedding(tokens), 0)))


model = Reverser()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
losses = []
for step in range(301):
    tokens = torch.randint(8, (64, 10))
    loss = F.cross_entropy(model(tokens).flatten(0, 1), tokens.flip(1).flatten())
    losses.append((step, loss.item()))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
curves({"loss": losses}, alt="The loss falls from 2.1 to nearly 0.", across="step", up="loss (nats)")

# %% [markdown]
# Record its attention. The model does not change for it, and any engine will do.

# %%
with hw.record(model) as tape:
    model(tokens[:1])
heads = tape["attention"][0].weights[0]
squares({"head 0": heads[0], "head 1": heads[1], "mean": heads.mean(0)}, alt="The weight lies on the other diagonal.")

# %%
mirrored = heads.flip(-1).diagonal(dim1=-2, dim2=-1).mean()
print(f"mean weight at the mirrored place: {mirrored:.2f}")
assert mirrored > 0.5

# %% [markdown]
# ## Now change something
#
# * Give the layer `mask=hw.Causal()`: then the first half cannot be known. How far does the loss fall?
# * Take the positions away: what do the maps look like?
# * Give it `score=hw.Alibi(2)`: does it learn faster, or slower, and why?
