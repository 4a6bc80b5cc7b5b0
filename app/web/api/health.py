"""Whether the server serves."""

from __future__ import annotations

from fastapi import APIRouter, Request
from pydantic import BaseModel, Field

from app.errors import Unavailable
from app.web.api.responses import problems
from app.web.deps import BenchDep
from app.web.routers import name_of

router = APIRouter(tags=["operation"], generate_unique_id_function=name_of)


class Health(BaseModel):
    """The server answers."""

    status: str = Field(description="Always “ok”; anything else is no answer.", examples=["ok"])


@router.get("/healthz", summary="Whether the server serves")
def health() -> Health:
    """Answer 200 when the server serves."""
    return Health(status="ok")


@router.get("/readyz", summary="Whether the server can answer now", responses=problems(503))
def ready(request: Request, bench: BenchDep) -> Health:
    """Answer 200 when the database answers and its tables are up to date, else 503; 503 too when it ends.

    The catalogue has been read and checked before the server answers at all.
    """
    if request.app.state.stopping.is_set():
        raise Unavailable("the server ends; ask another one, or this one once it is back")
    if not bench.store.is_ready():
        raise Unavailable("the tables of the database are those of another version of Rackline")
    return Health(status="ok")
