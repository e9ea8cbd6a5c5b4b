import base64
import csv
import json
import re
import zlib

import numpy as np
import pytest
import torch

from headwise.recording.files import write_csv, write_json, write_npz
from headwise.recording.maps import Maps
from headwise.recording.tape import RecordingError
from headwise.recording.viewer import page


@pytest.fixture
def maps():
    torch.manual_seed(0)
    weights = torch.randn(2, 3, 4, 4).masked_fill(~torch.ones(4, 4).tril().bool(), -torch.inf).softmax(-1).numpy()
    texts = ["</script>", "a,b", '"{{note}}"', "␣<b>"]
    return Maps({"layers.0": weights[0], "layers.1": weights[1]}, texts, texts)


def unpacked(text):
    """The weights of a page, read as its script reads them."""
    about = json.loads(re.search(r'id="about">(.*?)</script>', text, re.S)[1])
    packed = re.search(r'id="weights">(.*?)</script>', text, re.S)[1]
    data = np.frombuffer(zlib.decompress(base64.b64decode(packed)), dtype=np.uint8)
    return about, (data / about["levels"]) ** 2


def test_npz_gives_the_arrays_back(maps, tmp_path):
    write_npz(maps, tmp_path / "maps.npz")
    with np.load(tmp_path / "maps.npz") as found:
        assert np.array_equal(found["layers.1"], maps.layers["layers.1"])
        assert found["queries"].tolist() == maps.queries


def test_csv_has_a_line_for_each_weight_above_zero(maps, tmp_path):
    write_csv(maps, tmp_path / "maps.csv")
    with (tmp_path / "maps.csv").open(newline="") as file:
        lines = list(csv.DictReader(file))
    assert len(lines) == 2 * 3 * 10
    for line in lines:
        weight = maps.layers[line["layer"]][int(line["head"]), int(line["query"]), int(line["key"])]
        assert float(line["weight"]) == pytest.approx(float(weight), rel=1e-5)
        assert line["key_text"] == maps.keys[int(line["key"])]


def test_json_gives_the_weights_to_six_places(maps, tmp_path):
    write_json(maps, tmp_path / "maps.json")
    document = json.loads((tmp_path / "maps.json").read_text())
    assert np.allclose(document["layers"]["layers.0"], maps.layers["layers.0"], atol=1e-6)
    assert document["keys"] == maps.keys


def test_a_file_that_cannot_be_written_is_named(maps, tmp_path):
    with pytest.raises(RecordingError, match=r"nowhere.*npz"):
        write_npz(maps, tmp_path / "nowhere" / "maps.npz")


def test_the_page_holds_the_weights_and_no_markup_from_tokens(maps):
    text = page(maps, title="<i>heads</i>")
    about, weights = unpacked(text)
    assert about["queries"] == maps.queries
    assert about["triangular"]
    below = np.tril_indices(4)
    expected = np.concatenate([each[:, *below].ravel() for each in maps.layers.values()])
    assert np.abs(weights - expected).max() < 1 / 255
    assert "<i>heads</i>" not in text
    assert "&lt;i&gt;heads&lt;/i&gt;" in text
    assert text.count("</script>") == 3


def test_the_page_asks_for_nothing_from_outside(maps):
    text = page(maps)
    assert not re.search(r"""(?:src|href)\s*=|url\(|@import|https?://""", text)


def test_the_page_of_maps_that_see_ahead_stores_them_whole(maps):
    turned = Maps({"a": maps.layers["layers.0"].transpose(0, 2, 1)}, maps.queries, maps.keys)
    about, weights = unpacked(page(turned))
    assert not about["triangular"]
    assert np.abs(weights - turned.layers["a"].ravel()).max() < 1 / 255


def test_a_page_that_would_be_too_large_has_coarser_steps_and_says_so(maps, monkeypatch):
    monkeypatch.setattr("headwise.recording.viewer.MOST_LETTERS", 60)
    text = page(maps)
    about, weights = unpacked(text)
    assert about["levels"] == 15
    assert "shown in 15 steps" in text
    assert weights.max() == 1


@pytest.mark.slow
def test_a_page_of_twelve_layers_and_heads_and_256_tokens_is_under_five_megabytes():
    """The worst case: weights without any order, which do not compress."""
    generator = np.random.default_rng(0)
    weights = generator.random((12, 256, 256), dtype=np.float32)
    maps = Maps({str(layer): weights / weights.sum(-1, keepdims=True) for layer in range(12)}, ["x"] * 256, ["x"] * 256)
    text = page(maps)
    assert len(text.encode()) < 5_000_000


def test_weights_that_are_no_numbers_are_told(maps):
    broken = maps.layers["layers.0"].copy()
    broken[0, 3] = np.nan
    assert "not a number" in page(Maps({"a": broken}, maps.queries, maps.keys))
    assert "not a number" not in page(maps)
