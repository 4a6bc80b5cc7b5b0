"""Sweeps: one estimate for every model on every system at every price in every scenario."""
