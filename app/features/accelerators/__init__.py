"""Accelerators of a workspace, stated from their data sheets, version by version."""
