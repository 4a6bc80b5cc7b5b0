"""Alembic's revisions."""
