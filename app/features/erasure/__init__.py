"""Erasing the name of a customer."""
