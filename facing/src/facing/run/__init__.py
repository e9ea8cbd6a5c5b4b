"""Pages that run: the code of a page is executed at build, and what it shows stands beside the lines that showed it."""
