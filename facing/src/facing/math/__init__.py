"""Formulas: TeX to MathML, and the font that draws it."""

from facing.math.mathml import math_html as math_html
from facing.math.mathml import to_mathml as to_mathml
from facing.math.together import hold_together as hold_together
