"""What several test folders share: the probe, an oracle of its own, example parts, comparisons."""
