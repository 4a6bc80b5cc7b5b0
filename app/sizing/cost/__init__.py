"""Prices, rates and terms of a system, and what follows for its hours, months and runs."""
