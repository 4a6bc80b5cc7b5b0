"""Validation: predict measured runs from their configuration, then compare."""
