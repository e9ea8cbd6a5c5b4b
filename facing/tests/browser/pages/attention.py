r"""# Attention

A **query** finds the *keys* that match it, and mixes their values:

$$\text{Attention}(Q, K, V) = \text{softmax}\left(\frac{Q K^\top}{\sqrt{D}}\right) V$$

| letter | meaning |
|---|---|
| `B` | batch |
| `H` | query heads, each with its own projection of $x \in \mathbb{R}^{M}$ |

```python
output = attention(query, key, value)
print(output.shape)
output.sum().backward()
optimizer.step()
```

The cases are

$$m_{ij} = \begin{cases} 1 & \text{if } j \le i \\ 0 & \text{otherwise} \end{cases}$$

\begin{align}
a_{ij} &= \sum_d q_{id} k_{jd} + \sum_d q_{id} k_{jd} + \sum_d q_{id} k_{jd} + \sum_d q_{id} k_{jd} \\
w_{ij} &= \frac{e^{a_{ij}}}{\sum_{j'} e^{a_{ij'}}}
\end{align}
"""

import math

from sample.mask import Mask


class Attention:
    """## The layer

    * `heads` is the number of heads.
    * `mask` says which pairs see each other; see sample.mask.causal.

    > One definition, many engines.
    """

    def __init__(self, heads: int, mask: Mask | None = None) -> None:
        # How many subspaces are compared side by side.
        self.heads = heads
        self.mask = mask

    def forward(
        self, query: "Tensor", key: "Tensor", value: "Tensor", *, scale: float | None = None, dropout: float = 0.0
    ) -> "Tensor":
        """### One call

        The scores are divided by $\\sqrt{D}$, see [masks](Causal).
        """
        scale = scale or 1 / math.sqrt(query.shape[-1])

        # Each pair of a query and a key has a score $a_{ij}$.
        scores = (query @ key.transpose(-2, -1)) * scale

        # Hidden pairs get no weight.
        if self.mask is not None:
            scores = self.mask(scores)
        weights = scores.softmax(dim=-1)
        return weights @ value
