"""Operators: what a model computes, per sample, before any machine is chosen."""
