"""---
title: A page that runs
run: true
---
What it prints and draws stands beside its lines.
"""


# A picture is anything that can give itself as SVG.
class Dots:
    """Three dots."""

    def _repr_svg_(self) -> str:
        dots = "".join(f'<circle class="fill-{n}" fill="#1c55b5" cx="{30 * n}" cy="20" r="10"/>' for n in (1, 2, 3))
        return f'<svg xmlns="http://www.w3.org/2000/svg" width="120" height="40"><title>Three dots</title>{dots}</svg>'


# One line of text, much wider than a phone.
print("x" * 200)

# And a picture.
Dots()
