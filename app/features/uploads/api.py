"""Uploads: model profiles and data samples."""

from __future__ import annotations

from typing import Annotated, Any
from urllib.parse import quote

from fastapi import Body, Depends, Path, Request, Response

from app.features.uploads import service as uploads
from app.features.uploads.model import (
    ImportDocument,
    ImportFields,
    ProfileDocument,
    ProfileFields,
    ProfileRequest,
    SampleFields,
    UploadPatch,
    UploadSummary,
    WorkloadDocument,
)
from app.platform.json_bodies import checked
from app.platform.listing import Page
from app.platform.web.api import (
    ASK,
    CHANGE,
    LIST,
    READ,
    Upload,
    api_router,
    file_answer,
    form_body,
    read_upload,
    read_upload_or_json,
)
from app.platform.web.deps import ID, CustomerQuery, GoneDep, KeyHeader, ListDep, WorkspaceDep
from app.platform.web.examples import CONFIG, TRANSFORMER
from app.platform.web.requirements import LARGE_BODY, Right, requires

router = api_router("uploads")

PROFILE_BODY = {
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {
                "schema": {"$ref": "#/components/schemas/ProfileRequest"},
                "examples": {"config": {"value": CONFIG}, "transformer": {"value": TRANSFORMER}},
            },
            **form_body(ProfileFields),
        },
    }
}

ProfileId = Annotated[str, Path(alias="id", description=ID, examples=["prf_a2b3c4d5e6f7g2h3"])]

WorkloadId = Annotated[str, Path(alias="id", description=ID, examples=["wkl_a2b3c4d5e6f7g2h3"])]

UPLOAD_PATCH = {"name": "Qwen2-7B of Customer A", "customer": "Customer A"}

WORKLOAD_BODY = {"requestBody": {"required": True, "content": form_body(SampleFields)}}


IMPORT_BODY = {"requestBody": {"required": True, "content": form_body(ImportFields)}}


async def import_upload(request: Request) -> Upload[ImportFields]:
    return await read_upload(request, ImportFields)


async def workload_upload(request: Request) -> Upload[SampleFields]:
    return await read_upload(request, SampleFields)


def attachment(name: str, content: bytes) -> Response:
    """Return a customer's file as a download, never shown inline."""
    headers = {"Content-Disposition": f"attachment; filename*=UTF-8''{quote(name, safe='')}"}
    return Response(content, media_type="application/octet-stream", headers=headers)


async def profile_upload(request: Request) -> Upload[ProfileFields] | Any:
    return await read_upload_or_json(request, ProfileFields)


@router.post(
    "/profiles", status_code=201, summary="Upload a model", responses=ASK, openapi_extra=PROFILE_BODY
)
@requires(Right.MAKE, body=LARGE_BODY)
def create_profile(
    workspace: WorkspaceDep, upload: Annotated[Any, Depends(profile_upload)], key: KeyHeader = None
) -> ProfileDocument:
    """Read a model from an ONNX graph, a Hugging Face config.json or a layer table, and store it."""
    if isinstance(upload, Upload):
        return uploads.upload_profile(workspace, upload.name, upload.content, key, upload.fields)
    return uploads.describe_profile(workspace, checked(ProfileRequest, upload), key)


@router.post("/imports", summary="Recognise a file", responses=ASK, openapi_extra=IMPORT_BODY)
@requires(Right.MAKE, body=LARGE_BODY)
def recognise_file(
    workspace: WorkspaceDep, upload: Annotated[Upload[ImportFields], Depends(import_upload)]
) -> ImportDocument:
    """Say what a file is and what it says of a model, data, a plan or prices; the file is not stored.

    What was read can be used as the parts of an estimate request. Columns of a table of prices that are not
    recognised can be chosen; they are kept, and the next table of the same heading is read by them.
    """
    return uploads.recognise(workspace, upload.name, upload.content, upload.fields)


@router.get("/profiles", summary="List uploaded models", responses=LIST)
def list_profiles(
    workspace: WorkspaceDep, listed: ListDep, customer: CustomerQuery = ""
) -> Page[UploadSummary]:
    """List identifiers and names, newest first."""
    wanted = listed.of(customer=customer)
    return uploads.list_profiles(workspace, listed.limit, listed.cursor, wanted=wanted)


@router.get("/profiles/{id}", summary="Retrieve an uploaded model", responses=READ)
def get_profile(workspace: WorkspaceDep, identifier: ProfileId) -> ProfileDocument:
    """Return the resolved model with its operators."""
    return uploads.get_profile(workspace, identifier)


@router.get(
    "/profiles/{id}/file",
    summary="Download an uploaded model file",
    responses=file_answer("application/octet-stream", "File as uploaded."),
    response_class=Response,
)
def get_profile_file(workspace: WorkspaceDep, identifier: ProfileId) -> Response:
    """Return the file as uploaded; models described in JSON have none."""
    name, content = uploads.original_file(workspace, identifier)
    return attachment(name, content)


@router.patch("/profiles/{id}", summary="Update an uploaded model", responses={**ASK, **CHANGE})
@requires(Right.MAKE)
def change_profile(
    workspace: WorkspaceDep,
    identifier: ProfileId,
    body: Annotated[UploadPatch, Body(examples=[UPLOAD_PATCH])],
) -> ProfileDocument:
    """Change name and customer; what was read of the file stays."""
    return uploads.change_profile(workspace, identifier, body)


@router.delete("/profiles/{id}", status_code=204, summary="Delete an uploaded model", responses=CHANGE)
@requires(Right.MAKE)
def delete_profile(workspace: WorkspaceDep, identifier: ProfileId) -> None:
    """Delete a model and its file; results computed from it are kept.

    Refused while a study or an open sweep refers to it.
    """
    uploads.delete_profile(workspace, identifier)


@router.post(
    "/workloads", status_code=201, summary="Upload a data sample", responses=ASK, openapi_extra=WORKLOAD_BODY
)
@requires(Right.MAKE)
def create_workload(
    workspace: WorkspaceDep,
    upload: Annotated[Upload[SampleFields], Depends(workload_upload)],
    gone: GoneDep,
    key: KeyHeader = None,
) -> WorkloadDocument:
    """Count the lengths in JSON lines, CSV, text or Parquet; the text is discarded after counting."""
    length = upload.fields.seq_len
    return uploads.upload_workload(workspace, upload.name, upload.content, length, key, gone)


@router.get("/workloads", summary="List uploaded samples", responses=LIST)
def list_workloads(
    workspace: WorkspaceDep, listed: ListDep, customer: CustomerQuery = ""
) -> Page[UploadSummary]:
    """List identifiers and names, newest first."""
    wanted = listed.of(customer=customer)
    return uploads.list_workloads(workspace, listed.limit, listed.cursor, wanted=wanted)


@router.get("/workloads/{id}", summary="Retrieve an uploaded sample", responses=READ)
def get_workload(workspace: WorkspaceDep, identifier: WorkloadId) -> WorkloadDocument:
    """Return the counts of a data sample."""
    return uploads.get_workload(workspace, identifier)


@router.patch("/workloads/{id}", summary="Update an uploaded sample", responses={**ASK, **CHANGE})
@requires(Right.MAKE)
def change_workload(
    workspace: WorkspaceDep,
    identifier: WorkloadId,
    body: Annotated[UploadPatch, Body(examples=[UPLOAD_PATCH])],
) -> WorkloadDocument:
    """Change name and customer; what was read of the file stays."""
    return uploads.change_workload(workspace, identifier, body)


@router.delete("/workloads/{id}", status_code=204, summary="Delete an uploaded sample", responses=CHANGE)
@requires(Right.MAKE)
def delete_workload(workspace: WorkspaceDep, identifier: WorkloadId) -> None:
    """Delete the counts of a sample; results computed from it are kept.

    Refused while a study or an open sweep refers to it.
    """
    uploads.delete_workload(workspace, identifier)
