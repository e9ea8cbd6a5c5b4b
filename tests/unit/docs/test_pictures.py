"""Pages that run: what their notes say of their numbers is so, and every picture says in words what it shows."""

import runpy
from pathlib import Path

import pytest
import torch

FOLDER = Path(__file__).parents[3] / "docs/pictures"
PAGES = sorted(FOLDER.glob("*.py"))


@pytest.fixture
def threads():
    """A page may set the number of threads; tests after this one get theirs back."""
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def run(name, capsys):
    space = runpy.run_path(str(FOLDER / f"{name}.py"), run_name="__main__")
    return space, capsys.readouterr().out


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_page_asks_to_be_run_and_names_itself(page):
    head = page.read_text().split("---")[1]
    assert "run: true" in head
    assert "title: " in head
    assert "summary: " in head


def test_masks_are_drawn(capsys):
    space, _ = run("masks", capsys)
    assert space["documents"].table(12, 12).visible.sum() == 3 * 3 + 5 * 5 + 4 * 4


def test_slopes_are_halves_of_each_other(capsys):
    space, said = run("alibi", capsys)
    assert space["alibi"].slopes == tuple(2.0**-k for k in range(1, 9))
    assert "head 7 after 64 tokens: 0.78" in said
    # Head 0 sees a few tokens: after ten there is less than a hundredth left.
    assert space["factors"][0, 10] < 0.01


def test_rotary_scores_know_the_distance_alone(capsys):
    space, said = run("rotary", capsys)
    assert "full turn in      6.3 tokens" in said
    assert "full turn in  19869.2 tokens" in said
    assert float(space["here"]) == pytest.approx(float(space["far"]), abs=1e-3)
    assert space["scores"][0] == max(space["scores"]) == pytest.approx(16, abs=1e-4)
    assert 3 < min(space["scores"][16:]) < max(space["scores"][16:]) < 13


def test_scaling_keeps_spread_and_gradient(capsys):
    space, _ = run("scaling", capsys)
    plain, divided = space["plain"], space["divided"]
    assert plain[-1][0] == pytest.approx(16, rel=0.1)
    assert all(spread == pytest.approx(1, abs=0.1) for spread, _, _ in divided)
    assert plain[-1][2] < plain[0][2] / 5
    assert all(slope == pytest.approx(0.015, abs=0.001) for _, _, slope in divided)


def test_the_model_reverses_and_looks_at_the_mirrored_place(capsys, threads):
    space, said = run("reversing", capsys)
    lines = dict(line.split(":") for line in said.splitlines() if line.startswith(("in:", "out:")))
    assert lines["out"].split() == lines["in"].split()[::-1]
    assert space["losses"][-1][1] < 0.05
    assert space["weights"].flip(-1).diagonal(dim1=-2, dim2=-1).mean() > 0.5
