"""Decisions: estimates, comparisons, checks and validation, over the engine and the catalogue."""
