"""The example of induction heads shows the effect that it is about."""

import runpy
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[3] / "examples" / "induction_heads.py"


@pytest.mark.slow
def test_the_loss_in_context_falls_when_induction_heads_form():
    history = runpy.run_path(str(SCRIPT))["train"](600)
    (_, loss_before, previous_before, induction_before), *_, (_, loss_after, previous_after, induction_after) = history
    assert induction_before < 0.15 < 0.7 < induction_after
    assert previous_before < 0.15 < 0.4 < previous_after
    assert loss_before > 3.5 > 0.3 > loss_after
    # Both happen at one time: where the score passes half of its way, most of the loss falls within a sixth of the steps.
    middle = next(index for index, (*_, score) in enumerate(history) if score > 0.5)
    around = history[max(0, middle - 4)][1] - history[min(len(history) - 1, middle + 4)][1]
    assert around > 0.5 * (loss_before - loss_after)


def test_the_curves_of_a_training_are_drawn(tmp_path):
    pytest.importorskip("matplotlib", reason="needs the extra 'plots'; `make test-slow` installs it")
    from headwise.recording.plots import write_curves

    write_curves(tmp_path / "curves.svg", [0, 1], {"loss": [2.0, 1.0]}, {"a": [0.0, 0.5], "b": [0.1, 0.2]})
    assert (tmp_path / "curves.svg").read_text().startswith("<?xml")
