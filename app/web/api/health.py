"""Whether the server serves."""

from __future__ import annotations

from fastapi import APIRouter
from pydantic import BaseModel, Field

router = APIRouter(tags=["operation"])


class Health(BaseModel):
    """The server answers."""

    status: str = Field(description="Always “ok”; anything else is no answer.", examples=["ok"])


@router.get("/healthz", summary="Whether the server serves")
def health() -> Health:
    """Answer 200 when the server serves."""
    return Health(status="ok")
