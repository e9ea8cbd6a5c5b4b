"""Notes: Markdown to HTML with placeholders, links and their checks."""
