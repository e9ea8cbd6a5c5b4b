"""The notebooks are those of their sources, install nothing over torch, and run from the wheel."""

import importlib.util
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
FOLDER = ROOT / "notebooks"
NAMES = ["attention_from_the_inside", "train_a_transformer"]
# Runs a notebook in a process of its own: the notebook, then a cell that says where headwise came from.
RUNNER = """
import sys, nbformat
from nbclient import NotebookClient
notebook = nbformat.read(sys.argv[1], as_version=4)
for cell in notebook.cells:
    if "parameters" in cell.metadata.get("tags", []):
        cell.source = 'CORPUS = "manual"\\nSTEPS = 120'
notebook.cells.append(nbformat.v4.new_code_cell("import headwise; print(headwise.__file__)"))
NotebookClient(notebook, timeout=170, kernel_name="python3").execute()
nbformat.write(notebook, sys.argv[2])
"""


def cells(name):
    return json.loads((FOLDER / f"{name}.ipynb").read_text())["cells"]


def test_every_source_has_a_notebook():
    sources = {path.stem for path in FOLDER.glob("*.py")} - {"build"}
    assert sources == {path.stem for path in FOLDER.glob("*.ipynb")} == set(NAMES)


@pytest.fixture
def build():
    """The module that makes the notebooks."""
    pytest.importorskip("jupytext", reason="the extra `notebooks` is not installed")
    spec = importlib.util.spec_from_file_location("build_notebooks", FOLDER / "build.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", NAMES)
def test_notebook_is_what_its_source_makes(name, build):
    made = build.notebook(FOLDER / f"{name}.py", build.repository())
    assert made == (FOLDER / f"{name}.ipynb").read_text(), "run `make notebooks`"


@pytest.mark.parametrize("name", NAMES)
def test_notebook_has_no_results_and_installs_first(name):
    code = [cell for cell in cells(name) if cell["cell_type"] == "code"]
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)
    assert code[0]["metadata"]["tags"] == ["install"]


def first_cell(text):
    """The code of the cell that installs."""
    (code,) = [cell["source"] for cell in json.loads(text)["cells"] if "install" in cell["metadata"].get("tags", [])]
    return "".join(code)


@pytest.fixture
def commands(monkeypatch):
    """What a cell hands to pip, without the Python before it; headwise is missing."""
    ran = []
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(subprocess, "run", lambda command, check: ran.append(command[4:]))
    return ran


@pytest.mark.parametrize("name", NAMES)
def test_first_cell_installs_from_the_repository_of_the_setting_and_leaves_torch_alone(name, build, commands):
    """What depends on torch is installed without its dependencies, and what is installed with them does not depend on torch."""
    exec(first_cell(build.notebook(FOLDER / f"{name}.py", "owner/name")), {})
    assert commands == [
        ["--quiet", "jaxtyping", "tyro", "rich", "safetensors", "tokenizers"],
        ["--quiet", "--no-deps", "git+https://github.com/owner/name"],
    ]


@pytest.mark.parametrize("name", NAMES)
def test_first_cell_without_a_repository_says_how_to_install_and_stops(name, build, commands):
    with pytest.raises(ModuleNotFoundError, match=r"no package index has it. Run `pip install \.` in a clone"):
        exec(first_cell(build.notebook(FOLDER / f"{name}.py", "")), {})
    assert commands == []


@pytest.mark.parametrize("name", NAMES)
def test_first_cell_does_nothing_where_headwise_is_installed(name, commands, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: object())
    exec(first_cell((FOLDER / f"{name}.ipynb").read_text()), {})
    assert commands == []


def test_an_address_that_is_no_repository_is_refused(build, tmp_path, monkeypatch):
    monkeypatch.setattr(build, "FOLDER", tmp_path / "notebooks")
    (tmp_path / "facing.toml").write_text("repository = 'owner/name\"; x'")
    with pytest.raises(ValueError, match="must be owner/name"):
        build.repository()


def test_a_source_whose_first_cell_names_no_place_for_the_address_is_refused(build, tmp_path):
    (tmp_path / "a.py").write_text('# %% tags=["install"]\nimport headwise\n')
    with pytest.raises(ValueError, match="must have one cell tagged `install`"):
        build.notebook(tmp_path / "a.py", "owner/name")


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """A folder with headwise, installed there from a wheel."""
    folder = tmp_path_factory.mktemp("installed")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
    subprocess.run([*pip, "--target", str(folder), str(ROOT)], check=True)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_notebook_runs_from_the_wheel_in_less_than_three_minutes(name, installed, tmp_path):
    pytest.importorskip("nbclient", reason="the extra `notebooks` is not installed")
    environment = {**os.environ, "PYTHONPATH": str(installed), "OMP_NUM_THREADS": "1", "IPYTHONDIR": str(tmp_path)}
    start = time.monotonic()
    ran = subprocess.run(
        [sys.executable, "-c", RUNNER, str(FOLDER / f"{name}.ipynb"), str(tmp_path / "ran.ipynb")],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 0, ran.stderr[-3000:]
    assert time.monotonic() - start < 180
    found = json.loads((tmp_path / "ran.ipynb").read_text())["cells"]
    assert str(installed) in "".join(found[-1]["outputs"][0]["text"])
    outputs = [output for cell in found if cell["cell_type"] == "code" for output in cell["outputs"]]
    assert sum("image/svg+xml" in output.get("data", {}) for output in outputs) >= 2
