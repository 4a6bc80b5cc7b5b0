"""Sizing by deadline and budget: which system, how many of it, and what would change the answer."""
