"""Reading sources: the lines of a Python file, its rows, and Markdown files."""

from facing.source.modern import Modern as Modern
