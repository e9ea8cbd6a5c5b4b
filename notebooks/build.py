"""
---
title: Building the notebooks
summary: Each notebook is a Python file with cells; this makes the files that Jupyter and Colab open.
---

`python notebooks/build.py` writes an `.ipynb` beside each source. Cells are numbered instead of named at random, and there are no results in
them, so that the same source gives the same file.

The first cell installs headwise from the repository that `facing.toml` names: no package index has headwise, and under its name somebody
else's code may lie there one day. Where no repository is set, the cell says how to install it, and stops.
"""

import re
import tomllib
from pathlib import Path

import jupytext
import nbformat

FOLDER = Path(__file__).parent
SOURCES = sorted(path for path in FOLDER.glob("*.py") if path.name != "build.py")
KERNEL = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
UNSET = 'REPOSITORY = ""'


def repository() -> str:
    """The one address setting: `repository` of facing.toml, as owner/name, or nothing."""
    setting: str = tomllib.loads((FOLDER.parent / "facing.toml").read_text(encoding="utf-8")).get("repository", "")
    # It becomes code and an address.
    if setting and not re.fullmatch(r"[\w.-]+/[\w.-]+", setting, re.ASCII):
        raise ValueError(f"`repository` in facing.toml must be owner/name. It is {setting!r}.")
    return setting


def notebook(source: Path, repository: str) -> str:
    """The notebook of a source, as text, which installs from that repository."""
    made = jupytext.read(source)
    made.metadata = nbformat.NotebookNode(KERNEL)
    # The front matter is for the page of the notebook alone.
    made.cells = [cell for cell in made.cells if cell.cell_type != "raw"]
    installs = [cell for cell in made.cells if "install" in cell.metadata.get("tags", [])]
    if [cell.source.count(UNSET) for cell in installs] != [1]:
        raise ValueError(
            f"A notebook must have one cell tagged `install` with the line {UNSET}. {source.name} has another."
        )
    installs[0].source = installs[0].source.replace(UNSET, f'REPOSITORY = "{repository}"')
    for number, cell in enumerate(made.cells):
        cell.id = f"cell-{number}"
        cell.metadata = nbformat.NotebookNode({"tags": cell.metadata["tags"]} if "tags" in cell.metadata else {})
    return nbformat.writes(nbformat.v4.new_notebook(cells=made.cells, metadata=made.metadata)) + "\n"


if __name__ == "__main__":
    for path in SOURCES:
        path.with_suffix(".ipynb").write_text(notebook(path, repository()), encoding="utf-8")
