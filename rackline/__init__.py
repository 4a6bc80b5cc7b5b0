"""The door of the installed package, behind which everything lies as it does in the repository.

A wheel holds ``app`` with its templates, data and static files inside this folder and not beside it:
many packages are called ``app``, and whichever is installed last would overwrite the others.
"""

import sys
from pathlib import Path

HOME = Path(__file__).parent
"""Folder that holds ``app`` once installed; a Dask worker needs it on its PYTHONPATH."""


def main() -> None:
    """Run the ``rackline`` command."""
    sys.path.insert(0, str(HOME))
    from app.__main__ import main as command

    command()
