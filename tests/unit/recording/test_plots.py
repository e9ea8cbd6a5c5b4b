import numpy as np
import pytest

from headwise.recording.maps import Maps
from headwise.recording.tape import RecordingError

matplotlib = pytest.importorskip("matplotlib", reason="needs the extra 'plots'; `make test-slow` installs it")

from headwise.recording.plots import draw_all, draw_one, write_picture  # noqa: E402

TEXTS = ["$a_b$", "␣cat", "猫", "."]
MAPS = Maps({"one": np.tile(np.eye(4), (3, 1, 1)), "two": np.tile(np.eye(4), (2, 1, 1))}, TEXTS, TEXTS)


def test_all_heads_have_a_place_each_in_rows_of_layers():
    figure = draw_all(MAPS)
    visible = [axes for axes in figure.axes if axes.get_visible()]
    assert len(visible) == 5
    assert np.array_equal(visible[0].images[0].get_array(), MAPS.layers["one"][0])


def test_one_head_shows_its_tokens_as_they_are():
    figure = draw_one(MAPS, "two", 1)
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == TEXTS


@pytest.mark.parametrize(("name", "start"), [("a.png", b"\x89PNG"), ("a.svg", b"<?xml")])
@pytest.mark.parametrize("head", [None, ("one", 2)])
def test_pictures_are_files_of_their_kind(name, start, head, tmp_path):
    write_picture(MAPS, tmp_path / name, head=head)
    assert (tmp_path / name).read_bytes().startswith(start)


def test_pictures_without_matplotlib_are_refused_with_the_remedy(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "matplotlib.figure", None)
    with pytest.raises(RecordingError, match="need matplotlib"):
        write_picture(MAPS, tmp_path / "a.png")
