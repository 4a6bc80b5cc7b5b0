"""Measured runs: how their rows are completed, predicted and compared."""
