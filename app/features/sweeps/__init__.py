"""Sweeps: estimates of many combinations, computed in the background."""
