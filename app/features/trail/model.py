"""Answers about who did what."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pydantic import Field

from app.estimating.schema import Document


class TrailActor(Document):
    """Who did something."""

    kind: str = Field(
        description="person, key, link, local (a server without accounts), operator or system.",
        examples=["person"],
    )
    id: str = Field(
        description="Account or key; empty where there is none.", examples=["acc_a2b3c4d5e6f7g2h3"]
    )
    name: str = Field(
        description="What they are called; empty where nobody is known.", examples=["Minji Kim"]
    )


class TrailObject(Document):
    """What something was done to."""

    kind: str = Field(description="Kind of object.", examples=["proposal"])
    id: str = Field(description="Its identifier.", examples=["prp_a2b3c4d5e6f7g2h3"])


class TrailEvent(Document):
    """Something that somebody did in the workspace; it never changes."""

    id: str = Field(description="Identifier of the event.", examples=["aud_a2b3c4d5e6f7g2h3"])
    at: datetime = Field(description="When it was done.", examples=["2026-11-02T09:30:00Z"])
    action: str = Field(description="What was done: kind of object and verb.", examples=["proposal.frozen"])
    actor: TrailActor = Field(description="Who did it.")
    object: TrailObject = Field(description="What it was done to.")
    address: str = Field(
        description="Network address it was asked from; empty for the server itself.", examples=["192.0.2.7"]
    )
    request_id: str = Field(
        description="Of the request it was asked with; the same for all it did.",
        examples=["9f2c4b7a01d3e856"],
    )
    detail: dict[str, Any] = Field(
        description="More about it, such as the name and the fields that changed; never a secret.",
        examples=[{"name": "BERT-Large for Seoul", "version": 2}],
    )
