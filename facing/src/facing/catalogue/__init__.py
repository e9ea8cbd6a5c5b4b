"""Catalogues: translations of notes, kept as flat JSON beside the sources."""
