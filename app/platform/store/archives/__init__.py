"""Backups of the whole store in one file, and their return."""
