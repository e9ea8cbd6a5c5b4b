"""A class in place of a part is called with one size, and one that cannot be called so is refused in words."""

from functools import partial

import pytest

import headwise as hw
from headwise.errors import ArgumentError
from headwise.score.base import Score


class Alone(Score):
    """A part without a size."""


class Two(Score):
    def __init__(self, heads, width):
        self.heads, self.width = heads, width


class Sized(Score):
    def __init__(self, n):
        self.n = n

    def change(self, scores, grid):
        return scores


def model(**parts):
    return hw.AutoregressiveTransformer(9, 8, 2, 2, **parts)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        (
            {"score": Alone},
            r"as score is called with the number of heads alone, Alone\(2\); Alone does not take that: too many",
        ),
        (
            {"score": Two},
            r"Two\(2\); Two does not take that: missing a required argument: 'width'.*PerLayer\(lambda layer: Two",
        ),
        ({"score": (hw.Alibi, Two)}, r"Two\(2\)"),
        ({"score": hw.Softcap}, r"Softcap\(2\); Softcap takes a `cap` there"),
        ({"score": partial(Alone, 3)}, r"Alone\(2\)"),
        ({"position": Alone}, r"as position is called with the features of a head alone, Alone\(4\)"),
        ({"position": hw.Learned}, r"the width of the model alone, Learned\(8\).*'max_len'"),
    ],
)
def test_a_class_that_cannot_be_called_with_the_size_is_refused(parts, message):
    with pytest.raises(ArgumentError, match=message):
        model(**parts)


def test_a_layer_refuses_the_class_of_a_position_as_a_model_does():
    with pytest.raises(ArgumentError, match=r"Alone\(4\)"):
        hw.MultiHeadAttention(8, 2, position=Alone)


def test_a_class_gets_the_size_whatever_it_calls_it():
    layers = model(score=Sized, position=partial(hw.Rotary, base=100.0)).encoder.layers
    parts = [layer.attention.score.parts[0] for layer in layers]
    assert [part.n for part in parts] == [2, 2]
    assert parts[0] is not parts[1]
    assert layers[0].attention.position.dim == 4


def test_an_error_inside_of_a_class_is_its_own():
    class Broken(Score):
        def __init__(self, heads):
            raise TypeError("of its own")

    with pytest.raises(TypeError, match="of its own"):
        model(score=Broken)
