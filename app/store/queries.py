"""What the queries of a workspace share."""

from __future__ import annotations

from sqlmodel import Session


class Queries:
    """The queries of one transaction in one workspace."""

    def __init__(self, session: Session, workspace_id: str) -> None:
        self._session = session
        self._workspace_id = workspace_id
