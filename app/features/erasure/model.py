"""What is asked and answered of the erasure of a customer's name."""

from __future__ import annotations

from datetime import datetime

from pydantic import Field

from app.estimating.request import Schema
from app.estimating.schema import Document


class ErasureRequest(Schema):
    """A customer's name to erase."""

    customer: str = Field(
        min_length=2, max_length=300, description="Name of the customer.", examples=["Customer A"]
    )
    replacement: str = Field(
        "[erased]",
        min_length=1,
        max_length=60,
        description="Text that takes its place.",
        examples=["Customer 17"],
    )
    dry_run: bool = Field(False, description="Whether only to count where the name stands.")


class Erasure(Document):
    """What was erased: the certificate. The name itself is not kept."""

    id: str | None = Field(
        description="Identifier of the certificate; null for a dry run.", examples=["ers_a2b3c4d5e6f7g2h3"]
    )
    workspace: str = Field(description="Name of the workspace.", examples=["Local"])
    erased_by: str | None = Field(
        description="Name of the actor, or its kind if it has none; null for a dry run.",
        examples=["Account owner"],
    )
    erased_at: datetime | None = Field(description="Time of the erasure; null for a dry run.")
    replacement: str = Field(description="Text in the place of the name.")
    rows: dict[str, int] = Field(description="Number of entries with the name, by kind.")
    proposals: list[str] = Field(
        description="Frozen proposals that were changed: each has a new hash and PDF, and an event of it."
    )
