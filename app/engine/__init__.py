"""The formulas: pure functions over numpy arrays in SI units.

Nothing in this package reads a file, a clock, a setting or a random source of its own, and nothing
knows a system, a customer or a measured run by name.
"""
