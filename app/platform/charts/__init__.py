"""Figures for pages, and the same as stills and drawings."""
