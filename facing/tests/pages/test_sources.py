"""A site out of several folders, and addresses that are filled for each page."""

from __future__ import annotations

from pathlib import Path

import pytest

from facing.config import Config, load
from facing.model import FacingError
from facing.pages.build import Built, build
from facing.pages.site import read_site
from facing.source import Modern

from .test_build import text

FILES = {
    "src/lib/layer.py": "# See [the guide](guide.md) and [an example](examples/one.py).\nx = 1\n",
    "src/lib/__init__.py": '"""The package."""\n',
    "docs/index.md": "# Front\n\n[The layer](layer.py), ![a dot](dot.svg)\n",
    "docs/guide.md": "# Guide\n\n[gone](gone.py)\n",
    "docs/dot.svg": "<svg xmlns='http://www.w3.org/2000/svg'/>",
    "examples/one.py": "# [Back](../layer.py)\ny = 1\n",
}
CONFIG = Config(
    root="src/lib",
    folders={".": "docs", "examples": "examples"},
    exclude=("__init__.py",),
    order=("layer.py",),
    source_url="https://example.org/{repository}/{file}",
    colab_url="https://example.org/colab/{notebook}",
    notebooks={"layer.py": "layer.ipynb"},
    repository="owner/name",
)


def make(folder: Path, **changes: object) -> Built:
    from dataclasses import replace

    for name, content in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content, encoding="utf-8")
    config = replace(CONFIG, base=folder, **changes)  # type: ignore[arg-type]
    return build(read_site(folder / "src/lib", config, Modern()))


def test_pages_of_all_folders_stand_in_one_site_and_link_to_each_other(tmp_path: Path) -> None:
    built = make(tmp_path)
    pages = {path for path in built.files if path.endswith(".html")}
    assert pages == {"index.html", "guide.html", "layer.html", "examples/one.html"}
    assert '<a href="layer.html">The layer</a>' in text(built, "index.html")
    assert '<a href="../layer.html">Back</a>' in text(built, "examples/one.html")
    assert built.files["dot.svg"].startswith(b"<svg")
    assert [(each.file, each.code) for each in built.findings] == [("guide.md", "link-broken")]


def test_addresses_know_the_file_the_repository_and_the_notebook(tmp_path: Path) -> None:
    built = make(tmp_path)
    assert "https://example.org/owner/name/src/lib/layer.py" in text(built, "layer.html")
    assert "https://example.org/owner/name/docs/guide.md" in text(built, "guide.html")
    assert "https://example.org/colab/layer.ipynb" in text(built, "layer.html")
    assert "colab" not in text(built, "guide.html")


def test_without_a_repository_no_address_is_made_up(tmp_path: Path) -> None:
    assert "https://example.org/" not in text(make(tmp_path, repository=""), "guide.html")


def test_one_source_alone_keeps_its_path_and_needs_no_order(tmp_path: Path) -> None:
    from dataclasses import replace

    make(tmp_path)
    built = build(read_site(tmp_path / "examples/one.py", replace(CONFIG, base=tmp_path), Modern()))
    assert "examples/one.html" in built.files


def test_a_folder_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FacingError, match="Each of `folders` must be a folder"):
        make(tmp_path, folders={"more": "gone"})


def test_settings_are_read_with_their_types(tmp_path: Path) -> None:
    (tmp_path / "facing.toml").write_text('run = true\nrun_seconds = 5\n[folders]\n"." = "docs"\n')
    config = load(tmp_path)
    assert (config.run, config.run_seconds, config.folders) == (True, 5, {".": "docs"})
    (tmp_path / "facing.toml").write_text("run_seconds = true\n")
    with pytest.raises(FacingError, match="`run_seconds` must be a whole number"):
        load(tmp_path)
