"""Keys of the API: who else may ask, and for what."""

from __future__ import annotations

from typing import Annotated

from fastapi import Body, Path, Response

from app.services import keys
from app.sizing.integration.documents import ApiKey, NewApiKey
from app.sizing.integration.request import KeyRequest, RotationRequest
from app.sizing.kept.documents import Page
from app.web.api.examples import KEY, ROTATION
from app.web.api.responses import ASK, LIST, READ
from app.web.api.routers import api_router
from app.web.deps import ID, USUAL, BenchDep, CursorQuery, KeyHeader, LimitQuery, WorkspaceDep

router = api_router("keys", "/keys")

KeyId = Annotated[str, Path(alias="id", description=ID, examples=["key_a2b3c4d5e6f7g2h3"])]
USUAL_ROTATION = RotationRequest()


@router.post("", status_code=201, summary="Make a key", responses=ASK)
def create_key(
    bench: BenchDep,
    workspace: WorkspaceDep,
    body: Annotated[KeyRequest, Body(examples=[KEY])],
    key: KeyHeader = None,
) -> NewApiKey:
    """Make a key to be sent as ``Authorization: Bearer``; its secret is told once and not kept."""
    return keys.create_key(bench, workspace, body, key)


@router.get("", summary="Keys made so far", responses=LIST)
def list_keys(
    bench: BenchDep, workspace: WorkspaceDep, limit: LimitQuery = USUAL, cursor: CursorQuery = None
) -> Page[ApiKey]:
    """List names, beginnings, scopes, ends and last uses, newest first; never a secret."""
    return keys.list_keys(bench, workspace, limit, cursor)


@router.get("/{id}", summary="Read a key", responses=READ)
def get_key(bench: BenchDep, workspace: WorkspaceDep, identifier: KeyId) -> ApiKey:
    """Read what a key may do and when it was last used."""
    return keys.get_key(bench, workspace, identifier)


@router.delete("/{id}", status_code=204, summary="Revoke a key", responses=READ, response_class=Response)
def revoke_key(bench: BenchDep, workspace: WorkspaceDep, identifier: KeyId) -> None:
    """Make a key stop working at once; it stays in the list as revoked."""
    keys.revoke_key(bench, workspace, identifier)


@router.post("/{id}/rotate", status_code=201, summary="Replace a key", responses=ASK)
def rotate_key(
    bench: BenchDep,
    workspace: WorkspaceDep,
    identifier: KeyId,
    body: Annotated[RotationRequest, Body(examples=[ROTATION])] = USUAL_ROTATION,
    key: KeyHeader = None,
) -> NewApiKey:
    """Make a key with the same scopes in the place of this one, which works on until the grace is over."""
    return keys.rotate_key(bench, workspace, identifier, body, key)
