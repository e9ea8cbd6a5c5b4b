"""
---
title: The vision transformer
summary: Dosovitskiy et al., 2021: an image is sixteen times sixteen words.
run: true
---

# The vision transformer

Cut an image into squares of 16 pixels, map each to a vector, and read them as a text. No convolution tells the model that neighbours belong together;
given enough images it finds out. One more token, the **class token**, looks at all squares and collects what the image shows.

*Source*: Dosovitskiy et al., 2021, "An Image is Worth 16x16 Words", section 3.1, [arXiv:2010.11929](https://arxiv.org/abs/2010.11929).
"""

import torch
from torch import nn

import headwise as hw
from headwise.drawing import squares


# A convolution whose steps are as wide as its window is a linear map of each square. There is no mask: everything sees everything.
class VisionTransformer(nn.Module):
    """The model with its published sizes: squares of 16 pixels, width 768, 12 layers."""

    def __init__(self, size=224, patch=16, d_model=768, heads=12, layers=12, classes=1000):
        super().__init__()
        self.patches = nn.Conv2d(3, d_model, kernel_size=patch, stride=patch)
        self.class_token = nn.Parameter(torch.zeros(1, 1, d_model))
        self.position = hw.Learned(d_model, 1 + (size // patch) ** 2)
        self.encoder = hw.Encoder(d_model, heads, layers, feed_forward="gelu", width=4 * d_model)
        self.head = nn.Linear(d_model, classes)

    def forward(self, images):
        squares = self.patches(images).flatten(2).transpose(1, 2)
        tokens = torch.cat([self.class_token.expand(len(images), -1, -1), squares], dim=1)
        return self.head(self.encoder(self.position(tokens, 0))[:, 0])


with torch.device("meta"):
    print(f"{sum(weight.numel() for weight in VisionTransformer().parameters()):,} weights")

# A small one on a picture with a bright square in the middle. New weights know nothing of it, and the class token looks everywhere; what its
# query finds in each square of the image is a row of the weights, folded back into the image.
torch.manual_seed(0)
model = VisionTransformer(size=32, patch=4, d_model=32, heads=2, layers=1, classes=10).eval()
image = torch.zeros(1, 3, 32, 32)
image[..., 8:24, 8:24] = 1.0
with hw.record(model, rows=[0]) as tape:
    model(image)
((record,),) = tape.values()
looks = record.weights[0, :, 0, 1:].unflatten(-1, (8, 8))
squares(
    {f"head {head}": looks[head] / looks[head].amax() for head in range(2)},
    alt="Where the class token of two new heads looks, over 8 by 8 squares of the image: in each head the bright middle has weights of its own.",
)
