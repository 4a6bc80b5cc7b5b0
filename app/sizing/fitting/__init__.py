"""Fit the software profiles to measured runs, and say how well they predict runs left out."""
