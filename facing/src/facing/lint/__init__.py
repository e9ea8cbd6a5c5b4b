"""Lint: what is wrong with a catalogue, and what of it can be repaired."""
