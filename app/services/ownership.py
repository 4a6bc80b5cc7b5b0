"""What a workspace holds: so that a refusal tells nothing of what is another's."""

from __future__ import annotations

from app.services.workbench import Workbench


def holds(bench: Workbench, workspace_id: str, identifier: str) -> bool:
    """Tell whether an identifier may be spoken of: an object of this workspace, or of no kind kept here."""
    with bench.store.transaction(workspace_id) as repository:
        return repository.holds(identifier) is not False
