"""Rackline: what a training run needs, how long it takes and what it costs."""

__version__ = "0.2.0"
