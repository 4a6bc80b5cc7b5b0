"""Serving a model: how fast, how many at once, and at what cost."""
