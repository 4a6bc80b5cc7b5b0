"""Backups: one archive of all rows and uploaded files, for either database, and the way back."""
