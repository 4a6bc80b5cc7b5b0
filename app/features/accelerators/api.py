"""Accelerators of a workspace: data sheets stated by its members, sized like any system of the catalogue."""

from __future__ import annotations

from typing import Annotated

from fastapi import Body, Path, Response

from app.features.accelerators import service as accelerators
from app.features.accelerators.model import (
    Accelerator,
    AcceleratorPatch,
    AcceleratorRequest,
    AcceleratorSummary,
)
from app.platform.listing import USUAL_ITEMS, Page
from app.platform.web.api import (
    ASK,
    CHANGE,
    CHANGED,
    LIST,
    READ,
    MatchHeader,
    api_router,
    read_tag,
    write_tag,
)
from app.platform.web.deps import (
    ID,
    CursorQuery,
    KeyHeader,
    LimitQuery,
    VersionQuery,
    WorkspaceDep,
)
from app.platform.web.examples import ACCELERATOR, ACCELERATOR_CHANGE
from app.platform.web.requirements import Right, requires

router = api_router("accelerators", "/accelerators")

AcceleratorId = Annotated[str, Path(alias="id", description=ID, examples=["own-a2b3c4d5e6f7g2h3"])]


@router.post("", status_code=201, summary="Add an accelerator", responses=ASK)
@requires(Right.MAKE)
def create_accelerator(
    workspace: WorkspaceDep,
    body: Annotated[AcceleratorRequest, Body(examples=[ACCELERATOR])],
    response: Response,
    key: KeyHeader = None,
) -> Accelerator:
    """Store what a data sheet states; the identifier is then a system of this workspace.

    Estimates with it carry the warning ``from_data_sheet`` and the wider range of a chip that was never
    measured. Peaks are dense; one that looks like a peak with structured sparsity is refused until
    ``sparsity`` says which it is.
    """
    accelerator = accelerators.create_accelerator(workspace, body, key)
    response.headers["Location"] = f"/api/v1/accelerators/{accelerator.id}"
    return accelerator


@router.get("", summary="List accelerators", responses=LIST)
def list_accelerators(
    workspace: WorkspaceDep, limit: LimitQuery = USUAL_ITEMS, cursor: CursorQuery = None
) -> Page[AcceleratorSummary]:
    """List identifiers, names and newest versions, newest first."""
    return accelerators.list_accelerators(workspace, limit, cursor)


@router.get("/{id}", summary="Retrieve an accelerator", responses=READ)
def get_accelerator(
    workspace: WorkspaceDep, identifier: AcceleratorId, response: Response, version: VersionQuery = None
) -> Accelerator:
    """Return what was stated, the figures that estimates use, the versions and what was made with it.

    One that was deleted is returned with ``deleted_at`` while something made with it is kept.
    """
    accelerator = accelerators.get_accelerator(workspace, identifier, version)
    response.headers["ETag"] = write_tag(accelerator.newest)
    return accelerator


@router.patch("/{id}", summary="Update an accelerator", responses={**ASK, **CHANGED})
@requires(Right.MAKE)
def change_accelerator(
    workspace: WorkspaceDep,
    identifier: AcceleratorId,
    body: Annotated[AcceleratorPatch, Body(examples=[ACCELERATOR_CHANGE])],
    response: Response,
    tag: MatchHeader = None,
) -> Accelerator:
    """Change some figures, as a new version; stored estimates keep the figures they were made with."""
    accelerator = accelerators.change_accelerator(workspace, identifier, body, read_tag(tag))
    response.headers["ETag"] = write_tag(accelerator.newest)
    return accelerator


@router.delete("/{id}", status_code=204, summary="Delete an accelerator", responses=CHANGE)
@requires(Right.MAKE)
def delete_accelerator(workspace: WorkspaceDep, identifier: AcceleratorId) -> None:
    """Delete an accelerator; what was made with it can still be opened and computed again.

    It is offered nowhere any more. Its last figures stay while something is kept that names it.
    """
    accelerators.delete_accelerator(workspace, identifier)
