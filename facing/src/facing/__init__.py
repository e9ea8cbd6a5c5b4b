"""facing: annotated source as facing pages, notes left and code right, in every reader's language."""
