"""Pages of uploads: list, details, rename and delete."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from urllib.parse import urlencode

from fastapi import Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from starlette.datastructures import FormData, UploadFile

from app.errors import AppError, Message, Unprocessable
from app.features.uploads import service as uploads
from app.features.uploads.api import attachment
from app.features.uploads.model import (
    ImportDocument,
    ImportFields,
    ProfileDocument,
    UploadPatch,
    UploadSummary,
    WorkloadDocument,
)
from app.features.uploads.service import Uploads
from app.platform.json_bodies import checked
from app.platform.listing import USUAL_ITEMS
from app.platform.references import no_such
from app.platform.web.contexts import Form
from app.platform.web.deps import WorkspaceDep
from app.platform.web.forms import FormDep, typed
from app.platform.web.rendering import FOR_GOOD, DeletePage, deleted, render
from app.platform.web.requirements import LARGE_BODY, Right, requires
from app.platform.web.resources import resource
from app.platform.web.rights import page_router
from app.platform.workspace import Workspace
from app.profiles.readers.recognition import columns_in


@dataclass(frozen=True, slots=True, kw_only=True)
class UploadsPage:
    """Uploaded models and samples."""

    models: Sequence[UploadSummary]
    samples: Sequence[UploadSummary]
    more_models: str
    """Address of older models; empty at the end."""
    more_samples: str
    """Address of older samples; empty at the end."""
    form: Form
    found: ImportDocument | None = None
    """What a file was recognised as."""
    columns: Sequence[str] = ()
    """Columns of the file, of which those of prices can be chosen."""
    column_fields: Sequence[str] = ()
    again: str = ""
    """The file in base64, to be read again with them; empty where it is too large for that."""


router = page_router()

COLUMN_FIELDS = tuple(name for name in ImportFields.model_fields if name.endswith("_column"))
"""Fields of the columns of a table of prices."""
MOST_AGAIN = 600_000
"""Largest table that a page carries along to be read again with chosen columns. [B]"""


def uploads_page(
    request: Request,
    listed: Uploads,
    form: Form | None = None,
    found: ImportDocument | None = None,
    columns: Sequence[str] = (),
    content: bytes = b"",
) -> UploadsPage:
    query = request.query_params
    cursors = {name: query[name] for name in ("models", "samples") if query.get(name)}

    def older(name: str, cursor: str | None) -> str:
        """Return the address of the next page of one list, at the same page of the other."""
        return f"/uploads?{urlencode({**cursors, name: cursor})}" if cursor else ""

    return UploadsPage(
        models=listed.models.items,
        samples=listed.samples.items,
        more_models=older("models", listed.models.next),
        more_samples=older("samples", listed.samples.next),
        form=form or Form({}),
        found=found,
        columns=columns,
        column_fields=COLUMN_FIELDS,
        again=b64encode(content).decode() if columns and len(content) <= MOST_AGAIN else "",
    )


@resource(router, "/uploads", "uploads/uploads.html", uploads_page)
def show_uploads(workspace: WorkspaceDep, models: str = "", samples: str = "") -> Uploads:
    return Uploads(
        models=uploads.list_profiles(workspace, USUAL_ITEMS, models or None),
        samples=uploads.list_workloads(workspace, USUAL_ITEMS, samples or None),
    )


@router.post("/uploads", response_class=HTMLResponse)
@requires(Right.MAKE, body=LARGE_BODY)
def recognise_file(request: Request, workspace: WorkspaceDep, form: FormDep) -> Response:
    """Show what a file was recognised as, and keep a model or a sample of data."""
    listed, values = show_uploads(workspace), typed(form)
    name, content = file_of(form)
    try:
        if not content:
            raise Unprocessable.at("file", "choose a file")
        asked = {field: values[field][0] for field in ImportFields.model_fields if values.get(field)}
        fields = checked(ImportFields, asked)
        found = uploads.recognise(workspace, name, content, fields)
        if values.get("keep"):
            if found.parameters is not None:
                kept = uploads.upload_profile(workspace, name, content, fields=fields)
                return RedirectResponse(f"/uploads/{kept.id}", 303)
            if found.kind == "data":
                sample = uploads.upload_workload(workspace, name, content, fields.seq_len)
                return RedirectResponse(f"/uploads/{sample.id}", 303)
    except AppError as error:
        wrong = Form(values, error.errors)
        columns = columns_in(name, content) if wrong.wrong(*COLUMN_FIELDS) else []
        page = uploads_page(request, listed, wrong, columns=columns, content=content)
        return render(request, "uploads/uploads.html", page, status=error.status)
    page = uploads_page(request, listed, Form(values), found, found.columns, content)
    return render(request, "uploads/uploads.html", page)


def file_of(form: FormData) -> tuple[str, bytes]:
    """Return name and content of a chosen file, or of the one that the page carried along."""
    file, again = form.get("file"), form.get("again")
    if isinstance(file, UploadFile) and file.filename:
        return file.filename, file.file.read()
    with suppress(ValueError):
        return str(form.get("name") or "file"), b64decode(
            again if isinstance(again, str) else "", validate=True
        )
    return "", b""


@dataclass(frozen=True, slots=True, kw_only=True)
class UploadPage:
    """One upload."""

    upload: ProfileDocument | WorkloadDocument
    is_model: bool
    """Whether it is a model, not a data sample."""
    form: Form


def stored_upload(request: Request, upload: ProfileDocument | WorkloadDocument) -> UploadPage:
    return upload_page(upload, Form({"name": [upload.name], "customer": [upload.customer]}))


def upload_page(upload: ProfileDocument | WorkloadDocument, form: Form) -> UploadPage:
    return UploadPage(upload=upload, is_model=isinstance(upload, ProfileDocument), form=form)


@resource(router, "/uploads/{identifier}", "uploads/upload.html", stored_upload)
def show_upload(workspace: WorkspaceDep, identifier: str) -> ProfileDocument | WorkloadDocument:
    if is_sample(identifier):
        return uploads.get_workload(workspace, identifier)
    if not identifier.startswith("prf_"):
        raise no_such("upload", identifier)
    return uploads.get_profile(workspace, identifier)


@router.post("/uploads/{identifier}", response_class=HTMLResponse)
@requires(Right.MAKE)
def change_upload(request: Request, workspace: WorkspaceDep, identifier: str, form: FormDep) -> Response:
    """Give an upload another name or customer, or say what is wrong beside the field."""
    values = typed(form)
    fields = {name: values.get(name, [""])[0] for name in ("name", "customer")}
    upload = show_upload(workspace, identifier)
    try:
        uploads.change_upload(workspace, identifier, checked(UploadPatch, fields))
    except AppError as error:
        page = upload_page(upload, Form(values, error.errors))
        return render(request, "uploads/upload.html", page, status=error.status)
    return RedirectResponse(f"/uploads/{identifier}", 303)


@router.get("/uploads/{identifier}/file")
def send_file(workspace: WorkspaceDep, identifier: str) -> Response:
    """Send the file that a model was read from."""
    return attachment(*uploads.original_file(workspace, identifier))


@router.get("/uploads/{identifier}/delete", response_class=HTMLResponse)
def ask_about_upload(request: Request, workspace: WorkspaceDep, identifier: str) -> Response:
    """Ask whether an upload is really to be deleted."""
    return render(request, "delete.html", upload_question(workspace, identifier))


@router.post("/uploads/{identifier}/delete", response_class=HTMLResponse)
@requires(Right.MAKE)
def delete_upload(request: Request, workspace: WorkspaceDep, identifier: str) -> Response:
    """Delete an upload and go to the list."""
    delete = uploads.delete_workload if is_sample(identifier) else uploads.delete_profile
    return deleted(
        request,
        lambda: delete(workspace, identifier),
        lambda error: upload_question(workspace, identifier, error),
        "/uploads",
    )


def is_sample(identifier: str) -> bool:
    return identifier.startswith("wkl_")


def upload_question(workspace: Workspace, identifier: str, error: AppError | None = None) -> DeletePage:
    upload = show_upload(workspace, identifier)
    if isinstance(upload, WorkloadDocument):
        goes = Message("The lengths counted from it are deleted; its text was never stored.")
    else:
        goes = Message("The file and the data read from it are deleted.")
    stays = Message("Estimates, comparisons and proposals based on it are kept, but cannot be recomputed.")
    return DeletePage(
        title=Message("Delete the upload?"),
        name=upload.name,
        consequences=[goes, stays, FOR_GOOD],
        action=f"/uploads/{identifier}/delete",
        back="/uploads",
        refused=error,
    )
