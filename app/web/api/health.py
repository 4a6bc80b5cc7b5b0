"""Whether the server serves."""

from __future__ import annotations

from fastapi import APIRouter
from pydantic import BaseModel, Field

from app.errors import Unavailable
from app.web.api.responses import problems
from app.web.deps import BenchDep

router = APIRouter(tags=["operation"])


class Health(BaseModel):
    """The server answers."""

    status: str = Field(description="Always “ok”; anything else is no answer.", examples=["ok"])


@router.get("/healthz", summary="Whether the server serves")
def health() -> Health:
    """Answer 200 when the server serves."""
    return Health(status="ok")


@router.get("/readyz", summary="Whether the server can answer now", responses=problems(503))
def ready(bench: BenchDep) -> Health:
    """Answer 200 when the database answers and its tables are up to date, else 503."""
    if not bench.store.is_ready():
        raise Unavailable("the tables of the database are those of another version of Rackline")
    return Health(status="ok")
