"""Answers about who did what."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pydantic import Field

from app.estimating.schema import Document


class TrailActor(Document):
    """Actor of an audit event."""

    kind: str = Field(examples=["person"])
    """Kind of actor: person, key, link, local (a server without accounts), operator or system."""
    id: str = Field(examples=["acc_a2b3c4d5e6f7g2h3"])
    """Identifier of the account or key; empty if there is none."""
    name: str = Field(description="Name of the actor; empty if unknown.", examples=["Account owner"])


class TrailObject(Document):
    """Object of an action."""

    kind: str = Field(description="Kind of object.", examples=["proposal"])
    id: str = Field(description="Identifier of the object.", examples=["prp_a2b3c4d5e6f7g2h3"])


class TrailEvent(Document):
    """An action in the workspace. Audit events never change."""

    id: str = Field(description="Identifier of the event.", examples=["aud_a2b3c4d5e6f7g2h3"])
    at: datetime = Field(description="Time of the action.", examples=["2026-11-02T09:30:00Z"])
    action: str = Field(description="Action: kind of object and verb.", examples=["proposal.frozen"])
    actor: TrailActor = Field(description="Actor.")
    object: TrailObject = Field(description="Object of the action.")
    address: str = Field(examples=["192.0.2.7"])
    """Network address of the request; empty for the server itself."""
    request_id: str = Field(examples=["9f2c4b7a01d3e856"])
    """Identifier of the request; the same for every event that it caused."""
    detail: dict[str, Any] = Field(examples=[{"name": "BERT-Large for Seoul", "version": 2}])
    """Details, such as the name and the fields that changed; never a secret."""
