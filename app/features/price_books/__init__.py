"""Prices of a customer in place of the catalogue's, version by version."""
