"""Fits the few shared constants to measured runs, and says what leaving some out does."""
