"""
---
title: Building the notebooks
summary: Each notebook is a Python file with cells; this makes the files that Jupyter and Colab open.
---

`python notebooks/build.py` writes an `.ipynb` beside each source. Cells are numbered instead of named at random, and there are no results in
them, so that the same source gives the same file.
"""

from pathlib import Path

import jupytext
import nbformat

FOLDER = Path(__file__).parent
SOURCES = sorted(path for path in FOLDER.glob("*.py") if path.name != "build.py")
KERNEL = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}


def notebook(source: Path) -> str:
    """The notebook of a source, as text."""
    made = jupytext.read(source)
    made.metadata = nbformat.NotebookNode(KERNEL)
    # The front matter is for the page of the notebook alone.
    made.cells = [cell for cell in made.cells if cell.cell_type != "raw"]
    for number, cell in enumerate(made.cells):
        cell.id = f"cell-{number}"
        cell.metadata = nbformat.NotebookNode({"tags": cell.metadata["tags"]} if "tags" in cell.metadata else {})
    return nbformat.writes(nbformat.v4.new_notebook(cells=made.cells, metadata=made.metadata)) + "\n"


if __name__ == "__main__":
    for path in SOURCES:
        path.with_suffix(".ipynb").write_text(notebook(path), encoding="utf-8")
